"""Where a list of messages may be cut without breaking a request.

The Messages API refuses a `tool_result` whose `tool_use` is not in the message before it,
and a `tool_use` without results in the message after it.
"""

from collections.abc import Sequence
from typing import Protocol

from perdure.memory.blocks import Block
from perdure.memory.message import Role


class HasContent(Protocol):
    """A message, of the memory or about to be imported."""

    @property
    def content(self) -> list[Block]:
        """Blocks in Anthropic form."""

    @property
    def role(self) -> Role:
        """Who speaks."""


def calls(content: Sequence[Block]) -> list[str]:
    """Ids of the tool calls that the client has to answer."""
    return [str(b["id"]) for b in content if b.get("type") == "tool_use"]


def results(content: Sequence[Block]) -> list[str]:
    """Ids of the tool calls that this content answers."""
    return [str(b["tool_use_id"]) for b in content if b.get("type") == "tool_result"]


def _paused(content: Sequence[Block], before: Sequence[str]) -> list[str]:
    """Ids of calls of the server's own tools that no block of `content` answers."""
    waiting = dict.fromkeys(before)
    for block in content:
        kind = str(block.get("type"))
        if kind.endswith("_tool_use"):
            waiting[str(block.get("id"))] = None
        elif kind.endswith("_tool_result"):
            waiting.pop(str(block.get("tool_use_id")), None)
    return list(waiting)


def cuts(messages: Sequence[HasContent]) -> list[int]:
    """Every index i, ascending, such that `messages[:i]` and `messages[i:]` both stand alone.

    0 always belongs to them; `len(messages)` does unless a call is still open. No cut lies
    behind a call that has no result yet, so an open call is never compacted. A call that the
    server itself carries out may have its result in the assistant's next message.
    """
    allowed = [0]
    open_calls: list[str] = []
    paused: list[str] = []
    for i, message in enumerate(messages):
        answered = results(message.content)
        open_calls = [c for c in open_calls if c not in answered]
        open_calls += calls(message.content)
        paused = _paused(message.content, paused) if message.role == "assistant" else []
        if not open_calls and not paused:
            allowed.append(i + 1)
    return allowed


def with_unique_ids(content: Sequence[Block], used: Sequence[str]) -> list[Block]:
    """`content` with a call renamed whose id is missing, in `used`, or an earlier call's here."""
    taken = dict.fromkeys(used)
    renamed = []
    for block in content:
        if block.get("type") == "tool_use":
            given = str(block.get("id") or "call")
            name, number = given, 1
            while name in taken:
                number += 1
                name = f"{given}-{number}"
            taken[name] = None
            block = {**block, "id": name}
        renamed.append(block)
    return renamed


def pairing_fault(messages: Sequence[HasContent]) -> str | None:
    """What is wrong with the tool calls of messages that follow each other, in a sentence.

    None when each call of the assistant has its one result at the start of the very next
    message, which is the user's, and each result its call.
    """
    waiting: list[str] = []
    for number, message in enumerate(messages, start=1):
        fault = _fault(message, waiting)
        if fault is not None:
            return f"message {number}: {fault}"
        waiting = calls(message.content)
    return f"the last message: the tool call {waiting[0]!r} has no result" if waiting else None


def _fault(message: HasContent, waiting: Sequence[str]) -> str | None:
    made, answered = calls(message.content), results(message.content)
    for call in answered:
        if call not in waiting:
            return f"the tool result {call!r} has no tool call in the message before it"
    for call in waiting:
        if call not in answered:
            return f"the tool call {call!r} has no result here"
        if answered.count(call) > 1:
            return f"the tool call {call!r} has more than one result"
    if made and message.role != "assistant":
        return "a tool call is the assistant's to make"
    if len(dict.fromkeys(made)) < len(made):
        return "two tool calls have one id"
    kinds = [b.get("type") == "tool_result" for b in message.content]
    if kinds != sorted(kinds, reverse=True):
        return "tool results come first in their message"
    return None
