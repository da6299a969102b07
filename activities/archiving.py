"""Originals to the archive, and a closed conversation back from it."""

import json
from collections.abc import Sequence
from datetime import datetime

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.forking import forked, share
from activities.heartbeat import heartbeating
from activities.material import fetch
from perdure.archive import Archive, Batch, Chain, ChainKey
from perdure.archive.claims import claim
from perdure.contract import (
    ARCHIVE,
    ARCHIVE_CONFLICT,
    CLAIM,
    OPEN,
    ArchiveRef,
    Claimed,
    ClaimRef,
    LedgerRow,
    OpenRef,
    OpenResult,
    Resumed,
)
from perdure.errors import ArchiveConflict
from perdure.memory.blocks import Block
from perdure.memory.event import Event
from perdure.memory.message import Message


def _key(chain: str) -> ChainKey:
    info = activity.info()
    return ChainKey(info.namespace, info.workflow_id or "", chain)


class Archiving:
    """The activities `archive` and `open`."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    @activity.defn(name=ARCHIVE)
    async def archive(self, ref: ArchiveRef) -> None:
        """Save what `ref` names; repeated, it changes nothing.

        Fails for good with the type `ArchiveConflict` where other content stands already.
        """
        found = await fetch(ref)
        key = _key(ref.chain)
        rows = [LedgerRow.model_validate(row) for row in found["ledger"]]
        batch = Batch(
            key,
            messages=[Message.model_validate(m) for m in found["messages"]],
            observations=[row.observation for row in rows],
            ledger={row.n: row for row in rows},
            replies={reply["turn"]: reply for reply in found["replies"]},
            events=[Event.model_validate(event) for event in found["events"]],
        )
        try:
            if ref.parent is not None:
                await share(self._archive, _key(ref.parent.chain), key, ref.parent.until)
            await self._archive.save(batch)
            if ref.closing:
                await self._archive.close_chain(key, json.dumps(found["resumable"]))
        except ArchiveConflict as error:
            raise ApplicationError(str(error), type=ARCHIVE_CONFLICT, non_retryable=True) from error

    @activity.defn(name=CLAIM)
    async def claim(self, ref: ClaimRef) -> Claimed:
        """Store the big blocks of what was accepted; repeated, it gives the same."""
        found = await fetch(ref)
        return Claimed(contents=[await self.store(content) for content in found["contents"]])

    async def store(self, content: list[Block]) -> list[Block]:
        """`content` with its big blocks stored for the conversation of this activity."""
        info = activity.info()
        return await claim(self._archive, info.namespace, info.workflow_id or "", content)

    @activity.defn(name=OPEN)
    async def open(self, ref: OpenRef) -> OpenResult:
        """What `ref.fork` or the closed conversation of this id left, for `ref.chain` to go on.

        Asked again by the same chain, after a retry or a reset, it goes on from the same one.
        """
        key = _key(ref.chain)
        async with heartbeating():
            if ref.fork is not None:
                return await forked(self._archive, key, ref.fork)
            return await self._resumed(key)

    async def _resumed(self, key: ChainKey) -> OpenResult:
        chains = await self._archive.chains(key.namespace, key.conversation)
        mine = next((c for c in chains if c.key == key), None)
        if mine is not None:
            before = mine.parent
        else:
            closed = [c for c in chains if c.closed_at is not None]
            before = max(closed, key=_closed_at).key if closed else None
        note = _unfinished(chains, before, key)
        if before is None:
            return OpenResult(note=note)
        snapshot = await self._archive.snapshot(before)
        await self._archive.fork(before, key)
        return OpenResult(resumed=Resumed.model_validate_json(snapshot or ""), note=note)


def _closed_at(chain: Chain) -> datetime:
    return chain.closed_at or chain.created_at


def _unfinished(chains: Sequence[Chain], before: ChainKey | None, key: ChainKey) -> str | None:
    """What to tell of a life that began after `before` and was never closed, if there is one."""
    known = [c.key for c in chains]
    later = chains[known.index(before) + 1 :] if before in known else chains
    lost = [c for c in later if c.closed_at is None and c.key != key]
    if not lost:
        return None
    return (
        "an earlier conversation of this id ended without being closed; "
        f"its messages stay in the archive as chain {lost[-1].key.chain}"
    )
