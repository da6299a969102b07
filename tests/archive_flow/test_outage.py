"""The database goes away in the middle of a conversation, is the wrong one, or too new."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from shutil import rmtree
from urllib.parse import urlsplit

import psycopg
import pytest
import pytest_asyncio
from temporalio.client import Client

import worker
from perdure.archive import Archive, database
from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.errors import ArchiveTooNew, ArchiveUnavailable, SettingsError, TurnFailed
from perdure.local.database import local_postgres
from perdure.settings import Settings
from tests.archive_flow.conftest import TIGHT, diary
from tests.support.directories import passable_directory
from tests.support.talk import soon, until

# A turn that waits for a compaction waits five seconds; here it need not.
ROOMY = TIGHT.model_copy(update={"message_budget": 900, "observe_at": 0.3})


@pytest.fixture
def directory() -> Iterator[Path]:
    made = passable_directory()
    yield made
    rmtree(made)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "POOL_SECONDS", 0.5)
    monkeypatch.setattr(database, "CHECK_SECONDS", 0.3)
    monkeypatch.setattr(database, "CONNECT_SECONDS", 2)


class Switch:
    """A PostgreSQL that can be stopped and started on the same files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._running = AsyncExitStack()

    async def start(self) -> str:
        return await self._running.enter_async_context(local_postgres(self._directory))

    async def stop(self) -> None:
        await self._running.aclose()


@pytest_asyncio.fixture
async def switch(directory: Path, impatient: None) -> AsyncIterator[Switch]:
    made = Switch(directory)
    yield made
    await made.stop()


async def test_turns_go_on_while_the_database_is_away_and_nothing_is_lost(
    client: Client, switch: Switch, fresh: str
) -> None:
    url = await switch.start()
    settings = Settings(model="offline", database_url=url, task_queue=fresh)
    async with worker.running(client, settings), await Archive.open(url) as archive:
        conversation = await Conversation.open(
            client,
            fresh,
            ConversationConfig(policy=ROOMY),
            task_queue=fresh,
            archive=archive,
        )
        await conversation.import_messages(diary(12))
        said = [message["content"] for message in diary(12)]
        reached = (await conversation.status())["archived"]["seq"]
        assert reached > 0

        await switch.stop()
        for number in range(12):
            said.append(f"Order {number} is for {number * 13} rye loaves and must not be lost.")
            said.append((await soon(conversation.ask(said[-1]))).text)

        async def told() -> bool:
            return "could not be archived" in str((await conversation.status())["errors"])

        await until(told)
        status = await conversation.status()
        assert status["archived"]["seq"] == reached
        assert (await conversation.memory())["messages"]["first_seq"] <= reached
        with pytest.raises(ArchiveUnavailable):
            await conversation.send("a document: " + "rye " * 20_000)

        await switch.start()
        while (await conversation.status())["archived"]["seq"] <= reached:
            said.append("Is the archive back?")
            said.append((await soon(conversation.ask(said[-1]))).text)
            assert len(said) < 100
        assert [m.text async for m in conversation.transcript()] == said
        assert (await worker.replay(client, fresh)).identical


async def test_a_full_window_while_the_database_is_away_refuses_no_message_for_good(
    client: Client, switch: Switch, fresh: str
) -> None:
    """Nothing may leave before it is archived, so nothing more fits; then the database is back."""
    policy = TIGHT.model_copy(update={"context_window": 1_000, "reserve_output": 200})
    url = await switch.start()
    settings = Settings(model="offline", database_url=url, task_queue=fresh)
    async with worker.running(client, settings), await Archive.open(url) as archive:
        conversation = await Conversation.open(
            client, fresh, ConversationConfig(policy=policy), task_queue=fresh, archive=archive
        )
        await conversation.ask("hello")
        await switch.stop()
        asked = [f"Order {n}: {n * 13} rye loaves, {'well baked, ' * 120}" for n in range(20)]
        refused = None
        while refused is None:
            try:
                await soon(conversation.ask(asked.pop()))
            except TurnFailed as error:
                refused = str(error)
        assert "send it again later" in refused
        assert not [
            m for m in await client.get_workflow_handle(fresh).query("transcript") if m["failed"]
        ]
        await switch.start()
        assert (await soon(conversation.ask("Is the archive back?"))).text
        assert (await conversation.memory())["context_tokens"] < 800
        assert (await worker.replay(client, fresh)).identical


async def test_a_conversation_waits_for_its_past(
    client: Client, switch: Switch, fresh: str
) -> None:
    url = await switch.start()
    await switch.stop()
    settings = Settings(model="offline", database_url=url, task_queue=fresh)
    async with worker.running(client, settings):
        conversation = await Conversation.open(client, fresh, task_queue=fresh)
        await conversation.send("hello")

        async def told() -> bool:
            return "starting waits for the archive" in str((await conversation.status())["errors"])

        await until(told)
        status = await conversation.status()
        assert (status["turn"], status["queue"], status["running"]) == (0, 1, "open")
        assert "PERDURE_DATABASE_URL" in status["last_error"]["text"]
        await switch.start()

        async def answered() -> bool:
            return bool((await conversation.status())["turn"])

        await until(answered, 20)
        await soon(conversation.close())


async def test_a_worker_with_the_wrong_database_says_so_at_its_start(
    client: Client, server_url: str, fresh: str
) -> None:
    nothing = urlsplit(server_url)._replace(path="/nothing").geturl()
    with pytest.raises(SettingsError, match="has no database 'nothing'"):
        async with worker.running(client, Settings(database_url=nothing, task_queue=fresh)):
            pass


async def test_a_worker_with_a_newer_schema_says_so_at_its_start(
    client: Client, server_url: str, fresh: str
) -> None:
    name = fresh.replace("-", "_")
    async with await psycopg.AsyncConnection.connect(server_url, autocommit=True) as connection:
        await connection.execute(f"create database {name}".encode())
    url = urlsplit(server_url)._replace(path=f"/{name}").geturl()
    async with await Archive.open(url) as archive:
        await archive.migrate()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("insert into perdure.migrations values (99, 'later')")
    with pytest.raises(ArchiveTooNew, match="version 99"):
        async with worker.running(client, Settings(database_url=url, task_queue=fresh)):
            pass
