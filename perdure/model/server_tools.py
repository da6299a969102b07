"""Calls that the provider carries out itself: each needs its result, and each result its call.

The Messages API puts both into the assistant's own messages. A reply that pauses ends with a call
that is still open, which may stay so only until the user says something: a turn that is stopped or
fails there would otherwise have every later request refused.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from perdure.memory.blocks import Block


def paired(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages without calls that were given up and results whose call is not there.

    A call at the end, or behind which only results of the client's tools stand, is still open.
    """
    made: dict[str, tuple[int, int]] = {}
    dropped: dict[tuple[int, int], None] = {}
    for number, message in enumerate(messages):
        blocks = message["content"]
        if message["role"] == "user":
            if any(block.get("type") != "tool_result" for block in blocks):
                dropped |= dict.fromkeys(made.values())
                made = {}
            continue
        for place, block in enumerate(blocks):
            kind = str(block.get("type"))
            if kind.endswith("_tool_use"):
                made[str(block.get("id"))] = (number, place)
            elif kind.endswith("_tool_result") and str(block.get("tool_use_id")) not in made:
                dropped[number, place] = None
            elif kind.endswith("_tool_result"):
                del made[str(block.get("tool_use_id"))]
    return [
        {**message, "content": _without(message["content"], number, dropped)}
        for number, message in enumerate(messages)
    ]


def _without(
    blocks: Sequence[Block], number: int, dropped: Mapping[tuple[int, int], None]
) -> list[Block]:
    return [block for place, block in enumerate(blocks) if (number, place) not in dropped]
