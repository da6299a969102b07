"""History bytes and events of a turn: perdure, the context as argument, and the floor.

python -m bench.history [--json]

Each design is measured over whole runs: from a moment in one run to the same length of a later
one, so that compactions and continuing as new are counted in full. Ends with status 1 when
perdure writes more than its target beside the new text.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.worker import Worker

from bench import floor
from bench.chain import Growth, by_type, extent, growth
from bench.stage import scripted
from bench.words import passage
from perdure import Conversation, ConversationConfig, MemoryPolicy
from perdure.memory.observation import body
from tests.support.answers import Answer, text
from tests.support.messages_api import Body, is_summary, summary_of

MESSAGE_LENGTH = 400
CHARACTERS_PER_TOKEN = 4.2
FEWEST_TURNS = 200
LOOK_EVERY = 10
# More than the ids that the workflow keeps, so that what is carried has its final size.
IMPORTS = 500
TARGETS = {8_000: 1_500, 30_000: 2_200}
# Budgets between whose compactions the context has about the wanted size.
POLICIES = {
    8_000: MemoryPolicy(
        message_budget=8_000, keep_recent=500, observation_budget=2_500, level_budget=1_200
    ),
    30_000: MemoryPolicy(message_budget=22_000, observation_budget=14_000, level_budget=7_000),
}

Turn = Callable[[str], Awaitable[object]]
Row = dict[str, Any]


@dataclass(frozen=True)
class Stretch:
    """A measured stretch of a conversation; `said` are the UTF-8 bytes of the user's messages."""

    turns: int
    said: int
    growth: Growth


async def measure(client: Client, id: str, turn: Turn) -> Stretch:  # noqa: A002
    """Take turns until the chain has gone through whole runs."""
    start = last = await extent(client, id)
    turns = said = 0
    whole = False
    while not (whole and turns >= FEWEST_TURNS):
        turns += 1
        message = passage(f"{id} {turns}", MESSAGE_LENGTH)
        await turn(message)
        said += len(message.encode())
        if turns % LOOK_EVERY:
            continue
        now = await extent(client, id)
        below = last.run_id != now.run_id or last.events < start.events
        whole = now.run_id != start.run_id and below and now.events >= start.events
        last = now
    return Stretch(turns, said, await growth(client, id, start))


def row(design: str, tokens: int, stretch: Stretch) -> Row:
    """The figures per turn. New text: messages, replies and observations."""
    events, turns = stretch.growth.events, stretch.turns
    new_text = stretch.said + sum(len(t.encode()) for t in written(events))
    return {
        "design": design,
        "context_tokens": tokens,
        "bytes_per_turn": round(stretch.growth.bytes / turns),
        "new_text_bytes_per_turn": round(new_text / turns),
        "events_per_turn": round(len(events) / turns, 2),
        "turns": turns,
        "runs_started": stretch.growth.started,
    }


def written(events: list[HistoryEvent]) -> Iterator[str]:
    """The texts of replies and observations that activities gave back."""
    for event in events:
        for payload in event.activity_task_completed_event_attributes.result.payloads:
            result = json.loads(payload.data or "{}")
            if isinstance(result, str):
                yield result
            elif "content" in result:
                yield from (block["text"] for block in result["content"])
            elif "compacted" in result:
                made = result["compacted"]
                yield body(made["content"], made.get("facts", []))


def imported(number: int) -> list[tuple[str, str]]:
    """A message and its reply, from before the measured stretch."""
    message = passage(f"imported {number}", MESSAGE_LENGTH)
    return [("user", message), ("assistant", floor.reply_of(-number))]


async def minimal(client: Client, tokens: int) -> Stretch:
    """The floor, which has no context of any size."""
    handle = await client.start_workflow(
        floor.Minimal.run, id=f"minimal-{tokens}", task_queue=floor.TASK_QUEUE
    )

    async def turn(message: str) -> None:
        await client.get_workflow_handle(handle.id).execute_update(floor.Minimal.ask, message)

    return await measure(client, handle.id, turn)


