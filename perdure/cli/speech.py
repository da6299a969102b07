"""A reply on the terminal while it is said."""

from contextlib import ExitStack
from typing import TextIO

from perdure.archive import Piece
from perdure.cli.output import DIM, console, readable, styled
from perdure.conversation import Conversation, Reply


async def speak(conversation: Conversation, text: str, out: TextIO) -> Reply:
    """Ask, and write the reply to `out` as it comes; gives the whole of it."""
    written = ""
    with ExitStack() as waiting:
        waiting.enter_context(console().status(styled("...", DIM)))
        async for event in conversation.stream(text):
            waiting.close()
            if isinstance(event, Reply):
                out.write(f"{_rest(event.text, written)}\n")
                return event
            written = _said(event, written, out)
    raise AssertionError("a stream ends with its reply")


def _said(piece: Piece, written: str, out: TextIO) -> str:
    """Write a piece; gives what stands there of its step, which may have begun again."""
    if piece.start == 0 and written:
        out.write("\n")
    out.write(readable(piece.text))
    out.flush()
    return written + piece.text if piece.start else piece.text


def _rest(text: str, written: str) -> str:
    """What is still to be written of a reply."""
    if text.startswith(written):
        return readable(text[len(written) :])
    return f"\n{readable(text)}" if written else readable(text)
