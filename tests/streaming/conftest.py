"""A conversation whose model speaks through the real provider, with an archive on both sides."""

import uuid
from collections.abc import AsyncIterator

import pytest_asyncio
from temporalio.client import Client

from perdure.archive import Archive
from perdure.conversation import Conversation
from tests.support.messages_api import MessagesApi
from tests.support.wired import wired

QUEUE = "streaming"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def api(client: Client, server_url: str) -> AsyncIterator[MessagesApi]:
    async with wired(client, server_url, QUEUE) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def conversation(client: Client, api: MessagesApi, archive: Archive) -> Conversation:
    id_ = f"stream-{uuid.uuid4().hex[:8]}"
    return await Conversation.open(client, id_, task_queue=QUEUE, archive=archive)
