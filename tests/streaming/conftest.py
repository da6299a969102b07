"""A conversation whose model speaks through the real provider, with an archive on both sides."""

import os
import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from temporalio.client import Client

import worker
from perdure.archive import Archive
from perdure.conversation import Conversation
from perdure.settings import Settings
from tests.support.messages_api import MessagesApi

QUEUE = "streaming"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def api(client: Client, server_url: str) -> AsyncIterator[MessagesApi]:
    with pytest.MonkeyPatch.context() as patch:
        async with MessagesApi() as made:
            patch.setitem(os.environ, "ANTHROPIC_API_KEY", "local")
            patch.setitem(os.environ, "ANTHROPIC_BASE_URL", made.url)
            settings = Settings(model="scripted", database_url=server_url, task_queue=QUEUE)
            async with worker.running(client, settings):
                yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def archive(server_url: str) -> AsyncIterator[Archive]:
    async with await Archive.open(server_url) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def conversation(client: Client, api: MessagesApi, archive: Archive) -> Conversation:
    id_ = f"stream-{uuid.uuid4().hex[:8]}"
    return await Conversation.open(client, id_, task_queue=QUEUE, archive=archive)
