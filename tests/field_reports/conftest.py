"""Conversations on the wire: real worker, archive and Anthropic client, a scripted API behind them.

Each test of this folder is named after a kind of broken conversation that people have reported.
"""

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest_asyncio
from temporalio.client import Client

from perdure.archive import Archive
from perdure.conversation import Conversation
from tests.support.messages_api import Body, MessagesApi, is_summary
from tests.support.scripted import Script
from tests.support.talk import Talk, until
from tests.support.wired import wired

QUEUE = "on-the-wire"


@dataclass(frozen=True)
class Wire:
    """One conversation and what the API was sent for it."""

    talk: Talk
    api: MessagesApi
    archive: Archive

    @property
    def replies(self) -> list[Body]:
        """The requests for replies."""
        return [r for r in self.api.requests if not is_summary(r)]

    @property
    def summaries(self) -> list[Body]:
        """The requests for summaries."""
        return [r for r in self.api.requests if is_summary(r)]

    async def record(self) -> list[str]:
        """The texts of all messages, those that have left the context too."""
        talk = self.talk
        conversation = await Conversation.get(
            talk.client, talk.id, task_queue=talk.queue, archive=self.archive
        )
        return [message.text async for message in conversation.transcript()]

    async def compacted(self, least: int = 1) -> None:
        """Wait until so many compactions have been taken in."""

        async def enough() -> bool:
            return bool((await self.talk.status())["totals"]["compactions"] >= least)

        await until(enough)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def serving(client: Client, server_url: str) -> AsyncIterator[tuple[MessagesApi, Archive]]:
    async with (
        wired(client, server_url, QUEUE, "tests.field_reports.bakery") as api,
        await Archive.open(server_url) as archive,
    ):
        yield api, archive


@pytest_asyncio.fixture(loop_scope="session")
async def wire(client: Client, serving: tuple[MessagesApi, Archive]) -> AsyncIterator[Wire]:
    """A fresh conversation, not started; at the end it is sound and so is every request."""
    api, archive = serving
    api.restart()
    talk = Talk(client, f"wire-{uuid.uuid4().hex[:8]}", QUEUE, Script())
    talk.facade = Conversation(client, talk.id, QUEUE, archive)
    yield Wire(talk, api, archive)
    await talk.end()
    api.check()
    await talk.check_sound()


def text_of(message: dict[str, Any]) -> str:
    """The texts of a message of a request."""
    return "\n".join(b["text"] for b in message["content"] if b["type"] == "text")


def without_marks(value: Any) -> Any:
    """A part of a request without cache marks."""
    if isinstance(value, dict):
        return {k: without_marks(v) for k, v in value.items() if k != "cache_control"}
    return [without_marks(v) for v in value] if isinstance(value, list) else value
