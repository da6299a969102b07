"""Messages to observations, entries to reflections."""

import time

from temporalio import activity

from activities.failure import as_failure
from activities.heartbeat import heartbeating
from activities.material import fetch
from perdure.archive import Archive
from perdure.archive.claims import whole
from perdure.contract import OBSERVE, REFLECT, PartRef, PartResult
from perdure.errors import ModelError
from perdure.memory.apply import identity
from perdure.memory.extract.importance import Importance, importance
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.policy import MemoryPolicy
from perdure.memory.stored import hashes
from perdure.memory.wire import sha256
from perdure.model.choose import Providers
from perdure.model.guarded import facts_alone, summarise
from perdure.model.pool import Pool
from perdure.model.provider import SummaryCall


class Compacting:
    """The activities `observe` and `reflect`; `model` is for conversations that name none.

    An emergency is met by perdure's own importance, which cannot fail.
    """

    def __init__(
        self,
        providers: Providers,
        pool: Pool,
        archive: Archive,
        model: str,
        judge: Importance = importance,
    ) -> None:
        self._providers = providers
        self._archive = archive
        self._model = model
        self._pool = pool
        self._importance = judge

    @activity.defn(name=OBSERVE)
    async def observe(self, ref: PartRef) -> PartResult:
        """One observation of the messages that `ref` names."""
        return await self._compact(ref)

    @activity.defn(name=REFLECT)
    async def reflect(self, ref: PartRef) -> PartResult:
        """One reflection of the entries that `ref` names."""
        return await self._compact(ref)

    async def _compact(self, ref: PartRef) -> PartResult:
        started = time.monotonic()
        found = await fetch(ref)
        sources = found["sources"]
        # Token counts may have come in since; they are not part of what is summarised.
        bare = [{k: v for k, v in s.items() if k != "tokens"} for s in sources]
        if sha256(bare) != ref.sha256:
            return PartResult()
        policy = MemoryPolicy.model_validate(found["policy"])
        if ref.instructions is not None:
            policy = policy.model_copy(update={"instructions": ref.instructions})
        model = "offline" if ref.extractive else found.get("model") or self._model
        part = ref.part
        call = SummaryCall.of(
            part,
            policy,
            await self._whole([Message.model_validate(s) for s in sources])
            if part.level == 1
            else [Observation.model_validate(s) for s in sources],
            model=model,
            previous=found["previous"],
            window=found["window"],
            importance=importance if ref.extractive else self._importance,
        )
        try:
            async with heartbeating():
                if ref.facts_only:
                    made = await self._pool.run(facts_alone, call)
                else:
                    made = await summarise(self._providers.of(model), self._pool, call)
        except ModelError as error:
            raise as_failure(error) from error
        by = made.summary
        return PartResult(
            compacted=made.compacted(
                identity(ref.sha256, part, policy, by.prompt_version, by.model)
            ),
            usage=made.usage,
            ms=round((time.monotonic() - started) * 1000),
            fault=made.fault,
        )

    async def _whole(self, messages: list[Message]) -> list[Message]:
        """The messages with their stored blocks put back, or by head and tail if too long."""
        contents = [m.content for m in messages]
        if not hashes(contents, full=True):
            return messages
        contents = await whole(self._archive, contents)
        return [
            m.model_copy(update={"content": content})
            for m, content in zip(messages, contents, strict=True)
        ]
