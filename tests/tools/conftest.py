"""A worker with the tools of a module, whose model speaks through the real provider."""

import uuid
from collections.abc import AsyncIterator

import pytest_asyncio
from temporalio.client import Client

from perdure.archive import Archive
from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.memory.policy import MemoryPolicy
from tests.support.messages_api import MessagesApi
from tests.support.wired import wired

QUEUE = "desk"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def api(client: Client, server_url: str) -> AsyncIterator[MessagesApi]:
    """The model's side; every request that it got must be one that the API takes."""
    async with wired(client, server_url, QUEUE, "tests.tools.desk") as made:
        yield made
        made.check(window=200_000)


@pytest_asyncio.fixture(loop_scope="session")
async def desk(client: Client, api: MessagesApi, archive: Archive) -> Conversation:
    """A conversation with every tool of the worker."""
    id_ = f"desk-{uuid.uuid4().hex[:8]}"
    policy = MemoryPolicy(message_budget=100_000)
    config = ConversationConfig(system="You sell bread.", tools=["*"], policy=policy)
    return await Conversation.open(client, id_, config, task_queue=QUEUE, archive=archive)