async def context_as_argument(client: Client, tokens: int) -> Stretch:
    """The design that hands the context to every model call."""
    size = round(tokens * CHARACTERS_PER_TOKEN)
    told = [
        {"role": role, "content": [{"type": "text", "text": said}]}
        for number in range(size // (MESSAGE_LENGTH + floor.REPLY_LENGTH))
        for role, said in imported(number)
    ]
    handle = await client.start_workflow(
        floor.ContextAsArgument.run,
        args=[size, told],
        id=f"argument-{tokens}",
        task_queue=floor.TASK_QUEUE,
    )

    async def turn(message: str) -> None:
        latest = client.get_workflow_handle(handle.id)
        await latest.execute_update(floor.ContextAsArgument.ask, message)

    return await measure(client, handle.id, turn)


async def perdure(client: Client, tokens: int) -> tuple[Stretch, int]:
    """Ours, and the mean of its context in tokens."""
    config = ConversationConfig(system="You are a notebook.", policy=POLICIES[tokens])
    conversation = await Conversation.open(client, f"perdure-{tokens}", config)
    for number in range(IMPORTS):
        pair = imported(number)
        await conversation.import_messages([{"role": r, "content": said} for r, said in pair])
    asked: list[str] = []
    contexts: list[int] = []

    async def turn(message: str) -> None:
        await conversation.ask(message)
        if not len(asked) % LOOK_EVERY:
            contexts.append((await conversation.status())["context_tokens"])
        asked.append(message)

    stretch = await measure(client, conversation.id, turn)
    return stretch, round(sum(contexts) / len(contexts))


def rule(request: Body) -> Answer:
    """A reply that depends on how much was said before, or a summary."""
    if is_summary(request):
        return text(summary_of(request))
    return text(floor.reply_of(len(json.dumps(request["messages"]))))


def costs(stretch: Stretch) -> Table:
    """Where the bytes of a stretch are, by type of event."""
    shown = Table("event", "a turn", "bytes each", "bytes a turn", title="what perdure writes")
    for name, number, size in by_type(stretch.growth.events):
        figures = (number / stretch.turns, size / number, size / stretch.turns)
        shown.add_row(name, f"{figures[0]:.2f}", f"{figures[1]:,.0f}", f"{figures[2]:,.0f}")
    return shown


def table(rows: list[Row]) -> Table:
    """The figures for people."""
    shown = Table("design", "context", "bytes a turn", "of it new text", "the rest", "events")
    for found in rows:
        total, new = found["bytes_per_turn"], found["new_text_bytes_per_turn"]
        shown.add_row(
            found["design"],
            f"{found['context_tokens']:,}",
            f"{total:,}",
            f"{new:,}",
            f"{total - new:,}",
            f"{found['events_per_turn']:.1f}",
        )
    return shown


def missed(rows: list[Row]) -> list[str]:
    """A sentence for each target that perdure does not meet."""
    return [
        f"at {found['context_tokens']:,} tokens perdure writes {rest:,} bytes a turn beside the "
        f"new text; the target is {TARGETS[found['context_tokens']]:,}"
        for found in rows
        if found["design"] == "perdure"
        and (rest := found["bytes_per_turn"] - found["new_text_bytes_per_turn"])
        > TARGETS[found["context_tokens"]]
    ]


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    console = Console()
    rows: list[Row] = []
    async with scripted(rule) as (client, _):
        comparison = Worker(
            client,
            task_queue=floor.TASK_QUEUE,
            workflows=[floor.Minimal, floor.ContextAsArgument],
            activities=[floor.answer, floor.answer_context],
        )
        async with comparison:
            for tokens in TARGETS:
                stretch, mean = await perdure(client, tokens)
                rows.append({**row("perdure", tokens, stretch), "mean_context_tokens": mean})
                console.print(costs(stretch))
                argued = await context_as_argument(client, tokens)
                rows.append(row("context as argument", tokens, argued))
                rows.append(row("minimal", tokens, await minimal(client, tokens)))
    console.print(table(rows))
    faults = missed(rows)
    console.print("\n".join(faults) or "perdure meets its targets", highlight=False)
    if options.json:
        print(json.dumps({"rows": rows}))
    if faults:
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
