"""A worker with the tools of a module, whose model speaks through the real provider."""

import os
import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client

import worker
from perdure.archive import Archive
from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.memory.policy import MemoryPolicy
from perdure.settings import Settings
from tests.support.messages_api import MessagesApi

QUEUE = "desk"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def api(client: Client, server_url: str) -> AsyncIterator[MessagesApi]:
    """The model's side; every request that it got must be one that the API takes."""
    with pytest.MonkeyPatch.context() as patch:
        async with MessagesApi() as made:
            patch.setitem(os.environ, "ANTHROPIC_API_KEY", "local")
            patch.setitem(os.environ, "ANTHROPIC_BASE_URL", made.url)
            settings = Settings(
                model="scripted",
                database_url=server_url,
                task_queue=QUEUE,
                tools="tests.tools.desk",
            )
            async with worker.running(client, settings):
                yield made
            made.check(window=200_000)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def archive(server_url: str) -> AsyncIterator[Archive]:
    async with await Archive.open(server_url) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def desk(client: Client, api: MessagesApi, archive: Archive) -> Conversation:
    """A conversation with every tool of the worker."""
    id_ = f"desk-{uuid.uuid4().hex[:8]}"
    policy = MemoryPolicy(message_budget=100_000)
    config = ConversationConfig(system="You sell bread.", tools=["*"], policy=policy)
    return await Conversation.open(client, id_, config, task_queue=QUEUE, archive=archive)
