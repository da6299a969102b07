"""A reply on the terminal while it is said."""

from contextlib import ExitStack
from typing import TextIO

from perdure.archive import Piece
from perdure.cli.output import DIM, console, readable, styled
from perdure.conversation import Conversation
from perdure.reply import Reply


async def speak(
    conversation: Conversation,
    text: str,
    out: TextIO,
    message_id: str | None = None,
    after_step: int = 0,
) -> tuple[Reply, int]:
    """Ask, and write the reply to `out` as it comes; gives the whole of it, and its last step.

    Asked again with the `message_id` of a Reply that awaited an approval, it goes on behind the
    step that was written then.
    """
    written, step = "", after_step
    with ExitStack() as waiting:
        waiting.enter_context(console().status(styled("...", DIM)))
        async for event in conversation.stream(text, id=message_id):
            if isinstance(event, Reply):
                waiting.close()
                out.write(f"{_rest(event.text, written)}\n" if event.text or written else "")
                return event, step
            if event.step > after_step:
                waiting.close()
                written, step = _said(event, written, out), event.step
    raise AssertionError("a stream ends with its reply")


def _said(piece: Piece, written: str, out: TextIO) -> str:
    """Write a piece; gives what stands there of its step, which may have begun again."""
    if piece.start == 0 and written:
        out.write("\n")
    out.write(readable(piece.text))
    out.flush()
    return written + piece.text if piece.start else piece.text


def _rest(text: str, written: str) -> str:
    """What is still to be written of a reply; it has no text while a call awaits approval."""
    if not text:
        return ""
    if text.startswith(written):
        return readable(text[len(written) :])
    return f"\n{readable(text)}" if written else readable(text)
