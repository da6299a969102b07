"""A real Temporal server for the whole session, and workers beside it."""

import shutil
import signal
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

# Before any test: pytest rewrites what it imports, which Python 3.11 can fail to parse later on,
# when threads of Temporal's have run ("AST constructor recursion depth mismatch").
import hypothesis  # noqa: F401
import pytest
import pytest_asyncio
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

import worker
from perdure.archive import Archive
from perdure.contract import TASK_QUEUE
from perdure.conversation import Conversation
from perdure.local.database import local_postgres
from perdure.settings import Settings
from tests.support.directories import passable_directory
from tests.support.scripted import QUEUE, Script, Scripted, serving
from tests.support.talk import Talk

# Whoever starts the tests in the background has them ignore Ctrl-C, and so would the programs
# that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

TEMPORAL = Path(sys.executable).parent / "temporal"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def client() -> AsyncIterator[Client]:
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(TEMPORAL),
        dev_server_log_level="error",
        data_converter=pydantic_data_converter,
    ) as environment:
        yield environment.client


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server_url() -> AsyncIterator[str]:
    """The URL of a PostgreSQL for the whole session."""
    directory = passable_directory()
    async with local_postgres(directory) as url:
        yield url
    shutil.rmtree(directory)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def archive(server_url: str) -> AsyncIterator[Archive]:
    """The archive of the session."""
    async with await Archive.open(server_url) as opened:
        yield opened


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def offline_worker(client: Client, server_url: str) -> AsyncIterator[None]:
    """Serves the default task queue with the offline model."""
    async with worker.running(client, Settings(model="offline", database_url=server_url)):
        yield


@pytest.fixture
def conversation(client: Client, offline_worker: None) -> Conversation:
    """A fresh id on a served task queue; `Conversation.open` it to start it."""
    return Conversation(client, f"test-{uuid.uuid4().hex[:8]}")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def scripted_worker(client: Client, server_url: str) -> AsyncIterator[Scripted]:
    """Serves the task queue "scripted" with models that answer by script, and a real archive."""
    scripted = Scripted()
    async with await Archive.open(server_url) as archive, serving(client, scripted, archive, QUEUE):
        yield scripted


@pytest_asyncio.fixture(loop_scope="session")
async def talk(client: Client, scripted_worker: Scripted) -> AsyncIterator[Talk]:
    """A fresh conversation with scripted models, not started; sound at its end."""
    id_ = f"talk-{uuid.uuid4().hex[:8]}"
    talk = Talk(client, id_, QUEUE, scripted_worker.script(id_))
    yield talk
    await talk.end()
    await talk.check_sound()


@pytest_asyncio.fixture(loop_scope="session")
async def offline_talk(client: Client, offline_worker: None) -> AsyncIterator[Talk]:
    """A fresh conversation with the offline model, not started; sound at its end."""
    talk = Talk(client, f"talk-{uuid.uuid4().hex[:8]}", TASK_QUEUE, Script())
    yield talk
    await talk.end()
    await talk.check_sound()
