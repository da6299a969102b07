"""A conversation under test: the facade, the raw handle, and looks at what Temporal recorded."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import RawValue

import worker
from perdure.contract import WORKFLOW
from perdure.conversation import Conversation
from perdure.memory.blocks import Block
from perdure.replay import ReplayReport, fetch_chain
from perdure.reply import Reply
from tests.support.requests import violations
from tests.support.scripted import Script

# Longer than the 10 s after which Temporal hands out a lost workflow task again.
SECONDS = 30.0
_PAUSE = 0.03
# The server's ways to close a run, or to show it a new signal, while a task is under way.
_HARMLESS = (
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
)


async def soon(call: Awaitable[Any], seconds: float = SECONDS) -> Any:
    """`await call`, which a wedged conversation would never answer."""
    return await asyncio.wait_for(call, seconds)


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = SECONDS) -> None:
    """Look again and again until it holds; fails after `seconds`."""
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(_PAUSE)


def raw(data: bytes, encoding: str = "json/plain") -> RawValue:
    """A payload as a foreign client may send it."""
    return RawValue(Payload(metadata={"encoding": encoding.encode()}, data=data))


class Talk:
    """Speaks to one conversation in well-formed and in ill-formed ways, never waiting for ever."""

    def __init__(self, client: Client, id: str, queue: str, script: Script) -> None:  # noqa: A002
        self.client = client
        self.id = id
        self.queue = queue
        self.script = script
        self.facade = Conversation(client, id, queue)
        self.handle: WorkflowHandle[Any, Any] = client.get_workflow_handle(id)

    async def start(self, *args: Any) -> None:
        """Start the workflow with any arguments."""
        await self.client.start_workflow(WORKFLOW, args=args, id=self.id, task_queue=self.queue)

    async def ask(self, content: str | list[Block], **more: Any) -> Reply:
        reply: Reply = await soon(self.facade.ask(content, **more))
        return reply

    async def say(self, text: str) -> None:
        """A signal, as short as the stock CLI sends it."""
        await self.handle.signal("user_message", text)

    async def signal(self, name: str, *args: Any) -> None:
        await self.handle.signal(name, args=args)

    async def update(self, name: str, *args: Any, type_: type | None = None) -> Any:
        return await soon(self.handle.execute_update(name, args=args, result_type=type_))

    async def query(self, name: str, *args: Any) -> Any:
        return await soon(self.handle.query(name, args=args))

    async def status(self) -> dict[str, Any]:
        status: dict[str, Any] = await self.query("status")
        return status

    async def errors(self) -> list[str]:
        return [note["text"] for note in (await self.status())["errors"]]

    async def turns(self, number: int, seconds: float = SECONDS) -> None:
        """Wait until that many turns have ended and nothing is queued."""

        async def reached() -> bool:
            status = await self.status()
            return status["turn"] >= number and not status["queue"] and status["running"] is None

        await until(reached, seconds)

    async def noted(self, words: str) -> None:
        """Wait until `status` tells of `words`."""

        async def told() -> bool:
            return any(words in text for text in await self.errors())

        await until(told)

    async def queued(self, length: int) -> None:
        """Wait until so many messages are queued."""

        async def grown() -> bool:
            return bool((await self.status())["queue"] >= length)

        await until(grown)

    async def close(self) -> dict[str, Any]:
        result: dict[str, Any] = await soon(self.facade.close())
        return result

    # What came of it

    async def user_texts(self) -> list[str]:
        """Everything that the user said and that is still verbatim, in order."""
        return [m["text"] for m in await self.query("transcript") if m["role"] == "user"]

    async def check_context(self) -> dict[str, Any]:
        """The context, which must be a request that the API takes."""
        context: dict[str, Any] = await self.query("context")
        assert (
            violations({"system": context["system"] or "s", "messages": context["messages"]}) == []
        )
        return context

    async def check_tiling(self) -> dict[str, Any]:
        """The memory, which must cover every message exactly once."""
        memory: dict[str, Any] = await self.query("memory")
        expected = 0
        for entry in memory["observations"]:
            assert entry["first_seq"] == expected, memory["observations"]
            expected = entry["last_seq"] + 1
        assert memory["messages"]["first_seq"] == expected
        assert expected + memory["messages"]["count"] == memory["next_seq"]
        return memory

    async def task_failures(self) -> list[str]:
        """Every workflow task that failed for a fault in the workflow, in every run."""
        histories, _ = await fetch_chain(self.client, self.id)
        failed = [
            event.workflow_task_failed_event_attributes
            for history in histories
            for event in history.events
            if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
        ]
        return [task.failure.message for task in failed if task.cause not in _HARMLESS]

    async def replay(self) -> ReplayReport:
        return await worker.replay(self.client, self.id)

    async def check_sound(self) -> None:
        """No workflow task has failed, and all runs replay to the same words."""
        failures = await self.task_failures()
        assert not failures, failures
        report = await self.replay()
        assert not report.differences, report.differences

    async def end(self) -> None:
        """Leave nothing running behind."""
        self.script.reply_gate.set()
        self.script.summary_gate.set()
        if (await self.handle.describe()).status == WorkflowExecutionStatus.RUNNING:
            await self.handle.terminate("the test is over")


def texts(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The texts of all text blocks of a request's messages, in order."""
    return [b["text"] for m in messages for b in m["content"] if b["type"] == "text"]
