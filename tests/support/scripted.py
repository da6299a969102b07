"""The worker's activities under their own names, answering by a script for each conversation.

They fetch their material from the workflow like the real ones and check its hash, so what they
record is what a model would have been sent.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

from activities.archiving import Archiving
from activities.material import fetch
from activities.zones import zone
from perdure.archive import Archive
from perdure.contract import (
    CALL_TOOL,
    COUNT,
    OBSERVE,
    REFLECT,
    REPLY,
    REQUEST_REFUSED,
    SESSION,
    CallRef,
    CountRef,
    Counts,
    PartRef,
    PartResult,
    ReplyResult,
    SessionRef,
    StepRef,
    ToolCall,
    ToolResult,
    Usage,
)
from perdure.memory.apply import Compacted, identity
from perdure.memory.blocks import Block, to_text
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import Context
from perdure.memory.session import Told, told_in
from perdure.memory.wire import canonical_json, sha256
from tests.support.tools import FakeTool, declared
from worker import WORKFLOWS
from workflows.guard import GuardInterceptor

QUEUE = "scripted"

Request = dict[str, Any]
Said = str | list[Block] | ReplyResult | Exception
Summarised = str | Compacted | Exception


def lasting(text: str, type_: str = "ModelError") -> ApplicationError:
    """A failure that Temporal does not retry."""
    return ApplicationError(text, type=type_, non_retryable=True)


def passing(text: str, after: float = 0.02) -> ApplicationError:
    """A failure that Temporal retries, after so many seconds."""
    return ApplicationError(text, type="ModelError", next_retry_delay=timedelta(seconds=after))


def refused(text: str) -> ApplicationError:
    """What the provider says of a request that can never succeed."""
    return lasting(text, REQUEST_REFUSED)


def weigh(text: str) -> int:
    """About the tokens of a text; close enough for budgets."""
    return len(text.encode()) // 4 + 1


def notes(part: PartRef, sources: Sequence[dict[str, Any]]) -> Summarised:
    """The default summary: says what it covers."""
    return f"Notes on the messages {part.part.first_seq} to {part.part.last_seq}."


def open_gate() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate


@dataclass
class Script:
    """What the models of one conversation say, and what they were asked.

    `replies` are used up in their order, one for each attempt; then every reply repeats the
    end of what was said. `summarise` is asked at each attempt. A gate that is cleared holds the
    activities up; an `..._asked` event tells that one has begun. `tools` are what the
    configuration may name, `called` the inputs that they got.
    """

    replies: deque[Said] = field(default_factory=deque)
    summarise: Callable[[PartRef, Sequence[dict[str, Any]]], Summarised] = notes
    counting: deque[Exception] = field(default_factory=deque)
    tools: dict[str, FakeTool] = field(default_factory=dict)
    called: list[tuple[str, Any]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    parts: list[PartRef] = field(default_factory=list)
    reply_gate: asyncio.Event = field(default_factory=open_gate)
    summary_gate: asyncio.Event = field(default_factory=open_gate)
    reply_asked: asyncio.Event = field(default_factory=asyncio.Event)
    summary_asked: asyncio.Event = field(default_factory=asyncio.Event)


class Scripted:
    """Activities for one worker; `script` gives the script of a conversation."""

    def __init__(self) -> None:
        self._scripts: defaultdict[str, Script] = defaultdict(Script)

    def script(self, conversation_id: str) -> Script:
        return self._scripts[conversation_id]

    def _mine(self) -> Script:
        return self.script(activity.info().workflow_id or "")

    @activity.defn(name=REPLY)
    async def reply(self, ref: StepRef) -> ReplyResult:
        script = self._mine()
        found = await fetch(ref)
        context = Context.model_validate(found["context"])
        if context.sha256 != ref.sha256:
            return ReplyResult(status="stale")
        script.requests.append({"system": context.system, "messages": context.messages})
        script.reply_asked.set()
        await _through(script.reply_gate)
        said = script.replies.popleft() if script.replies else _echo(context)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, ReplyResult):
            return said
        content = [{"type": "text", "text": said}] if isinstance(said, str) else said
        calls = _declared(script, found["tools"], content)
        return ReplyResult(
            content=content,
            calls=calls,
            stop_reason="tool_use" if calls else "end_turn",
            tokens=weigh(canonical_json(content)),
            counts=_counts(found["uncounted"]),
            system_tokens=weigh(context.system),
            usage=Usage(input=context.tokens, output=10),
        )

    @activity.defn(name=CALL_TOOL)
    async def call_tool(self, ref: CallRef) -> ToolResult:
        script = self._mine()
        found = await fetch(ref)
        if found is None:
            raise lasting("the turn of this call is over")
        script.called.append((found["name"], found["input"]))
        gave = await script.tools[found["name"]].run(found["input"])
        content: list[Block] = [{"type": "text", "text": gave}]
        return ToolResult(content=content, tokens=weigh(canonical_json(content)))

    @activity.defn(name=OBSERVE)
    async def observe(self, ref: PartRef) -> PartResult:
        return await self._compact(ref)

    @activity.defn(name=REFLECT)
    async def reflect(self, ref: PartRef) -> PartResult:
        return await self._compact(ref)

    @activity.defn(name=COUNT)
    async def count(self, ref: CountRef) -> Counts:
        script = self._mine()
        if script.counting:
            raise script.counting.popleft()
        found = await fetch(ref)
        return Counts(counts=_counts(found["uncounted"]), system_tokens=weigh(found["system"]))

    @activity.defn(name=SESSION)
    async def session(self, ref: SessionRef) -> Told:
        found = await fetch(ref)
        return told_in(found["texts"], found["made"])

    async def _compact(self, ref: PartRef) -> PartResult:
        script = self._mine()
        script.parts.append(ref)
        found = await fetch(ref)
        bare = [{k: v for k, v in s.items() if k != "tokens"} for s in found["sources"]]
        if sha256(bare) != ref.sha256:
            return PartResult()
        script.summary_asked.set()
        await _through(script.summary_gate)
        made = script.summarise(ref, found["sources"])
        if isinstance(made, Exception):
            raise made
        if isinstance(made, str):
            policy = MemoryPolicy.model_validate(found["policy"])
            made = Compacted(
                content=made,
                tokens=weigh(made),
                method="model",
                model="scripted",
                prompt_version="scripted-1",
                identity=identity(ref.sha256, ref.part, policy, "scripted-1", "scripted"),
            )
        return PartResult(compacted=made, usage=Usage(input=100, output=10), ms=1)


def serving(
    client: Client, scripted: Scripted, archive: Archive, queue: str, **options: Any
) -> Worker:
    """A worker with models that answer by script, and a real archive."""
    archiving = Archiving(archive)
    return Worker(
        client,
        task_queue=queue,
        workflows=WORKFLOWS,
        activities=[
            *(scripted.reply, scripted.observe, scripted.reflect, scripted.count),
            scripted.call_tool,
            *(archiving.archive, archiving.open, archiving.claim),
            *(zone, scripted.session),
        ],
        interceptors=[GuardInterceptor()],
        **options,
    )


async def _through(gate: asyncio.Event) -> None:
    while not gate.is_set():
        activity.heartbeat()
        try:
            await asyncio.wait_for(gate.wait(), 1)
        except TimeoutError:
            continue


def _echo(context: Context) -> str:
    content = context.messages[-1]["content"]
    return f"I heard: {to_text(content)[-80:].strip()}" if isinstance(content, list) else "What?"


def _declared(script: Script, names: Sequence[str], content: list[Block]) -> list[ToolCall]:
    """What the worker's tools say of the calls in a reply."""
    return [
        declared(block, script.tools.get(block["name"]) if block["name"] in names else None)
        for block in content
        if block["type"] == "tool_use"
    ]


def _counts(uncounted: Sequence[dict[str, Any]]) -> dict[int, int]:
    return {item["seq"]: weigh(canonical_json(item["content"])) for item in uncounted}
