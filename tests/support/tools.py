"""Tools for scripted conversations: what they do, and how they are to be called."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from temporalio import activity

from perdure.contract import Approval, ToolCall
from perdure.memory.blocks import Block

Does = Callable[[dict[str, Any]], Awaitable[str]]


async def _answer(given: dict[str, Any]) -> str:
    return f"found {given}"


@dataclass(frozen=True)
class FakeTool:
    """A tool that heartbeats while it runs."""

    does: Does = _answer
    approval: Approval = "always"
    timeout_s: int = 30
    attempts: int = 1

    async def run(self, given: dict[str, Any]) -> str:
        """What it gives for an input."""
        doing = asyncio.ensure_future(self.does(given))
        try:
            while not doing.done():
                activity.heartbeat()
                await asyncio.wait({doing}, timeout=0.5)
            return await doing
        finally:
            doing.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await doing


def declared(block: Block, tool: FakeTool | None) -> ToolCall:
    """How a worker with this tool wants the call in `block` to be carried out."""
    if tool is None:
        return ToolCall(id=block["id"], error=f"there is no tool {block['name']!r}")
    return ToolCall(
        id=block["id"], approval=tool.approval, timeout_s=tool.timeout_s, attempts=tool.attempts
    )


def call(id_: str, name: str = "look", **given: Any) -> Block:
    """A call as it stands in a reply."""
    return {"type": "tool_use", "id": id_, "name": name, "input": given}
