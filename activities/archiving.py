"""Originals to the archive, and a closed conversation back from it."""

import json

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.material import fetch
from perdure.archive import Archive, Batch, ChainKey
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
        )
        try:
            if ref.parent is not None:
                until = ref.parent.until
                await self._archive.fork(
                    _key(ref.parent.chain),
                    key,
                    until_seq=until.seq - 1,
                    until_turn=until.turn - 1,
                    until_row=until.row - 1,
                )
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
        """What the closed conversation of this id left, with `ref.chain` as its continuation."""
        key = _key(ref.chain)
        closed = await self._archive.latest_chain(key.namespace, key.conversation, closed=True)
        if closed is not None:
            snapshot = await self._archive.snapshot(closed.key)
            await self._archive.fork(closed.key, key)
            return OpenResult(resumed=Resumed.model_validate_json(snapshot or ""))
        other = await self._archive.latest_chain(key.namespace, key.conversation)
        if other is not None and other.key != key:
            return OpenResult(
                note="an earlier conversation of this id ended without being closed; "
                f"its messages stay in the archive as chain {other.key.chain}"
            )
        return OpenResult()
