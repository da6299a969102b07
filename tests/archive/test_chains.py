import asyncio
import itertools
from dataclasses import replace

import pytest

from perdure.archive import Archive, Batch, ChainKey
from perdure.archive.lineage import END, Segment, Span, segments
from perdure.contract import Marks
from perdure.errors import ArchiveConflict, ArchiveError
from tests.archive.samples import event, message, messages, observation, row


def test_segments_of_a_line_tile_everything_once() -> None:
    line = [(3, 20, 2, 1, 7), (2, 50, -1, 4, 5), (1, None, None, None, None)]
    assert segments(line) == [
        Segment(3, Span(21, END), Span(3, END), Span(2, END), Span(8, END)),
        Segment(2, Span(51, 20), Span(0, 2), Span(5, 1), Span(6, 7)),
        Segment(1, Span(0, 20), Span(0, -1), Span(0, 1), Span(0, 5)),
    ]


async def parent_of_ten(archive: Archive, key: ChainKey) -> None:
    early, late = observation(0, 3), observation(4, 7)
    await archive.save(
        Batch(
            key,
            messages=messages(0, 9),
            observations=[early, late],
            ledger={0: row(early, turn=2), 1: row(late, turn=4)},
            replies={turn: {"turn": turn} for turn in range(5)},
        )
    )


async def test_a_fork_reads_its_past_from_its_parent(archive: Archive, key: ChainKey) -> None:
    child = replace(key, conversation=f"{key.conversation}-fork")
    await parent_of_ten(archive, key)
    chain = await archive.fork(key, child, until_seq=5, until_turn=2, until_row=0)
    assert (chain.key, chain.parent) == (child, key)
    assert chain.parent_until_seq == 5

    own = observation(4, 7, "The fork's own.")
    other_way = [message(6, "another way"), message(7), message(8)]
    await archive.save(
        Batch(
            child,
            messages=other_way,
            observations=[own],
            ledger={1: row(own, turn=3)},
            replies={3: {"turn": 3, "own": True}},
        )
    )
    assert await archive.messages(child) == messages(0, 5) + other_way
    assert await archive.messages(child, 4, limit=3) == [*messages(4, 5), other_way[0]]
    assert await archive.messages(key) == messages(0, 9)
    assert await archive.observations(child) == [observation(0, 3), own]
    assert await archive.observation(child, "L1.4-7") == own
    assert await archive.observation(key, "L1.4-7") == observation(4, 7)
    assert [r.turn for _, r in await archive.ledger(child)] == [2, 3]
    assert [r.turn for _, r in await archive.ledger(child, limit=1)] == [3]
    replies = [await archive.reply(child, turn) for turn in range(5)]
    assert replies == [*({"turn": n} for n in range(3)), {"turn": 3, "own": True}, None]


async def test_what_a_parent_compacted_after_the_fork_is_not_shared(
    archive: Archive, key: ChainKey
) -> None:
    child = replace(key, chain="run-2")
    await parent_of_ten(archive, key)
    await archive.fork(key, child, until_seq=9, until_row=0)
    assert [o.id for o in await archive.observations(child)] == ["L1.0-3"]
    assert await archive.observation(child, "L1.4-7") is None


async def test_a_fork_may_send_its_shared_past_again(archive: Archive, key: ChainKey) -> None:
    child = replace(key, chain="run-2")
    await parent_of_ten(archive, key)
    await archive.fork(key, child, until_seq=5, until_turn=2, until_row=0)
    await archive.save(
        Batch(
            child,
            messages=messages(3, 7),
            observations=[observation(0, 3)],
            replies={2: {"turn": 2}},
        )
    )
    assert await archive.messages(child) == messages(0, 7)
    removed = await archive.delete(key.namespace, key.conversation)
    assert (removed.messages, removed.observations, removed.replies) == (12, 2, 5)


async def test_a_fork_cannot_change_its_shared_past(archive: Archive, key: ChainKey) -> None:
    child = replace(key, chain="run-2")
    await parent_of_ten(archive, key)
    await archive.fork(key, child, until_seq=5)
    with pytest.raises(ArchiveConflict, match="message 4") as caught:
        await archive.save(Batch(child, messages=[message(4, "rewritten"), message(6)]))
    assert caught.value.key == 4


async def test_a_reset_goes_on_in_a_chain_of_its_own(archive: Archive, key: ChainKey) -> None:
    await parent_of_ten(archive, key)
    with pytest.raises(ArchiveConflict) as caught:
        await archive.save(Batch(key, messages=[message(6), message(7, "after the reset")]))
    assert isinstance(caught.value.key, int)
    reset = replace(key, chain="reset-1")
    await archive.fork(key, reset, until_seq=caught.value.key - 1)
    await archive.save(Batch(reset, messages=[message(6), message(7, "after the reset")]))
    assert await archive.messages(key) == messages(0, 9)
    assert await archive.messages(reset) == [*messages(0, 6), message(7, "after the reset")]


