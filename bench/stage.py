"""Real parts for a benchmark: a Temporal server of its own and a worker beside it."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

import worker
from perdure.local.database import local_postgres
from perdure.settings import Settings
from tests.support.messages_api import MessagesApi, Rule, default_rule


@contextmanager
def environment(**given: str) -> Iterator[None]:
    """Variables for the settings of this process and of those that it starts."""
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
async def database() -> AsyncIterator[str]:
    """A PostgreSQL that lives as long as the block, as the archive of all that runs in it."""
    with TemporaryDirectory(prefix="perdure-bench-") as directory:
        # The server may run as another user, who must be able to get there.
        os.chmod(directory, 0o755)  # noqa: PTH101
        async with local_postgres(Path(directory)) as url:
            with environment(PERDURE_DATABASE_URL=url):
                yield url


@asynccontextmanager
async def temporal() -> AsyncIterator[Client]:
    """A Temporal server that lives as long as the block."""
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=str(Path(sys.executable).parent / "temporal"),
        dev_server_log_level="error",
        data_converter=pydantic_data_converter,
    ) as environment:
        yield environment.client


@asynccontextmanager
async def server() -> AsyncIterator[Client]:
    """A Temporal server and an archive that live as long as the block."""
    async with database(), temporal() as client:
        yield client


@asynccontextmanager
async def offline() -> AsyncIterator[Client]:
    """A server and a worker with the offline model."""
    async with server() as client, worker.running(client, Settings(model="offline")):
        yield client


def key_for(api: MessagesApi) -> AbstractContextManager[None]:
    """Lets workers of this process use the scripted server, as they would the real one."""
    return environment(ANTHROPIC_API_KEY="local", ANTHROPIC_BASE_URL=api.url)


@asynccontextmanager
async def scripted(
    rule: Rule = default_rule, tools: str | None = None
) -> AsyncIterator[tuple[Client, MessagesApi]]:
    """A server, a local Messages API and a worker that asks it through the anthropic provider.

    `tools` is the module of the worker's tools.
    """
    async with server() as client, MessagesApi(rule) as api:
        with key_for(api):
            async with worker.running(client, Settings(model="scripted", tools=tools)):
                yield client, api
