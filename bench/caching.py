"""Prompt caching: how much of each request stood already in the request before it.

python -m bench.caching [--json]

The demo conversation goes through the anthropic provider to the local Messages server, once with
the budgets of `perdure demo` and once with three times as much room. `unchanged` is the share of
all input tokens that stand in the longest common prefix with the request before, block by block;
`appended` is the share of the last reply and the new message, which nobody can have cached;
`rewritten` is the rest, the price of compactions. `billed` is the share that a provider would
have read from its cache, given the marks that were really sent. Ends with status 1 when
`unchanged` is below the target.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

from bench.stage import scripted
from perdure import Conversation, ConversationConfig, MemoryPolicy
from perdure.cli.demo.play import POLICY
from perdure.memory.wire import canonical_json
from perdure.model.tokens import count
from tests.support.messages_api import Body, MessagesApi, is_summary

TARGET = 0.90
# A provider looks for an earlier prefix at the mark itself and at so many blocks before it.
LOOK_BACK = 20
# Shorter prefixes are not cached; this is the limit of most models.
SHORTEST = 1_024
ROOMY = POLICY.model_copy(
    update={
        "message_budget": 3 * POLICY.message_budget,
        "observation_budget": 3 * POLICY.observation_budget,
        "level_budget": 3 * POLICY.level_budget,
        "observe_chunk": 3 * POLICY.observe_chunk,
    }
)


@dataclass(frozen=True)
class Piece:
    """A block of a request, or the start of one of its messages; `marked`: may be cached up to."""

    text: str
    tokens: int
    marked: bool


def pieces(request: Body) -> list[Piece]:
    """The request in the order in which a provider reads it."""
    found = [_piece(block) for block in request.get("system", [])]
    for message in request["messages"]:
        role, *rest = message["content"]
        found.append(_piece(role, message["role"]))
        found += map(_piece, rest)
    return found


def _piece(block: dict[str, Any], role: str = "") -> Piece:
    bare = {k: v for k, v in block.items() if k != "cache_control"}
    text = f"{role}:{canonical_json(bare)}"
    return Piece(text, count(text), "cache_control" in block)


def common(before: Sequence[Piece], now: Sequence[Piece]) -> int:
    """How many pieces at the start of both are the same."""
    for number, (one, other) in enumerate(zip(before, now, strict=False)):
        if one.text != other.text:
            return number
    return min(len(before), len(now))


def cached(earlier: Sequence[Sequence[Piece]], now: Sequence[Piece]) -> int:
    """How many pieces at the start are read from the cache.

    What earlier requests have written ends at their marks; what this one may read ends at one of
    its own marks or up to LOOK_BACK pieces before.
    """
    readable = {
        mark - back
        for mark in (n + 1 for n, piece in enumerate(now) if piece.marked)
        for back in range(LOOK_BACK + 1)
    }
    written = {
        number + 1
        for request in earlier
        for number in range(common(request, now))
        if request[number].marked
    }
    long = {n for n in readable & written if tokens(now[:n]) >= SHORTEST}
    return max(long, default=0)


def tokens(some: Sequence[Piece]) -> int:
    """Tokens of pieces."""
    return sum(piece.tokens for piece in some)


def figures(requests: Sequence[Body]) -> dict[str, Any]:
    """Shares over all requests for replies but the first, which has none before it."""
    read = [pieces(request) for request in requests]
    total = unchanged = billed = appended = broken = 0
    for number, now in enumerate(read[1:], start=1):
        before = read[number - 1]
        same = common(before, now)
        total += tokens(now)
        unchanged += tokens(now[:same])
        billed += tokens(now[: cached(read[:number], now)])
        # The blocks of the last reply and of the message, at the end of every request.
        appended += tokens(now[max(same, len(now) - 2) :])
        broken += same < len(before)
    return {
        "requests": len(requests),
        "input_tokens": total,
        "unchanged": round(unchanged / total, 4),
        "appended": round(appended / total, 4),
        "rewritten": round((total - unchanged - appended) / total, 4),
        "billed": round(billed / total, 4),
        "broken_prefixes": broken,
    }


async def converse(client: Client, api: MessagesApi, policy: MemoryPolicy) -> dict[str, Any]:
    """Hold the demo conversation within some budgets; gives its figures."""
    demo = json.loads(files("perdure.demo").joinpath("conversation.json").read_text("utf-8"))
    config = ConversationConfig(system=demo["system"], policy=policy)
    name = f"caching-{policy.message_budget}"
    begun = len(api.requests)
    conversation = await Conversation.open(client, name, config)
    for message in demo["messages"]:
        await conversation.ask(message)
    status = await conversation.status()
    return {
        "message_budget": policy.message_budget,
        **figures([r for r in api.requests[begun:] if not is_summary(r)]),
        "compactions": status["totals"]["compactions"],
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    async with scripted() as (client, api):
        rows = [await converse(client, api, policy) for policy in (POLICY, ROOMY)]
    shown = Table("", *(f"budget {row['message_budget']:,}" for row in rows))
    for name in rows[0]:
        shown.add_row(name, *(f"{row[name]:,}" for row in rows))
    Console().print(shown)
    if options.json:
        print(json.dumps({"rows": rows}))
    if any(row["unchanged"] < TARGET for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
