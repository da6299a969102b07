"""Real parts for a benchmark: a Temporal server of its own and a worker beside it."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

import worker
from perdure.settings import Settings


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
