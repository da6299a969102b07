"""Real parts for a benchmark: a Temporal server of its own and a worker beside it."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

import worker
from perdure.settings import Settings
from tests.support.messages_api import MessagesApi, Rule, default_rule


@asynccontextmanager
async def server() -> AsyncIterator[Client]:
    """A Temporal server that lives as long as the block, and forgets everything."""
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(Path(sys.executable).parent / "temporal"),
        dev_server_log_level="error",
        data_converter=pydantic_data_converter,
    ) as environment:
        yield environment.client


@asynccontextmanager
async def offline() -> AsyncIterator[Client]:
    """A server and a worker with the offline model."""
    async with server() as client, worker.running(client, Settings(model="offline")):
        yield client


@contextmanager
def key_for(api: MessagesApi) -> Iterator[None]:
    """Lets workers of this process use the scripted server, as they would the real one."""
    given = {"ANTHROPIC_API_KEY": "local", "ANTHROPIC_BASE_URL": api.url}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@asynccontextmanager
async def scripted(rule: Rule = default_rule) -> AsyncIterator[tuple[Client, MessagesApi]]:
    """A server, a local Messages API and a worker that asks it through the anthropic provider."""
    async with server() as client, MessagesApi(rule) as api:
        with key_for(api):
            async with worker.running(client, Settings(model="scripted")):
                yield client, api
