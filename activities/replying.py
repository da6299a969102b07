"""The model's next step in a turn."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.counting import Counting
from activities.failure import as_failure
from activities.heartbeat import heartbeating
from activities.material import fetch
from activities.recalling import Background, background
from activities.streaming import Streaming
from perdure.archive import Archive
from perdure.archive.claims import claim, whole
from perdure.contract import INLINE_BYTES, INTERRUPTED, REPLY, ReplyResult, StepRef, Usage
from perdure.entrance import size_of
from perdure.errors import ArchiveError, ModelError
from perdure.memory.blocks import Block, upper_estimate
from perdure.memory.message import MESSAGE_OVERHEAD
from perdure.memory.project import Context
from perdure.model.choose import Providers
from perdure.model.offline import MODEL as OFFLINE
from perdure.model.pool import Pool
from perdure.model.provider import ModelReply, ReplyCall, Stopped
from perdure.model.tokens import count_blocks
from perdure.model.window import too_long
from perdure.tools.registry import Offered, WrongTools, as_sent, calls_in, check_approvals, chosen

# Share of the window from which on a request is counted exactly, where that is wanted.
NEAR = 0.8


class _TooLong(Exception):
    """The provider counts `booked` tokens, more than the window holds."""

    def __init__(self, booked: int) -> None:
        self.booked = booked


@dataclass(frozen=True, slots=True)
class _Counted:
    """What was counted for the first time, and the tokens of the whole request by that."""

    counts: dict[int, int]
    system_tokens: int | None
    tokens: int

    def result(self, status: Literal["ok", "over_window"], **more: Any) -> ReplyResult:
        return ReplyResult(
            status=status, counts=self.counts, system_tokens=self.system_tokens, **more
        )


class Replying:
    """The activity `reply`; `model` is for conversations that name none, `tools` the worker's."""

    def __init__(
        self,
        providers: Providers,
        pool: Pool,
        archive: Archive,
        model: str,
        tools: Mapping[str, Offered],
    ) -> None:
        self._tools = tools
        self._providers = providers
        self._archive = archive
        self._model = model
        self._pool = pool
        self._counting = Counting(pool, tools, archive)
        self._streaming = Streaming(archive)

    @activity.defn(name=REPLY)
    async def reply(self, ref: StepRef) -> ReplyResult:
        """Count what is new, check the context against `ref`, and ask the model once.

        Fails for good, with the names of its tools, where the conversation names one that this
        worker has not. Heartbeats also while the model is silent, so that a cancelled or lost
        call is noticed.
        """
        found = await fetch(ref)
        if found is None:
            return ReplyResult(status="stale")
        context = Context.model_validate(found["context"])
        if context.sha256 != ref.sha256:
            return ReplyResult(status="stale")
        tools = self._chosen(found["tools"], found["approvals"])
        limit, counted = found["input_limit"], None
        # An estimate is never too low, except that it knows nothing of the tools: away from the
        # limit the count of what is new does not keep the model waiting.
        if found["count_system"] or context.tokens > NEAR * limit:
            counted = await self._counted(found, context, tools)
            if counted.tokens > limit:
                return counted.result("over_window")
        tokens = counted.tokens if counted else context.tokens
        model = found.get("model") or self._model
        recalled = Background()
        # The offline assistant quotes its context and nothing else.
        if (wanted := found.get("recall")) and model != OFFLINE:
            recalled = await background(self._archive, wanted, context, limit - tokens)
        tokens += recalled.tokens
        call = ReplyCall(
            model=model,
            context=await self._whole(context),
            max_tokens=found["max_tokens"],
            tools=as_sent(tools),
            background=recalled.text,
        )
        try:
            if found["exact_counts"] and tokens > NEAR * limit:
                await self._check(call, found["window"] - found["max_tokens"])
            said = await self._said(call, ref, found)
        except _TooLong as error:
            counted = counted or await self._counted(found, context, tools)
            usage = Usage(input=error.booked)
            return counted.result("over_window", usage=usage, recalled=recalled.tokens)
        content = await self._stored(said.content)
        counted = counted or await self._counted(found, context, tools)
        return counted.result(
            "ok",
            content=content,
            calls=calls_in(said.content, tools),
            stop_reason=said.stop_reason,
            tokens=await self._pool.run(count_blocks, content),
            usage=said.usage,
            recalled=recalled.tokens,
        )

    async def _counted(
        self, found: Mapping[str, Any], context: Context, tools: Mapping[str, Offered]
    ) -> "_Counted":
        first = found["count_system"]
        counted = await self._counting.of(
            found["uncounted"], context.system if first else "", list(tools) if first else []
        )
        system_tokens = counted.system_tokens if first else None
        estimated = sum(item["weight"] - MESSAGE_OVERHEAD for item in found["uncounted"])
        if first:
            estimated += upper_estimate([{"type": "text", "text": context.system}])
        tokens = context.tokens - estimated + sum(counted.counts.values()) + (system_tokens or 0)
        return _Counted(counted.counts, system_tokens, tokens)

    async def _check(self, call: ReplyCall, limit: int) -> None:
        """Raises _TooLong when the provider counts more than `limit` tokens, which are its own."""
        booked = await self._providers.of(call.model).count(call)
        if booked is not None and booked > limit:
            raise _TooLong(booked)

    async def _said(self, call: ReplyCall, ref: StepRef, found: Mapping[str, Any]) -> ModelReply:
        """What the model says, also to whoever watches; of a cancelled call what it has said."""
        so_far: list[str] = []
        try:
            async with heartbeating(), self._streaming.of(ref, found["message_id"]) as watched:

                def on_text(text: str) -> None:
                    so_far.append(text)
                    watched(text)

                return await self._providers.of(call.model).reply(call, on_text)
        except ModelError as error:
            if (seen := too_long(error)) is not None:
                # As if the model's window were the configured one, if that is larger.
                raise _TooLong(seen[0] * found["window"] // min(found["window"], seen[1])) from None
            raise as_failure(error) from error
        except asyncio.CancelledError as stopped:
            details = activity.cancellation_details()
            if details is None or not details.cancel_requested:
                raise
            usage = stopped.usage if isinstance(stopped, Stopped) else Usage()
            return _interrupted("".join(so_far), call.model, usage)

    def _chosen(self, names: list[str], approvals: Mapping[str, str]) -> dict[str, Offered]:
        try:
            if names:
                check_approvals(self._tools, approvals)
            return chosen(self._tools, names)
        except WrongTools as error:
            raise ApplicationError(str(error), type="WrongTools", non_retryable=True) from None

    async def _whole(self, context: Context) -> Context:
        """The context with stored blocks put back: whole, or by head and tail if too long."""
        said = [cast("list[Block]", m["content"]) for m in context.messages]
        contents = await whole(self._archive, said)
        messages: list[dict[str, object]] = [
            {**m, "content": content} for m, content in zip(context.messages, contents, strict=True)
        ]
        return context.model_copy(update={"messages": messages})

    async def _stored(self, content: list[Block]) -> list[Block]:
        """The reply with big blocks stored; with the archive away, if it fits, as it is."""
        info = activity.info()
        try:
            return await claim(self._archive, info.namespace, info.workflow_id or "", content)
        except ArchiveError:
            if size_of(content) > INLINE_BYTES:
                raise
            return content


def _interrupted(so_far: str, model: str, usage: Usage) -> ModelReply:
    """What was said before the user stopped it, marked as unfinished for the model to see."""
    content = [{"type": "text", "text": f"{so_far.rstrip()}\n[interrupted]"}] if so_far else []
    return ModelReply(content=content, stop_reason=INTERRUPTED, usage=usage, model=model)
