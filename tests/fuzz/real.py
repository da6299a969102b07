"""The same on the real workflow, server and archive, with models that answer by script."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from psycopg import AsyncConnection
from temporalio.client import Client
from temporalio.worker import Worker

from perdure.archive import Archive
from perdure.contract import PartRef
from perdure.conversation import Conversation
from perdure.errors import ArchiveUnavailable, TurnFailed
from perdure.memory.blocks import Block
from tests.fuzz.checks import Violation
from tests.fuzz.words import spoken
from tests.support.recorded import check_contexts
from tests.support.requests import violations
from tests.support.scripted import (
    Said,
    Scripted,
    Summarised,
    lasting,
    notes,
    passing,
    refused,
    serving,
)
from tests.support.talk import Talk, texts
from tests.support.tools import FakeTool, call
from workflows import room

STEPS = 14
SMALL = {"message_budget": 400, "observation_budget": 200, "level_budget": 150}
# What the context may hold at last: three budgets, a message of each kind and the frame.
LARGEST = 4_000
# Model calls a turn: its own tries, and those of at most one compaction of a few parts.
CALLS_A_TURN = 10
_LONG = 60.0
# What a turn waits for a summary; the real one would make the play long and not other.
_PATIENCE = timedelta(seconds=0.3)


class Fickle(Archive):
    """An archive whose database is `away` at times."""

    away = False

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        if self.away:
            raise ArchiveUnavailable("the database is away")
        async with super()._connection() as connection:
            yield connection


class Play:
    """One conversation of a seed: what was sent, and what came of it."""

    def __init__(self, talk: Talk, archive: Fickle, seed: int) -> None:
        self.talk = talk
        self.archive = archive
        self.dice = random.Random(seed)
        self.sent: dict[str, str] = {}
        self.clients: dict[str, list[str]] = {"ask": [], "signal": []}
        self.replies_scripted = 0
        talk.script.summarise = self._summarise
        talk.script.tools["look"] = FakeTool(self._look, attempts=2)

    async def run(self, restart: Callable[[], Awaitable[None]]) -> None:
        """Some steps in any order, `restart` once in a third of the seeds, then a look."""
        await self.talk.start(
            {
                "system": "Be brief.",
                "tools": ["look"],
                "turns_per_run": self.dice.choice([2, 5, 9]),
                "policy": {
                    **SMALL,
                    "observe_at": self.dice.choice([0.3, 0.85, 1.0]),
                    "context_window": self.dice.choice([200_000, 200_000, 3_000]),
                    "reserve_output": 500,
                },
            }
        )
        # A conversation begins only when the archive has told of its past.
        await self.ask()
        doings = [self.ask, self.send, self.several, self.again, self.pin, self.compact]
        doings += [self.interrupt, self.configure, self.ask, self.several]
        doings += [self.database, self.database, self.summaries, self.summaries]
        at = self.dice.randrange(3 * STEPS)
        for number in range(STEPS):
            if number == at:
                await restart()
            await self.dice.choice(doings)()
        await self.settle()
        await self.check()

    # What happens

    def _next(self, by: str) -> tuple[str, str]:
        number = len(self.sent)
        text = f"«{number}» {spoken(self.dice, '')}".strip()
        self.sent[f"id-{number}"] = text
        self.clients[by].append(text)
        self._script_reply()
        return f"id-{number}", text

    def _script_reply(self) -> None:
        calls: list[Said] = [self._calls(n) for n in range(self.dice.choice([1, 1, 2, 5]))]
        said: list[Said] = self.dice.choice(
            [[], [], [], [passing("overloaded")], [refused("no")], [lasting("no key")], calls]
        )
        self.talk.script.replies.extend(said)
        self.replies_scripted += len(said)

    def _calls(self, step: int) -> list[Block]:
        names = self.dice.choice([["look"], ["look"] * 3, ["look", "find"], ["find"]])
        ids = [f"call-{len(self.sent)}-{step}-{n}" for n in range(len(names))]
        return [{"type": "text", "text": "Let me look."}, *map(call, ids, names)]

    async def _look(self, given: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        kind = self.dice.choice(["short", "short", "long", "failed"])
        if kind == "failed":
            raise ConnectionError("the line is busy")
        return "a page of " + "words " * (100 if kind == "long" else 2)

    def _summarise(self, ref: PartRef, sources: Sequence[dict[str, Any]]) -> Summarised:
        kind = self.dice.choice(["good", "good", "good", "passing", "lasting", "blank", "long"])
        made: dict[str, Summarised] = {
            "passing": passing("overloaded"),
            "lasting": lasting("no key"),
            "blank": " ",
            "long": "word " * ref.part.source_tokens,
        }
        return made.get(kind) or notes(ref, sources)

    async def _asked(self, id_: str, text: str) -> None:
        try:
            await asyncio.wait_for(self.talk.facade.ask(text, id=id_), _LONG)
        except TurnFailed:
            return

    async def ask(self) -> None:
        await self._asked(*self._next("ask"))

    async def send(self) -> None:
        id_, text = self._next("signal")
        await self.talk.facade.send(text, id=id_)

    async def several(self) -> None:
        """An update waits while signals and a duplicate of it arrive."""
        id_, text = self._next("ask")
        asking = [asyncio.ensure_future(self._asked(id_, text)) for _ in range(2)]
        await self.send()
        await self.send()
        await asyncio.gather(*asking)

    async def again(self) -> None:
        if self.sent:
            id_ = self.dice.choice(list(self.sent))
            await self.talk.facade.send(self.sent[id_], id=id_)

    async def pin(self) -> None:
        what: dict[str, Any] = self.dice.choice([{"text": "short note"}, {"seq": 3}])
        await self.talk.signal("pin", {**what, "pinned": self.dice.random() < 0.7})

    async def compact(self) -> None:
        await self.talk.signal("compact")

    async def interrupt(self) -> None:
        """A turn is stopped while its model is silent, or was about to be asked."""
        self.talk.script.reply_gate.clear()
        await self.send()
        await asyncio.sleep(0)
        await self.talk.signal("interrupt")
        self.talk.script.reply_gate.set()

    async def configure(self) -> None:
        changed = {"message_budget": self.dice.choice([300, 400, 800])}
        await self.talk.facade.configure(policy=changed)

    async def database(self) -> None:
        """The archive's database goes away, or comes back."""
        self.archive.away = not self.archive.away

    async def summaries(self) -> None:
        """The summariser falls silent, or what it was asked for arrives late."""
        gate = self.talk.script.summary_gate
        if gate.is_set():
            gate.clear()
        else:
            gate.set()

    # What must hold

    async def settle(self) -> None:
        """Everything is served; then all works again and the context shrinks."""
        self.archive.away = False
        self.talk.script.summary_gate.set()
        await self.talk.turns(len(self.sent), seconds=_LONG)
        self.talk.script.replies.clear()
        self.talk.script.summarise = notes
        for _ in range(2):
            await self.talk.signal("compact")
            self.replies_scripted += 1
            id_ = f"id-{len(self.sent)}"
            self.sent[id_] = f"«{len(self.sent)}» and now?"
            self.clients["ask"].append(self.sent[id_])
            await self._asked(id_, self.sent[id_])
        await self.talk.turns(len(self.sent), seconds=_LONG)

    async def check(self) -> None:
        """Each message was served once, in its client's order, by requests that the API takes."""
        talk = self.talk
        await talk.check_context()
        memory = await talk.check_tiling()
        status = await talk.status()
        requests = talk.script.requests
        for request in requests:
            if broken := violations(request):
                raise Violation("; ".join(broken))
        said = [[m for m in request["messages"] if m["role"] == "user"] for request in requests]
        mine = list(self.sent.values())
        # The question of a long turn may stand among what is pinned.
        served = [text for messages in said if (text := texts(messages)[-1]) in mine]
        once = list(dict.fromkeys(served))
        groups = [text for n, text in enumerate(served) if n == 0 or served[n - 1] != text]
        if groups != once:
            raise Violation("a message was served again after another one")
        for by, mine in self.clients.items():
            # A turn that was interrupted before its model was asked has made no request.
            seen = [text for text in once if text in mine]
            if seen != [text for text in mine if text in seen]:
                raise Violation(f"the messages of {by} were served out of order")
        if not status["turn"] == status["totals"]["messages_in"] == len(self.sent):
            raise Violation(f"{len(self.sent)} messages were sent, {status['turn']} turns served")
        if memory["context_tokens"] > LARGEST:
            raise Violation(f"the context holds {memory['context_tokens']} tokens")
        if len(requests) > len(self.sent) + self.replies_scripted + 6:
            raise Violation(f"{len(requests)} model calls for {len(self.sent)} turns")
        if len(talk.script.parts) > CALLS_A_TURN * len(self.sent):
            raise Violation(f"{len(talk.script.parts)} summaries for {len(self.sent)} turns")


