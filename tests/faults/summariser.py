"""A summariser that fails in every way that people have reported, turn after turn."""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle

from temporalio.client import Client

from bench.words import passage
from perdure.archive import Archive
from perdure.conversation import Conversation
from tests.support.answers import Answer, Body, failing_summaries, text
from tests.support.messages_api import MessagesApi, default_rule, is_summary
from tests.support.scripted import Script
from tests.support.talk import Talk, texts
from tests.support.wired import wired

FACTS = {
    "HM-48213": "The reservation number of the oven is HM-48213.",
    "hazelnuts": "My daughter Ines is allergic to hazelnuts; never suggest a filling with them.",
    "1,150 euros": "The rent of 17 Tannery Lane is 1,150 euros a month, water included.",
    "Clementine": "My rye starter is called Clementine and is eleven years old.",
    "7:10": "I read your answers on the 7:10 bus, so keep them short on weekdays.",
}
# Characters of a user's message: about 120 tokens.
LENGTH = 480
# What a failure says of itself; none of it may ever stand in the context.
TELLTALE = (
    "Error generating",
    "overloaded",
    "x-api-key",
    "rate limit",
    "Internal server",
    "<html",
    "rather not",
)
# Turns within which a summariser that works again must have been asked: the longest pause is 16.
LATE = 24
# So many times the turns that were asked for are enough to meet any number of ways to fail.
MOST = 10
_LOOK_EVERY = 0.1


@dataclass
class Figures:
    """What became of a conversation. Facts are counted in the context and in the whole record."""

    turns: int = 0
    answered: int = 0
    calls: dict[str, int] = field(default_factory=dict)
    failed_compactions: int = 0
    extractive: int = 0
    runs: int = 0
    looks: int = 0
    in_context: int = 0
    in_record: int = 0
    recovered_after: int | None = None

    @property
    def called(self) -> int:
        """Calls of the summariser while it failed."""
        return sum(self.calls.values())


class Failing:
    """The rule of a Messages API whose summaries fail, each in the next way, until `works`."""

    def __init__(self, slow: float) -> None:
        self.works = False
        self.calls: Counter[str] = Counter()
        self._ways = cycle(failing_summaries(slow).items())

    def __call__(self, request: Body) -> Answer:
        if not is_summary(request):
            return text("That is noted.")
        if self.works:
            return default_rule(request)
        name, way = next(self._ways)
        self.calls[name] += 1
        return way(request)


async def play(
    client: Client, url: str, turns: int, tokens: int, slow: float, ways: int = 0
) -> tuple[Figures, MessagesApi]:
    """So many turns while every summary fails, then some more until one has succeeded.

    More turns while fewer than so many `ways` to fail were met: turns do not wait for a summariser
    that is tried again, so how many there are for one of its calls depends on the machine.
    `tokens` is the budget of messages; the window is four times as large. A look at the
    conversation, every tenth of a second, must always show a whole state.
    """
    failing, figures = Failing(slow), Figures(turns=turns)
    policy = {
        "message_budget": tokens,
        "observation_budget": tokens // 2,
        "level_budget": tokens // 4,
        "observe_chunk": tokens // 3,
        "context_window": 4 * tokens + 500,
        "reserve_output": 500,
    }
    config = {"system": "Be brief.", "policy": policy, "turns_per_run": max(8, turns // 4)}
    async with _served(client, url, failing) as (talk, api, archive):
        await talk.start(config)
        async with _watched(talk, figures):
            for number in range(MOST * turns):
                if number >= turns and len(failing.calls) >= ways:
                    break
                figures.turns = number + 1
                reply = await talk.ask(_said(number))
                figures.answered += reply.text == "That is noted."
        figures.calls = dict(failing.calls)
        totals = (await talk.status())["totals"]
        figures.failed_compactions, figures.runs = totals["failed_compactions"], totals["runs"]
        await _look_for_facts(talk, archive, figures)
        failing.works = True
        for number in range(LATE):
            await talk.ask(_said(figures.turns + number))
            rows = await talk.query("compactions")
            if any(row["observation"]["method"] == "model" for row in rows):
                figures.recovered_after = number + 1
                break
        figures.extractive = sum(r["observation"]["method"] == "extractive" for r in rows)
        await talk.end()
        await talk.check_sound()
    return figures, api


def _said(number: int) -> str:
    fact = list(FACTS.values())[number] if number < len(FACTS) else f"This is message {number}."
    return f"{fact} {passage(f'turn {number}', LENGTH)}"


@asynccontextmanager
async def _served(
    client: Client, url: str, rule: Callable[[Body], Answer]
) -> AsyncIterator[tuple[Talk, MessagesApi, Archive]]:
    name = f"failing-{uuid.uuid4().hex[:8]}"
    async with wired(client, url, name, rule=rule) as api, await Archive.open(url) as archive:
        yield Talk(client, name, name, Script()), api, archive


@asynccontextmanager
async def _watched(talk: Talk, figures: Figures) -> AsyncIterator[None]:
    async def look() -> None:
        while True:
            if (await talk.check_tiling())["next_seq"]:
                shown = "\n".join(texts((await talk.check_context())["messages"]))
                assert not [word for word in TELLTALE if word in shown]
                figures.looks += 1
            await asyncio.sleep(_LOOK_EVERY)

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        (ended,) = await asyncio.gather(looking, return_exceptions=True)
    if not isinstance(ended, asyncio.CancelledError):
        raise AssertionError("a look at the conversation failed") from ended


async def _look_for_facts(talk: Talk, archive: Archive, figures: Figures) -> None:
    shown = "\n".join(texts((await talk.check_context())["messages"]))
    conversation = await Conversation.get(
        talk.client, talk.id, task_queue=talk.queue, archive=archive
    )
    record = [message.text async for message in conversation.transcript(0, len(FACTS) * 2)]
    figures.in_context = sum(fact in shown for fact in FACTS)
    figures.in_record = sum(any(whole in text for text in record) for whole in FACTS.values())
