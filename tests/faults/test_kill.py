"""A worker that is lost, stopped or replaced in the middle of a model call, as a real process."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from temporalio.client import Client

from bench.worker_process import WorkerProcess
from perdure import Conversation, ConversationConfig, MemoryPolicy
from perdure.contract import INTERRUPTED
from tests.support.answers import overloaded, text
from tests.support.messages_api import MessagesApi, is_summary

HEARTBEAT = 10.0
"""Seconds after which a call counts as lost; `workflows.turn` sets it."""
SLACK = 15.0
"""For a machine that is busy; bench.faults prints what it really takes."""
LONG = "It was a long story, and it had many parts, and every part had its own parts. " * 20


@dataclass(frozen=True)
class Stage:
    """A conversation of its own, a scripted model, and workers for both."""

    client: Client
    api: MessagesApi
    conversation: Conversation
    queue: str

    def worker(self, opening: str = "") -> WorkerProcess:
        variables = {
            "ANTHROPIC_API_KEY": "local",
            "ANTHROPIC_BASE_URL": self.api.url,
            "PERDURE_MODEL": "scripted",
            "PERDURE_TASK_QUEUE": self.queue,
        }
        return WorkerProcess(self.client, variables, opening)


@pytest.fixture
async def stage(client: Client) -> AsyncIterator[Stage]:
    queue = f"faults-{uuid.uuid4().hex[:8]}"
    policy = MemoryPolicy(message_budget=400, keep_recent_messages=2)
    config = ConversationConfig(system="You are brief.", policy=policy)
    async with MessagesApi() as api:
        conversation = await Conversation.open(client, queue, config, task_queue=queue)
        yield Stage(client, api, conversation, queue)
        await client.get_workflow_handle(queue).terminate()
        api.check()


async def test_a_killed_worker_is_replaced_within_its_heartbeat_timeout(stage: Stage) -> None:
    stage.api.script(text("Too late.", delay=asyncio.Event()), text("Here I am."))
    async with stage.worker() as first:
        asking = asyncio.create_task(stage.conversation.ask("Are you there?"))
        await stage.api.arrived(1)
        killed = time.monotonic()
        await first.kill()
        async with stage.worker():
            reply = await asking
            assert reply.text == "Here I am."
            assert time.monotonic() - killed < HEARTBEAT + SLACK
            assert (await stage.conversation.status())["messages"] == 2


async def test_a_stopped_worker_finishes_its_call(stage: Stage) -> None:
    finish = asyncio.Event()
    stage.api.script(text("Just in time.", delay=finish))
    async with stage.worker() as first:
        asking = asyncio.create_task(stage.conversation.ask("Are you there?"))
        await stage.api.arrived(1)
        first.stop()
        async with stage.worker():
            finish.set()
            assert (await asking).text == "Just in time."
        assert await first.ended() == 0
    assert len(stage.api.requests) == 1


async def test_interrupt_stops_a_streaming_call_and_keeps_its_text(stage: Stage) -> None:
    stage.api.script(text(LONG, hold_at=10, held=asyncio.Event()), text("Shorter, then."))
    async with stage.worker():
        asking = asyncio.create_task(stage.conversation.ask("Tell me a story."))
        await _streams(stage)
        began = time.monotonic()
        await stage.conversation.interrupt()
        reply = await asking
        assert time.monotonic() - began < 3
        assert reply.stop_reason == INTERRUPTED
        said, mark = reply.text.split("\n")
        assert said
        assert LONG.startswith(said)
        assert mark == "[interrupted]"
        assert (await stage.conversation.ask("Too long.")).text == "Shorter, then."
        assert reply.text in str(stage.api.requests[-1]["messages"])


async def _streams(stage: Stage) -> None:
    """Wait until the call in progress has shown the server that it streams."""
    handle = stage.client.get_workflow_handle(stage.conversation.id)
    while True:
        pending = (await handle.describe()).raw_description.pending_activities
        if any(activity.HasField("last_heartbeat_time") for activity in pending):
            return
        await asyncio.sleep(0.05)


async def test_another_version_takes_over_in_the_middle_of_a_call(stage: Stage) -> None:
    fail = asyncio.Event()
    stage.api.script(overloaded().but(delay=fail), text("From the other version."))
    async with stage.worker() as first:
        history = [
            {"role": role, "content": f"This is the {role}'s message {number}. {LONG[:200]}"}
            for number in range(10)
            for role in ("user", "assistant")
        ]
        await stage.conversation.import_messages(history)
        asking = asyncio.create_task(stage.conversation.ask("Are you there?"))
        while not contexts(stage.api):
            await stage.api.arrived(len(stage.api.requests) + 1)
        first.stop()
        async with stage.worker(opening="<background>\nWhat was said before."):
            fail.set()
            assert (await asking).text == "From the other version."
    before, after = contexts(stage.api)
    assert "A record of the earlier part" in before
    assert "What was said before." in after


def contexts(api: MessagesApi) -> list[str]:
    """What was sent for a reply."""
    return [str(r["messages"]) for r in api.requests if not is_summary(r)]
