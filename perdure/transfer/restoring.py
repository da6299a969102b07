"""From a file into the archive, and from there into a workflow."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from temporalio.client import Client

from perdure.archive import Archive, Batch, ChainKey
from perdure.contract import TASK_QUEUE, LedgerRow
from perdure.conversation import Conversation
from perdure.errors import (
    ArchiveError,
    ConversationExists,
    ConversationNotFound,
    PerdureError,
)
from perdure.memory.event import Event
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.transfer.checking import Checked, blob_of, checked
from perdure.transfer.lines import Line, read

BATCH_LINES = 200


class Restored(BaseModel):
    """What now stands under an id. `identical`: the context has the hash of the exported one."""

    conversation: str
    messages: int
    observations: int
    ledger_rows: int
    replies: int
    events: int
    blobs: int
    turns: int
    context_sha256: str
    identical: bool


async def restore(
    client: Client,
    archive: Archive,
    path: Path,
    *,
    id: str | None = None,  # noqa: A002
    task_queue: str = TASK_QUEUE,
) -> Restored:
    """Make the conversation of an export again, by default under its own id, and start it.

    The file is read through before anything is written. Raises Refused for one that is not
    whole, ConversationExists when the id is taken; then, and when the archive or Temporal fails
    on the way, nothing is left of it.
    """
    found = await asyncio.to_thread(checked, path)
    name = id or found.header.conversation
    key = ChainKey(client.namespace, name, f"restored-{found.sha256[:16]}")
    await _check_free(client, archive, key)
    try:
        await _write(archive, key, path)
        await archive.close_chain(key, found.kept.resumable.model_dump_json())
        conversation = await Conversation.open(client, name, task_queue=task_queue, archive=archive)
    except BaseException:
        with suppress(ArchiveError):
            await archive.delete(key.namespace, key.conversation)
        raise
    return await _restored(conversation, found)


async def _check_free(client: Client, archive: Archive, key: ChainKey) -> None:
    chains = await archive.chains(key.namespace, key.conversation)
    taken = any(chain.key != key for chain in chains)
    with suppress(ConversationNotFound):
        await Conversation.get(client, key.conversation)
        taken = True
    if taken:
        raise ConversationExists(
            f"there is a conversation {key.conversation!r} already; choose another id, or delete "
            "it first"
        )


def _batches(path: Path) -> Iterator[list[Line]]:
    batch: list[Line] = []
    for line in read(path):
        if batch and (len(batch) == BATCH_LINES or batch[0].kind != line.kind):
            yield batch
            batch = []
        batch.append(line)
    yield batch


async def _write(archive: Archive, key: ChainKey, path: Path) -> None:
    for lines in _batches(path):
        kind = lines[0].kind
        if kind == "blob":
            for line in lines:
                _, media_type, data = blob_of(line)
                await archive.put_blob(key.namespace, key.conversation, data, media_type)
        else:
            await archive.save(_batch(key, kind, [line.data for line in lines]))


def _batch(key: ChainKey, kind: str, items: list[dict[str, Any]]) -> Batch:
    if kind == "message":
        return Batch(key, messages=[Message.model_validate(item) for item in items])
    if kind == "observation":
        return Batch(key, observations=[Observation.model_validate(item) for item in items])
    if kind == "row":
        rows = [LedgerRow.model_validate(item) for item in items]
        return Batch(key, ledger={row.n: row for row in rows})
    if kind == "reply":
        return Batch(key, replies={item["turn"]: item for item in items})
    if kind == "event":
        return Batch(key, events=[Event.model_validate(item) for item in items])
    return Batch(key)


async def _restored(conversation: Conversation, found: Checked) -> Restored:
    if not await conversation.ready():
        raise PerdureError(
            f"{conversation.id} is restored, but its workflow waits for its archive; "
            "check that its worker uses the same database"
        )
    status = await conversation.status()
    digest = (await conversation.context())["sha256"]
    counts = found.end.counts
    return Restored(
        conversation=conversation.id,
        messages=counts.get("message", 0),
        observations=counts.get("observation", 0),
        ledger_rows=counts.get("row", 0),
        replies=counts.get("reply", 0),
        events=counts.get("event", 0),
        blobs=counts.get("blob", 0),
        turns=status["turn"],
        context_sha256=digest,
        identical=digest == found.kept.context_sha256,
    )
