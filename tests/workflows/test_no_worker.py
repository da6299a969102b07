"""With nobody on the task queue, every call says so in a few seconds."""

import asyncio
import time
import uuid
from collections.abc import Awaitable

import pytest
from temporalio.client import Client

from perdure.archive import Archive
from perdure.conversation import Conversation
from perdure.errors import NoWorker
from tests.support.scripted import Scripted, serving

PATIENCE = 8.0


async def refused_soon(call: Awaitable[object]) -> None:
    started = time.monotonic()
    with pytest.raises(NoWorker, match="no worker serves the task queue"):
        await asyncio.wait_for(call, 20)
    assert time.monotonic() - started < PATIENCE


async def test_a_queue_that_nobody_serves(client: Client, server_url: str) -> None:
    queue = f"nobody-{uuid.uuid4().hex[:8]}"
    conversation = await Conversation.open(client, f"on-{queue}", task_queue=queue)
    # A signal needs no worker; it is served when one comes.
    await conversation.send("are you there?", id="first")
    await asyncio.gather(
        refused_soon(conversation.status()),
        refused_soon(conversation.context()),
        refused_soon(conversation.ask("hello?", id="second")),
        refused_soon(conversation.import_messages([{"role": "user", "content": "hello"}])),
    )
    async with (
        await Archive.open(server_url) as archive,
        serving(client, Scripted(), archive, queue),
    ):
        reply = await asyncio.wait_for(conversation.ask("hello?", id="second"), 20)
        assert reply.text == "I heard: hello?"
        said = [m.text async for m in conversation.transcript() if m.role == "user"]
        assert said.count("are you there?") == said.count("hello?") == 1
        await conversation.close()
