"""The model's next step in a turn."""

import asyncio

from temporalio import activity

from activities.counting import Counting
from activities.failure import as_failure
from activities.material import fetch
from perdure.contract import INTERRUPTED, REPLY, ReplyResult, StepRef, Usage
from perdure.errors import ModelError
from perdure.memory.message import MESSAGE_OVERHEAD
from perdure.memory.project import Context
from perdure.model import ModelReply, Pool, Providers, ReplyCall, count_blocks


class Replying:
    """The activity `reply`; `model` is for conversations that name none."""

    def __init__(self, providers: Providers, pool: Pool, model: str) -> None:
        self._providers = providers
        self._model = model
        self._pool = pool
        self._counting = Counting(pool)

    @activity.defn(name=REPLY)
    async def reply(self, ref: StepRef) -> ReplyResult:
        """Count what is new, check the context against `ref`, and ask the model once.

        Heartbeats with every piece of the reply, so that a cancelled or lost call is noticed.
        """
        found = await fetch(ref)
        if found is None:
            return ReplyResult(status="stale")
        context = Context.model_validate(found["context"])
        if context.sha256 != ref.sha256:
            return ReplyResult(status="stale")
        counted = await self._counting.of(
            found["uncounted"], context.system if found["count_system"] else ""
        )
        system_tokens = counted.system_tokens if found["count_system"] else None
        estimated = sum(item["weight"] - MESSAGE_OVERHEAD for item in found["uncounted"])
        tokens = context.tokens - estimated + sum(counted.counts.values())
        if tokens > found["input_limit"]:
            return ReplyResult(
                status="over_window", counts=counted.counts, system_tokens=system_tokens
            )
        call = ReplyCall(
            model=found.get("model") or self._model,
            context=context,
            max_tokens=found["max_tokens"],
        )
        so_far: list[str] = []

        def heard(piece: str) -> None:
            so_far.append(piece)
            activity.heartbeat()

        try:
            said = await self._providers.of(call.model).reply(call, heard)
        except ModelError as error:
            raise as_failure(error) from error
        except asyncio.CancelledError:
            details = activity.cancellation_details()
            if details is None or not details.cancel_requested:
                raise
            said = _interrupted("".join(so_far), call.model)
        return ReplyResult(
            content=said.content,
            stop_reason=said.stop_reason,
            tokens=await self._pool.run(count_blocks, said.content),
            counts=counted.counts,
            system_tokens=system_tokens,
            usage=said.usage,
            model=said.model,
        )


def _interrupted(so_far: str, model: str) -> ModelReply:
    """What was said before the user stopped it, marked as unfinished for the model to see."""
    content = [{"type": "text", "text": f"{so_far.rstrip()}\n[interrupted]"}] if so_far else []
    return ModelReply(content=content, stop_reason=INTERRUPTED, usage=Usage(), model=model)
