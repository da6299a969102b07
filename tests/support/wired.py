"""A worker whose models are the scripted API, behind the real provider."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio.client import Client

import worker
from bench.stage import key_for
from perdure.settings import Settings
from tests.support.messages_api import MessagesApi, Rule, default_rule


@asynccontextmanager
async def wired(
    client: Client,
    database_url: str,
    queue: str,
    tools: str | None = None,
    rule: Rule = default_rule,
) -> AsyncIterator[MessagesApi]:
    """The API of a worker that serves `queue` with the tools of a module."""
    settings = Settings(model="scripted", database_url=database_url, task_queue=queue, tools=tools)
    async with MessagesApi(rule) as api:
        with key_for(api):
            async with worker.running(client, settings):
                yield api
