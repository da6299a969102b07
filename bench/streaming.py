"""From sending a message to its first word at the client, beside a direct call of the model.

And beside the least that any call through Temporal takes: one update, one activity, in the process
that waits for the word.

python -m bench.streaming [--turns N] [--json]

The direct call is the anthropic client's own stream in this process; everything else goes through
Temporal, the worker and the archive. Once the model answers at once, and once it thinks for so long
as a real one does at least. Ends with status 1 when the median of the former is over `LIMIT`.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from anthropic import AsyncAnthropic
from rich.console import Console
from rich.table import Table
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from bench import floor
from bench.chain import extent
from bench.stage import scripted
from bench.words import passage
from perdure.archive import Archive, Piece
from perdure.conversation import Conversation
from tests.support.answers import Answer, text
from tests.support.messages_api import Body

LIMIT = 2.0
THINKS_SECONDS = 0.3
WARM = 5
# Asks a question; gives the seconds to the first word of its answer.
FirstWord = Callable[[str], Awaitable[float]]
REPLY = passage("reply", 1500)


def at_once(_: Body) -> Answer:
    """A reply without a pause."""
    return text(REPLY)


def thinking(_: Body) -> Answer:
    """One that has begun when it is asked for, and whose words come later, as in the real API."""
    thought = asyncio.Event()
    asyncio.get_running_loop().call_later(THINKS_SECONDS, thought.set)
    return text(REPLY, hold_at=1, held=thought)


async def directly(client: AsyncAnthropic, question: str) -> float:
    """Seconds to the first word without perdure."""
    began = time.perf_counter()
    asked: Any = {"role": "user", "content": question}
    async with client.messages.stream(model="scripted", max_tokens=1000, messages=[asked]) as said:
        async for _ in said.text_stream:
            break
        return time.perf_counter() - began


@asynccontextmanager
async def through_temporal(client: Client, direct: AsyncAnthropic) -> AsyncIterator[FirstWord]:
    """The same in an activity of a workflow that does nothing else."""
    asked: list[str] = []
    seconds: list[float] = []

    @activity.defn(name="answer")
    async def answer(_: int) -> str:
        await directly(direct, asked[-1])
        seconds.append(time.perf_counter())
        return ""

    handle = await client.start_workflow(floor.Minimal.run, id="floor", task_queue=floor.TASK_QUEUE)

    async def first_word(question: str) -> float:
        asked.append(question)
        began = time.perf_counter()
        await handle.execute_update(floor.Minimal.ask, question)
        return seconds[-1] - began

    async with Worker(
        client, task_queue=floor.TASK_QUEUE, workflows=[floor.Minimal], activities=[answer]
    ):
        yield first_word


async def streamed(conversation: Conversation, question: str) -> float:
    """Seconds to the first word with it."""
    began, seconds = time.perf_counter(), 0.0
    async for event in conversation.stream(question):
        if isinstance(event, Piece) and not seconds:
            seconds = time.perf_counter() - began
    return seconds


async def medians(turns: int, *ways: FirstWord) -> list[float]:
    """Milliseconds for each, asked in turn: what slows the machine down slows all of them."""
    rounds = []
    for n in range(WARM + turns):
        question = passage(f"streaming {n}", 400)
        rounds.append([await first_word(question) for first_word in ways])
    return [round(1000 * statistics.median(s), 1) for s in zip(*rounds[WARM:], strict=True)]


async def measure(turns: int) -> list[dict[str, Any]]:
    """A row for each speed of the model."""
    rows = []
    async with (
        scripted() as (client, api),
        AsyncAnthropic() as direct,
        await Archive.open(os.environ["PERDURE_DATABASE_URL"]) as archive,
        through_temporal(client, direct) as least,
    ):
        for model, rule in (("instant", at_once), ("thinks for 0.3 s", thinking)):
            api.rule = rule
            conversation = await Conversation.open(client, model.split()[0], archive=archive)
            bare, through, ours = await medians(
                turns, partial(directly, direct), least, partial(streamed, conversation)
            )
            events = (await extent(client, conversation.id)).events / (WARM + turns)
            rows.append(
                {"model": model, "direct_ms": bare, "temporal_ms": through, "streamed_ms": ours}
                | {"ratio": round(ours / bare, 2), "of_temporal": round(ours / through, 2)}
                | {"events_a_turn": round(events, 1)}
            )
    return rows


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    rows = await measure(options.turns)
    shown = Table(
        "model", "direct, ms", "Temporal, ms", "streamed, ms", "of direct", "of Temporal", "events"
    )
    for row in rows:
        shown.add_row(*(str(value) for value in row.values()))
    Console().print(shown)
    if options.json:
        print(json.dumps({"rows": rows}))
    if rows[0]["ratio"] > LIMIT:
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
