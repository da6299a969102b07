"""The tools that every worker has."""

from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from perdure.tools.context import ToolContext, ToolError
from perdure.tools.tool import tool


@tool
def now(zone: Annotated[str, Field(description="IANA name, like Europe/Vienna")] = "UTC") -> str:
    """The date and time."""
    try:
        return f"{datetime.now(ZoneInfo(zone)):%A, %Y-%m-%d %H:%M:%S %z} ({zone})"
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(f"there is no time zone {zone!r}; use a name like Europe/Vienna") from None


@tool
async def remember(text: str, context: ToolContext) -> str:
    """Keep a short text word for word in the context from now on."""
    await context.conversation.pin(text)
    return "kept"


@tool
async def expand(
    what: Annotated[str, Field(description="a summary, like L2.0-92, or messages, like 12-20")],
    context: ToolContext,
) -> str:
    """Read the original messages behind a summary."""
    return await context.conversation.expand(what)


@tool
async def recall(question: str, context: ToolContext) -> str:
    """Find what was said earlier, word for word, by a question."""
    return await context.conversation.recall(question)


BUILTIN = (expand, now, recall, remember)
