"""Token counts, made in other processes so that the worker's loop stays free."""

from collections.abc import Mapping, Sequence
from typing import Any

from temporalio import activity

from activities.heartbeat import heartbeating
from activities.material import fetch
from perdure.archive import Archive
from perdure.archive.claims import whole
from perdure.contract import COUNT, CountRef, Counts
from perdure.memory.wire import canonical_json
from perdure.model.pool import Pool
from perdure.model.tokens import count_each
from perdure.tools.registry import ALL, Offered, as_sent

# The median of what real requests with tools were booked, beside their own text and schemas.
TOOLS_OVERHEAD = 522


class Counting:
    """The activity `count`."""

    def __init__(self, pool: Pool, tools: Mapping[str, Offered], archive: Archive) -> None:
        self._archive = archive
        self._pool = pool
        self._tools = tools

    async def of(
        self, uncounted: list[dict[str, Any]], system: str, tools: Sequence[str]
    ) -> Counts:
        """Counts by seq of what the material calls uncounted, and of what stands before it all.

        That is the system prompt and the tools; a name that this worker does not know weighs
        nothing, since no request is made with it. Stored blocks are counted as they are sent:
        whole, or by head and tail if too long.
        """
        sent = as_sent({name: t for name, t in self._tools.items() if {name, ALL} & {*tools}})
        before = [system, *map(canonical_json, sent)]
        contents = await whole(self._archive, [item["content"] for item in uncounted])
        *counts, of_system = await self._pool.run(
            count_each, [*contents, [{"type": "text", "text": text} for text in before]]
        )
        seqs = [item["seq"] for item in uncounted]
        return Counts(
            counts=dict(zip(seqs, counts, strict=True)),
            system_tokens=of_system + (TOOLS_OVERHEAD if sent else 0),
        )

    @activity.defn(name=COUNT)
    async def count(self, ref: CountRef) -> Counts:
        """Count every message from `ref.from_seq` on that has no count yet."""
        async with heartbeating():
            found = await fetch(ref)
            return await self.of(found["uncounted"], found["system"], found.get("tools", []))
