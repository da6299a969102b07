"""Token counts, made in other processes so that the worker's loop stays free."""

from typing import Any

from temporalio import activity

from activities.heartbeat import heartbeating
from activities.material import fetch
from perdure.contract import COUNT, CountRef, Counts
from perdure.model import Pool, count_each


class Counting:
    """The activity `count`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def of(self, uncounted: list[dict[str, Any]], system: str) -> Counts:
        """Counts by seq of what the material calls uncounted, and of the system prompt."""
        contents = [item["content"] for item in uncounted]
        *counts, of_system = await self._pool.run(
            count_each, [*contents, [{"type": "text", "text": system}]]
        )
        seqs = [item["seq"] for item in uncounted]
        return Counts(counts=dict(zip(seqs, counts, strict=True)), system_tokens=of_system)

    @activity.defn(name=COUNT)
    async def count(self, ref: CountRef) -> Counts:
        """Count every message from `ref.from_seq` on that has no count yet."""
        async with heartbeating():
            found = await fetch(ref)
            return await self.of(found["uncounted"], found["system"])
