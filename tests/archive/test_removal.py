import asyncio
import hashlib
from dataclasses import replace

import pytest

from perdure.archive import Archive, Batch, Blob, ChainKey, Removed
from perdure.errors import ArchiveShared
from tests.archive.samples import event, messages, observation, row


async def put(archive: Archive, key: ChainKey, data: bytes) -> Blob:
    return await archive.put_blob(key.namespace, key.conversation, data, "image/png")


async def test_a_blob_comes_back_and_is_stored_once(archive: Archive, key: ChainKey) -> None:
    data = key.conversation.encode() + bytes(range(256)) * 12_000
    blob = await put(archive, key, data)
    assert blob == Blob(hashlib.sha256(data).hexdigest(), "image/png", data)
    again = await archive.put_blob("default", "elsewhere", data, "text/plain")
    assert again == blob
    assert await archive.get_blob(blob.sha256) == blob
    assert await archive.get_blob("0" * 64) is None
    await archive.delete("default", "elsewhere")


async def test_delete_removes_everything_and_says_how_much(archive: Archive, key: ChainKey) -> None:
    entry = observation(0, 3)
    neighbour = replace(key, conversation=f"{key.conversation}-neighbour")
    for each in (key, neighbour):
        await archive.save(
            Batch(
                each,
                messages=messages(0, 5),
                observations=[entry],
                ledger={0: row(entry, turn=1)},
                replies={0: {}, 1: {}},
                events=[event(0), event(1, turn=1)],
            )
        )
    await archive.fork(key, replace(key, chain="run-2"))
    shared, own = b"shared" + key.conversation.encode(), b"own" + key.conversation.encode()
    kept = await put(archive, neighbour, shared)
    await put(archive, key, shared)
    gone = await put(archive, key, own)

    removed = await archive.delete(key.namespace, key.conversation)
    assert removed == Removed(
        chains=2, messages=6, observations=1, ledger_rows=1, replies=2, events=2, blobs=1
    )
    assert await archive.chains(key.namespace, key.conversation) == []
    assert await archive.messages(key) == []
    assert await archive.get_blob(gone.sha256) is None
    assert await archive.get_blob(kept.sha256) == kept
    assert await archive.messages(neighbour) == messages(0, 5)
    assert await archive.delete(key.namespace, key.conversation) == Removed()


async def test_a_past_that_a_fork_elsewhere_needs_is_not_deleted(
    archive: Archive, key: ChainKey
) -> None:
    fork = replace(key, conversation=f"{key.conversation}-fork")
    await archive.save(Batch(key, messages=messages(0, 5)))
    blob = await put(archive, key, key.conversation.encode())
    await archive.fork(key, fork, until_seq=3)
    with pytest.raises(ArchiveShared, match=fork.conversation):
        await archive.delete(key.namespace, key.conversation)
    assert await archive.messages(fork) == messages(0, 3)

    await archive.delete(fork.namespace, fork.conversation)
    assert await archive.get_blob(blob.sha256) == blob
    assert (await archive.delete(key.namespace, key.conversation)).messages == 6
    assert await archive.get_blob(blob.sha256) is None


async def test_a_fork_that_shares_nothing_keeps_only_its_blobs(
    archive: Archive, key: ChainKey
) -> None:
    fork = replace(key, conversation=f"{key.conversation}-fork")
    blob = await put(archive, key, key.conversation.encode())
    await archive.fork(key, fork)
    assert (await archive.delete(key.namespace, key.conversation)).blobs == 0
    assert await archive.get_blob(blob.sha256) == blob
    [chain] = await archive.chains(fork.namespace, fork.conversation)
    assert chain.parent is None


async def test_bytes_stored_while_they_are_deleted_elsewhere_survive(
    archive: Archive, key: ChainKey
) -> None:
    data = key.conversation.encode()
    for n in range(10):
        old = replace(key, conversation=f"{key.conversation}-{n}")
        await put(archive, old, data)
        _, blob = await asyncio.gather(
            archive.delete(old.namespace, old.conversation), put(archive, key, data)
        )
        assert await archive.get_blob(blob.sha256) == blob
        await archive.delete(key.namespace, key.conversation)
