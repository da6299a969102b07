"""What can happen to the worker of a model call; each scene gives the seconds that it took."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg
from temporalio.client import Client

from bench.worker_process import WorkerProcess
from perdure import Conversation, ConversationConfig, MemoryPolicy
from perdure.archive import Archive
from perdure.contract import INTERRUPTED
from tests.support.answers import overloaded, text
from tests.support.messages_api import MessagesApi, is_summary

LONG = "It was a long story, and it had many parts, and every part had its own parts. " * 20
# Somebody who waits for the lock of a table of ours.
_WAITING = "select from pg_locks where not granted and relation = 'perdure.chains'::regclass"
_LOOK_SECONDS = 0.05
POLICY = MemoryPolicy(message_budget=400, keep_recent_messages=2)


@dataclass(frozen=True)
class Stage:
    """A conversation of its own, a scripted model, and workers for both."""

    client: Client
    api: MessagesApi
    conversation: Conversation
    queue: str
    database_url: str

    def worker(self, opening: str = "") -> WorkerProcess:
        variables = {
            "ANTHROPIC_API_KEY": "local",
            "ANTHROPIC_BASE_URL": self.api.url,
            "PERDURE_MODEL": "scripted",
            "PERDURE_TASK_QUEUE": self.queue,
            "PERDURE_DATABASE_URL": self.database_url,
        }
        return WorkerProcess(self.client, variables, opening)

    @property
    def contexts(self) -> list[str]:
        """What was sent for replies."""
        return [str(r["messages"]) for r in self.api.requests if not is_summary(r)]

    async def asked(self) -> None:
        """Wait until the model has been asked for a reply."""
        while not self.contexts:
            await self.api.arrived(len(self.api.requests) + 1)


@asynccontextmanager
async def stage(client: Client, database_url: str) -> AsyncIterator[Stage]:
    """For one scene; at the end every request that was sent is checked."""
    name = f"faults-{uuid.uuid4().hex[:8]}"
    config = ConversationConfig(system="You are brief.", policy=POLICY)
    async with MessagesApi() as api:
        conversation = await Conversation.open(client, name, config, task_queue=name)
        yield Stage(client, api, conversation, name, database_url)
        await client.get_workflow_handle(name).terminate()
        api.check()


class Held(asyncio.Event):
    """`reached` is set as soon as a stream waits for this."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()

    async def wait(self) -> bool:  # type: ignore[override]
        self.reached.set()
        return await super().wait()


async def killed(on: Stage) -> float:
    """From SIGKILL in the middle of a call to the answer by another worker."""
    late = asyncio.Event()
    on.api.script(text("Too late.", delay=late), text("Here I am."))
    async with on.worker() as first:
        asking = asyncio.create_task(on.conversation.ask("Are you there?"))
        await on.asked()
        began = time.monotonic()
        await first.kill()
        async with on.worker():
            assert (await asking).text == "Here I am."
            seconds = time.monotonic() - began
            late.set()
            assert (await on.conversation.status())["messages"] == 2
    return seconds


async def stopped(on: Stage) -> float:
    """From SIGTERM in the middle of a call to the end of the worker, which finishes the call."""
    finish = asyncio.Event()
    on.api.script(text("Just in time.", delay=finish))
    async with on.worker() as first:
        asking = asyncio.create_task(on.conversation.ask("Are you there?"))
        await on.asked()
        began = time.monotonic()
        first.stop()
        async with on.worker():
            finish.set()
            assert (await asking).text == "Just in time."
            assert await first.ended() == 0
    assert len(on.api.requests) == 1
    return time.monotonic() - began


async def interrupted(on: Stage) -> float:
    """From `interrupt` to the reply that keeps what a stream had brought; the next is whole."""
    held = Held()
    on.api.script(text(LONG, hold_at=10, held=held), text("Shorter, then."))
    async with on.worker():
        asking = asyncio.create_task(on.conversation.ask("Tell me a story."))
        await held.reached.wait()
        began = time.monotonic()
        await on.conversation.interrupt()
        reply = await asking
        seconds = time.monotonic() - began
        held.set()
        assert reply.stop_reason == INTERRUPTED
        said, mark = reply.text.split("\n")
        assert said
        assert LONG.startswith(said)
        assert mark == "[interrupted]"
        assert (await on.conversation.ask("Too long.")).text == "Shorter, then."
    assert "[interrupted]" in on.contexts[-1]
    return seconds


async def replaced(on: Stage) -> float:
    """From the failure of a call to the answer by a worker of another version."""
    fail = asyncio.Event()
    on.api.script(overloaded().but(delay=fail), text("From the other version."))
    async with on.worker() as first:
        said = [
            {"role": role, "content": f"This is the {role}'s message {number}. {LONG[:200]}"}
            for number in range(10)
            for role in ("user", "assistant")
        ]
        await on.conversation.import_messages(said)
        asking = asyncio.create_task(on.conversation.ask("Are you there?"))
        await on.asked()
        first.stop()
        async with on.worker(opening="<background>\nWhat was said before."):
            began = time.monotonic()
            fail.set()
            assert (await asking).text == "From the other version."
            seconds = time.monotonic() - began
    before, after = on.contexts
    assert "A record of the earlier part" in before
    assert "What was said before." in after
    return seconds


async def forked(on: Stage) -> float:
    """From SIGKILL in the middle of a fork to the fork, of which there is one."""
    on.api.script(text("One."), text("Two."), text("From here."))
    locks = await psycopg.AsyncConnection.connect(on.database_url, autocommit=True)
    async with locks, on.worker() as first:
        await on.conversation.ask("One?")
        await on.conversation.ask("Two?")
        before = await on.conversation.context()
        await locks.execute("begin; lock table perdure.chains in exclusive mode")
        forking = asyncio.create_task(on.conversation.fork(1))
        while not (await (await locks.execute(_WAITING)).fetchall()):
            await asyncio.sleep(_LOOK_SECONDS)
        began = time.monotonic()
        await first.kill()
        await locks.execute("rollback")
        async with on.worker():
            fork = await forking
            seconds = time.monotonic() - began
            assert (await fork.status())["messages"] == 2
            assert (await fork.ask("Where from?")).text == "From here."
            assert await on.conversation.context() == before
    async with await Archive.open(on.database_url) as archive:
        chains = await archive.chains(on.client.namespace, fork.id)
        assert [(c.parent_until_seq, c.parent_until_turn) for c in chains] == [(1, 1)]
    handle = on.client.get_workflow_handle(fork.id)
    described = await handle.describe()
    assert described.run_id == chains[0].key.chain
    await handle.terminate()
    return seconds