async def play(client: Client, url: str, seed: int) -> None:
    """One seed on a queue of its own; raises Violation."""
    queue = f"fuzz-{seed}-{uuid.uuid4().hex[:8]}"
    scripted = Scripted()
    talk = Talk(client, queue, queue, scripted.script(queue))
    async with await Fickle.open(url) as archive, AsyncExitStack() as stack:
        stack.enter_context(patch.object(room, "PATIENCE", _PATIENCE))
        workers = [await stack.enter_async_context(_worker(client, scripted, archive, queue))]

        async def restart() -> None:
            await workers.pop().shutdown()
            workers.append(
                await stack.enter_async_context(_worker(client, scripted, archive, queue))
            )

        try:
            await Play(talk, archive, seed).run(restart)
            await talk.check_sound()
            await check_contexts(Conversation(client, talk.id, queue, archive), client)
        except Exception as error:
            raise Violation(f"{error!r}") from error
        finally:
            await talk.end()


def _worker(client: Client, scripted: Scripted, archive: Archive, queue: str) -> Worker:
    """One that notices cancellations, and is missed when it is gone, within a second."""
    second = timedelta(seconds=1)
    return serving(
        client,
        scripted,
        archive,
        queue,
        sticky_queue_schedule_to_start_timeout=second,
        max_heartbeat_throttle_interval=second,
        default_heartbeat_throttle_interval=second,
    )