async def test_a_fork_shares_only_what_is_archived(archive: Archive, key: ChainKey) -> None:
    child = replace(key, chain="run-2")
    await archive.save(Batch(key, messages=messages(0, 4)))
    chain = await archive.fork(key, child, until_seq=8, until_turn=3, until_row=3)
    marks = (chain.parent_until_seq, chain.parent_until_turn, chain.parent_until_row)
    assert marks == (4, -1, -1)
    await archive.save(Batch(key, messages=messages(5, 12)))
    await archive.save(Batch(child, messages=messages(5, 8)))
    assert await archive.messages(child) == messages(0, 8)


async def test_forks_of_forks(archive: Archive, key: ChainKey) -> None:
    line = [replace(key, chain=f"run-{n}") for n in range(1, 31)]
    await archive.save(Batch(line[0], messages=messages(0, 1)))
    for n, (older, newer) in enumerate(itertools.pairwise(line), start=1):
        await archive.fork(older, newer)
        await archive.save(Batch(newer, messages=messages(2 * n, 2 * n + 1)))
    assert await archive.messages(line[-1]) == messages(0, 59)
    early = replace(key, chain="early")
    await archive.fork(line[-1], early, until_seq=2)
    assert await archive.messages(early) == messages(0, 2)


async def test_a_repeated_fork_is_the_first_one(archive: Archive, key: ChainKey) -> None:
    child = replace(key, chain="run-2")
    first = await archive.fork(key, child)
    await archive.save(Batch(key, messages=messages(0, 4)))
    again = await asyncio.gather(*(archive.fork(key, child) for _ in range(4)))
    assert again == [first] * 4
    assert await archive.messages(child) == []


async def test_a_fork_onto_another_chain_is_refused(archive: Archive, key: ChainKey) -> None:
    other = replace(key, conversation=f"{key.conversation}-other")
    await archive.save(Batch(other, messages=messages(0, 1)))
    with pytest.raises(ArchiveConflict, match="already"):
        await archive.fork(key, other)
    with pytest.raises(ArchiveError, match="itself"):
        await archive.fork(key, key)


async def test_a_closed_conversation_starts_again(archive: Archive, key: ChainKey) -> None:
    await archive.save(Batch(key, messages=messages(0, 4)))
    assert await archive.latest_chain(key.namespace, key.conversation, closed=True) is None
    await archive.close_chain(key, '{"z": 1, "a": 2}')
    await archive.close_chain(key, '{"z": 1, "a": 2}')
    with pytest.raises(ArchiveConflict, match="closed before"):
        await archive.close_chain(key, "{}")
    again = replace(key, chain="run-2")
    await archive.fork(key, again)

    newest = await archive.latest_chain(key.namespace, key.conversation)
    closed = await archive.latest_chain(key.namespace, key.conversation, closed=True)
    assert newest is not None
    assert newest.key == again
    assert newest.closed_at is None
    assert closed is not None
    assert closed.key == key
    assert closed.closed_at is not None
    assert await archive.snapshot(closed.key) == '{"z": 1, "a": 2}'
    assert await archive.messages(again) == messages(0, 4)
    assert [c.key for c in await archive.chains(key.namespace, key.conversation)] == [key, again]


async def test_a_conversation_of_which_nothing_was_saved_can_be_closed(
    archive: Archive, key: ChainKey
) -> None:
    await archive.close_chain(key, "{}")
    assert await archive.snapshot(key) == "{}"


async def test_writers_of_one_chain_take_turns(archive: Archive, key: ChainKey) -> None:
    batches = [Batch(key, messages=messages(n, n + 4)) for n in range(20)]
    await asyncio.gather(*(archive.save(batch) for batch in [*batches, *reversed(batches)]))
    assert await archive.messages(key) == messages(0, 23)


async def test_a_fork_shares_events_and_logs_its_own(archive: Archive, key: ChainKey) -> None:
    child = replace(key, conversation=f"{key.conversation}-fork")
    ours = [event(0), event(1, turn=1), event(2), event(3, turn=2)]
    await archive.save(Batch(key, messages=messages(0, 3), events=ours))
    await archive.save(Batch(key, events=ours[2:]))
    assert await archive.marks(key) == Marks(seq=4, event=4)
    chain = await archive.fork(key, child, until_seq=1, until_turn=1, until_event=1)
    assert (chain.parent_until_seq, chain.parent_until_event) == (1, 1)

    own = [event(2, turn=2), event(3)]
    await archive.save(Batch(child, events=own))
    assert await archive.events(child) == [*ours[:2], *own]
    assert await archive.events(child, 3, turns=False) == ours[:1]
    assert await archive.events(key) == ours
    assert await archive.turned(child, 1) == ours[1]
    assert await archive.turned(child, 2) == own[0]
    assert await archive.turned(key, 2) == ours[3]
    assert await archive.turned(child, 3) is None
    assert await archive.marks(child) == Marks(seq=2, event=4)
    with pytest.raises(ArchiveConflict, match="has event 2 with different content"):
        await archive.save(Batch(child, events=[event(2)]))
