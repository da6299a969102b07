"""A reply on the terminal while it is said."""

from contextlib import ExitStack
from typing import TextIO

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
    written, step = False, after_step
    with ExitStack() as waiting:
        waiting.enter_context(console().status(styled("...", DIM)))
        async for event in conversation.stream(text, id=message_id):
            if isinstance(event, Reply):
                waiting.close()
                # Something that is not said, a picture for example, is told of at least.
                end = "" if written else readable(event.text)
                out.write(f"{end}\n" if end or written else "")
                return event, step
            if event.step > after_step:
                waiting.close()
                out.write("\n" if written and event.start == 0 else "")
                out.write(readable(event.text))
                out.flush()
                written, step = True, event.step
    raise AssertionError("a stream ends with its reply")
