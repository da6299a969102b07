"""The tools of the conversations on the wire."""

import asyncio
import os

from perdure.tools import Image, ToolContext, tool

PIXELS = b"QUJDQUJD" * 12_000
# What has been done, by idempotency key.
effects: list[str] = []
# How many calls of `wait` have begun.
waiting = asyncio.Semaphore(0)


@tool
async def look(number: int, size: int = 200) -> str:
    """Look at something; the smaller the number, the later it answers."""
    await asyncio.sleep(0.05 * max(0, 5 - number % 10))
    return f"seen {number}: {'crust ' * (size // 6)}"


@tool(attempts=1)
def breaks() -> None:
    """Always fails."""
    raise OSError("the oven is cold")


@tool
async def wait() -> None:
    """Never ends by itself."""
    waiting.release()
    await asyncio.Event().wait()


@tool(approval="ask")
def pay(euros: int) -> str:
    """Pay a bill."""
    return f"{euros} euros are paid"


@tool
def order(flour: int, context: ToolContext) -> str:
    """Does its work the first time, and is not heard."""
    effects.append(context.idempotency_key)
    if context.attempt == 1:
        raise ConnectionError("the line broke")
    return f"{flour} kilos are on their way"


@tool
def report() -> str:
    """Two million characters."""
    half = "flour " * 166_000
    return f"MARK-START {half} MARK-MIDDLE {half} MARK-END"


@tool
def photograph() -> Image:
    """A picture of 1,000 x 1,050 pixels and 100 KB."""
    size = (1_000).to_bytes(4) + (1_050).to_bytes(4)
    return Image(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + os.urandom(6) + PIXELS)
