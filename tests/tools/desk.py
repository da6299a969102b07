"""A module of tools as users write them, some of them badly."""

import asyncio
import os
from typing import Annotated

from pydantic import Field

from perdure.tools import Image, ServerTool, ToolContext, ToolError, tool

# What has happened, by idempotency key.
effects: list[str] = []
_met = asyncio.Event()
search = ServerTool({"type": "web_search_20250305", "name": "web_search", "max_uses": 3})


@tool(approval="ask")
def refund(number: str, euros: Annotated[int, Field(ge=1)], context: ToolContext) -> str:
    """Pay money back for an order."""
    effects.append(context.idempotency_key)
    return f"{euros} euros are on their way"


@tool(timeout=20)
async def meet(first: bool) -> str:
    """Two calls that must run at the same time; the first ends last."""
    if first:
        await _met.wait()
        return "first"
    _met.set()
    return "second"


@tool
def flaky(context: ToolContext) -> int:
    """Fails once."""
    effects.append(context.idempotency_key)
    if context.attempt == 1:
        raise RuntimeError("the line is busy")
    return context.attempt


@tool(timeout=1, attempts=1)
async def hangs() -> None:
    """Never ends."""
    await asyncio.Event().wait()


@tool(attempts=1)
def breaks() -> None:
    """Always fails."""
    raise OSError("the disk is full")


@tool
def refuses() -> None:
    """Tells the model why not."""
    raise ToolError("the shop is closed")


@tool
def report() -> str:
    """Two million characters."""
    half = "flour " * 166_666
    return f"MARK-START {half} MARK-MIDDLE {half} MARK-END"


@tool
def photograph() -> Image:
    """A picture of 1,000 x 750 pixels and 130 KB."""
    size = (1_000).to_bytes(4) + (750).to_bytes(4)
    return Image(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + os.urandom(130_000))


@tool
def dirty() -> str:
    """NUL and half a character."""
    return "a\0b\ud83d"


@tool
def strange() -> object:
    """Not JSON."""
    return object()


@tool
def measure(text: str | None) -> int:
    """The length of a text."""
    return -1 if text is None else len(text)
