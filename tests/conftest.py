"""A real Temporal server for the whole session, and workers beside it."""

import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

import worker
from perdure.conversation import Conversation
from perdure.settings import Settings

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
async def offline_worker(client: Client) -> AsyncIterator[None]:
    """Serves the default task queue with the offline model."""
    async with worker.running(client, Settings(model="offline")):
        yield


@pytest.fixture
def conversation(client: Client, offline_worker: None) -> Conversation:
    """A fresh id on a served task queue; `Conversation.open` it to start it."""
    return Conversation(client, f"test-{uuid.uuid4().hex[:8]}")
