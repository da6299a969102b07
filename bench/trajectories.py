"""Recorded agents play again: the real workflow with tools, at budgets that compact in their loops.

python -m bench.trajectories [--first N] [--json]

The model says what the assistant of each of the 58 trajectories said, calls included, the tools
answer what they answered, and the user says what the user said. Each request is checked, and each
call: the identifiers in its arguments, as far as they had come up before, must be in the request
that it answers. A summary is the first words of its sources. Ends with status 1 when a request
breaks a rule of the API, a replay differs, or too many identifiers are not there.
"""

import argparse
import asyncio
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

import worker
from bench.data import trajectories
from bench.identifiers import IDS, holds, values_of
from bench.stage import scripted
from perdure import Conversation, ConversationConfig, MemoryPolicy
from perdure.model.tokens import count_blocks
from tests.support.answers import Answer, blocks, text
from tests.support.messages_api import Body, default_rule, is_summary
from tests.support.requests import violations

AT_ONCE = 4
# The budget of the messages is this part of a trajectory: a half.
SHARE = 2
# The share of identifiers that must be in the request that needs them.
THERE = 0.99
SUMMARISER = "summariser"
_LEAST_BUDGET = 300
# One word with a digit or a slash in it: what no one can guess.
_IDENTIFIER = re.compile(r"(?=\S*[\d/])\S{3,100}")


@dataclass
class Played:
    """One trajectory and what became of it."""

    line: Mapping[str, Any]
    requests: int = 0
    violations: list[str] = field(default_factory=list)
    needed: int = 0
    missing: list[str] = field(default_factory=list)
    gold: int = 0
    gold_missing: int = 0
    compactions: int = 0
    in_loops: int = 0
    identical: bool = False
    _before: str = ""
    _said: int = 0

    def __post_init__(self) -> None:
        truth = self.line.get("truth") or {}
        told = values_of(truth) if "actions" in truth else ()
        self._gold = {value for key, value in told if key in IDS}

    @property
    def id(self) -> str:
        """The trajectory's, which its conversation and its model are named after."""
        return str(self.line["id"])

    @property
    def replies(self) -> list[tuple[int, list[dict[str, Any]]]]:
        """Place and content of what the assistant says."""
        return [
            (place, message["content"])
            for place, message in enumerate(self.line["messages"])
            if message["role"] == "assistant"
        ]

    @property
    def questions(self) -> Iterator[list[dict[str, Any]]]:
        """What the user says, as far as the recorded assistant has an answer to it."""
        last = self.replies[-1][0]
        for message in self.line["messages"][:last]:
            if message["role"] == "user" and message["content"][0]["type"] != "tool_result":
                yield message["content"]

    def answer(self, request: Body) -> Answer:
        """What was said at this place; looks at the request first."""
        self.requests += 1
        self.violations += violations(request, window=200_000)
        memory = _memory(request)
        self.in_loops += _in_loop(request) and memory != self._before
        self._before = memory
        if self._said == len(self.replies):
            return text("That is all.")
        place, content = self.replies[self._said]
        self._said += 1
        shown = json.dumps([request["system"], request["messages"]], ensure_ascii=False)
        earlier = json.dumps(self.line["messages"][:place], ensure_ascii=False)
        for value in _arguments(content):
            if holds(earlier, value):
                there = holds(shown, value)
                self.needed += 1
                self.missing += [] if there else [value]
                self.gold += value in self._gold
                self.gold_missing += value in self._gold and not there
        return blocks(*content)


def _arguments(content: Iterable[Mapping[str, Any]]) -> list[str]:
    """The identifiers in the arguments of all calls."""

    def leaves(value: Any) -> Iterator[str]:
        if isinstance(value, Mapping):
            for inner in value.values():
                yield from leaves(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from leaves(inner)
        elif isinstance(value, str):
            yield value

    found = [
        value
        for block in content
        if block["type"] == "tool_use"
        for value in leaves(block["input"])
        if _IDENTIFIER.fullmatch(value)
    ]
    return list(dict.fromkeys(found))


def _in_loop(request: Body) -> bool:
    return bool(request["messages"][-1]["content"][0]["type"] == "tool_result")


def _memory(request: Body) -> str:
    """What stands in front of the verbatim messages."""
    first = request["messages"][0]["content"][0]
    return str(first.get("text")) if "earlier part" in str(first.get("text")) else ""


def _policy(line: Mapping[str, Any]) -> MemoryPolicy:
    weight = sum(count_blocks(message["content"]) for message in line["messages"])
    share = max(_LEAST_BUDGET, weight // SHARE)
    return MemoryPolicy(
        message_budget=share, observation_budget=share, level_budget=share, observe_chunk=share
    )


async def play(client: Client, played: Played) -> None:
    """One trajectory from its first message to its replay."""
    config = ConversationConfig(
        system=played.line["system"],
        model=played.id,
        summary_model=SUMMARISER,
        policy=_policy(played.line),
        tools=["*"],
    )
    conversation = await Conversation.open(client, played.id, config)
    for content in played.questions:
        await conversation.ask(content)
    played.compactions = (await conversation.status())["totals"]["compactions"]
    played.identical = (await worker.replay(client, played.id)).identical


async def play_all(lines: Sequence[Mapping[str, Any]], console: Console) -> list[Played]:
    """All of them, a few at once."""
    all_played = {line["id"]: Played(line) for line in lines}

    def rule(request: Body) -> Answer:
        if is_summary(request):
            return default_rule(request)
        return all_played[request["model"]].answer(request)

    room = asyncio.Semaphore(AT_ONCE)
    async with scripted(rule, tools="bench.recorded_tools") as (client, _):

        async def one(played: Played) -> None:
            async with room:
                await play(client, played)
                console.print(f"{played.id}: done", highlight=False)

        await asyncio.gather(*map(one, all_played.values()))
    return list(all_played.values())


def figures(name: str, some: list[Played]) -> dict[str, Any]:
    """A row."""
    needed, gold = sum(each.needed for each in some), sum(each.gold for each in some)
    missing = sum(len(each.missing) for each in some)
    gold_missing = sum(each.gold_missing for each in some)
    return {
        "trajectories": name,
        "number": len(some),
        "requests": sum(each.requests for each in some),
        "violations": sum(len(each.violations) for each in some),
        "needed": needed,
        "there": round(1 - missing / max(1, needed), 3),
        "gold": gold,
        "gold_there": round(1 - gold_missing / max(1, gold), 3),
        "compactions": sum(each.compactions for each in some),
        "in_loops": sum(each.in_loops for each in some),
        "identical": sum(each.identical for each in some),
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--first", type=int, metavar="N", help="only the first N")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    console, began = Console(), time.monotonic()
    played = await play_all(trajectories()[: options.first], console)
    airline = [each for each in played if "airline" in each.id]
    rows = [figures("all", played), figures("airline", airline)]
    shown = Table(*rows[0])
    for row in rows:
        shown.add_row(*map(str, row.values()))
    console.print(shown)
    for each in played:
        for said in (*each.violations, *(f"{value} was not there" for value in each.missing)):
            console.print(f"{each.id}: {said}", highlight=False, markup=False)
    console.print(f"{time.monotonic() - began:.0f} s", highlight=False)
    if options.json:
        print(json.dumps({"rows": rows}))
    good = all(row["there"] >= THERE and row["gold_there"] >= THERE for row in rows)
    if rows[0]["violations"] or rows[0]["identical"] < len(played) or not good:
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
