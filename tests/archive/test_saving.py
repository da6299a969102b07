from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import psycopg
import pytest

from perdure.archive import Archive, Batch, ChainKey
from perdure.errors import ArchiveConflict, ArchiveError
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.wire import canonical_json
from tests.archive.samples import START, message, messages, observation, row

REPLY = {"turn": 3, "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn"}


def batch(key: ChainKey) -> Batch:
    entry = observation(0, 3)
    return Batch(
        key,
        messages=messages(0, 3),
        observations=[entry],
        ledger={0: row(entry, turn=2)},
        replies={3: REPLY},
    )


async def test_everything_comes_back_as_it_was_saved(archive: Archive, key: ChainKey) -> None:
    saved = batch(key)
    await archive.save(saved)
    assert await archive.messages(key) == saved.messages
    assert await archive.observations(key) == saved.observations
    assert await archive.observation(key, "L1.0-3") == saved.observations[0]
    assert await archive.ledger(key) == [(0, saved.ledger[0])]
    assert await archive.reply(key, 3) == REPLY
    [chain] = await archive.chains(key.namespace, key.conversation)
    assert chain.key == key
    assert chain.parent is None


async def test_every_field_of_message_and_observation_survives(
    archive: Archive, key: ChainKey
) -> None:
    spoken = message(0, tokens=7, pinned=True, failed=True)
    entry = observation(
        *(0, 0),
        id="L3.0-0",
        level=3,
        sources=["L2.0-0", "L2.1-1"],
        method="model",
        model="m",
        facts=["1 March 2026: The order is RX-1"],
    )
    defaults = set(Message(**spoken.model_dump(exclude_defaults=True)).model_fields_set)
    assert defaults == set(Message.model_fields), "a new field needs a column and a place here"
    assert set(entry.model_dump(exclude_defaults=True)) == set(Observation.model_fields)
    await archive.save(Batch(key, messages=[spoken], observations=[entry]))
    assert await archive.messages(key) == [spoken]
    assert await archive.observation(key, entry.id) == entry


async def test_saving_again_changes_nothing(archive: Archive, key: ChainKey) -> None:
    saved = batch(key)
    await archive.save(saved)
    recounted = [m.changed(tokens=99, pinned=True) for m in saved.messages]
    bare = saved.observations[0].model_copy(update={"content": ""})
    trimmed = saved.ledger[0].model_copy(update={"observation": bare})
    await archive.save(Batch(key, messages=recounted, ledger={0: trimmed}, replies={3: REPLY}))
    assert await archive.messages(key) == saved.messages
    assert await archive.ledger(key) == [(0, saved.ledger[0])]


async def test_the_same_instant_in_another_time_zone_is_the_same_message(
    archive: Archive, key: ChainKey
) -> None:
    east = START.astimezone(timezone(timedelta(hours=9)))
    await archive.save(Batch(key, messages=[message(0, at=east)]))
    await archive.save(Batch(key, messages=[message(0, at=START)]))
    [found] = await archive.messages(key)
    assert found.at == START
    assert found.at.tzinfo is UTC


@pytest.mark.parametrize(
    ("change", "noun", "at"),
    [
        ({"messages": [message(4), message(2, "other"), message(1, "other")]}, "message", 1),
        ({"messages": [message(4), message(5), message(5, "other")]}, "message", 5),
        ({"messages": [message(0, role="assistant")]}, "message", 0),
        ({"messages": [message(0, at=START + timedelta(seconds=1))]}, "message", 0),
        ({"observations": [observation(0, 3, "Other.")]}, "observation", "L1.0-3"),
        ({"ledger": {0: row(observation(0, 3), turn=9)}}, "ledger row", 0),
        ({"replies": {3: REPLY | {"stop_reason": "max_tokens"}}}, "reply", 3),
    ],
)
async def test_other_content_under_a_known_key_is_refused_with_its_whole_batch(
    archive: Archive, key: ChainKey, change: dict[str, Any], noun: str, at: int | str
) -> None:
    await archive.save(batch(key))
    given: dict[str, Any] = {"messages": [message(4)], "replies": {4: REPLY}} | change
    with pytest.raises(ArchiveConflict, match=key.conversation) as caught:
        await archive.save(Batch(key, **given))
    assert (caught.value.noun, caught.value.key) == (noun, at)
    assert f"{noun} {at}" in str(caught.value)
    assert await archive.messages(key) == messages(0, 3)
    assert await archive.reply(key, 4) is None


async def test_content_is_kept_byte_for_byte_and_in_the_order_of_its_keys(
    archive: Archive, key: ChainKey, server_url: str
) -> None:
    numbers = {
        "z": 1.0,
        "a": 1e300,
        "zz": 12345678901234567890,
        "é": "e\u0301 \u200d 👩‍👩‍👧 \u0001",
    }
    content: list[dict[str, Any]] = [
        {"type": "tool_use", "id": "t1", "name": "find", "input": numbers},
        {"type": "text", "text": 'line\r\n\ttab "quoted" \\ '},
    ]
    await archive.save(Batch(key, messages=[message(0, content=content)]))
    async with await psycopg.AsyncConnection.connect(server_url) as connection:
        cursor = await connection.execute(
            "select m.content from perdure.messages m join perdure.chains c on c.id = m.chain_id "
            "where c.conversation = %s",
            [key.conversation],
        )
        assert await cursor.fetchone() == (canonical_json(content),)
    [found] = await archive.messages(key)
    assert found.content == content
    assert canonical_json(found.content) == canonical_json(content)


@pytest.mark.parametrize("bad", ["a\u0000b", "half an emoji \ud83d"])
@pytest.mark.parametrize("place", ["content", "nested", "key", "observation", "reply", "chain"])
async def test_what_postgres_cannot_hold_is_refused(
    archive: Archive, key: ChainKey, bad: str, place: str
) -> None:
    nested = {"type": "tool_use", "id": "t", "name": "f", "input": {"list": [{"deep": bad}]}}
    batches = {
        "content": lambda: Batch(key, messages=[message(0), message(1, bad)]),
        "nested": lambda: Batch(key, messages=[message(0), message(1, content=[nested])]),
        "key": lambda: Batch(key, messages=[message(1, content=[{"type": "text", bad: 1}])]),
        "observation": lambda: Batch(
            key, observations=[observation(0, 3).model_copy(update={"content": bad})]
        ),
        "reply": lambda: Batch(key, replies={0: {"content": [bad]}}),
        "chain": lambda: Batch(ChainKey("default", bad, "run-1")),
    }
    with pytest.raises(ArchiveError, match="NUL character or a lone surrogate"):
        await archive.save(batches[place]())
    assert await archive.messages(key) == []


async def test_a_time_without_an_offset_is_refused(archive: Archive, key: ChainKey) -> None:
    naive = datetime(2026, 3, 1, 9)  # noqa: DTZ001
    with pytest.raises(ArchiveError, match="without an offset"):
        await archive.save(Batch(key, messages=[message(0, at=naive)]))


async def test_a_message_of_five_megabytes(archive: Archive, key: ChainKey) -> None:
    big = message(0, "0123456789abcdé" * 330_000)
    await archive.save(Batch(key, messages=[big]))
    assert await archive.messages(key) == [big]


async def test_pages_of_messages_and_rows(archive: Archive, key: ChainKey) -> None:
    entries = [observation(n, n) for n in range(5)]
    await archive.save(
        Batch(
            key,
            messages=messages(0, 9),
            observations=entries,
            ledger={n: row(e, turn=n) for n, e in enumerate(entries)},
        )
    )
    assert [m.seq for m in await archive.messages(key, 2, 5)] == [2, 3, 4, 5]
    assert [m.seq for m in await archive.messages(key, 7, limit=2)] == [7, 8]
    assert [n for n, _ in await archive.ledger(key, limit=2)] == [3, 4]
    assert [n for n, _ in await archive.ledger(key, 3, limit=2)] == [1, 2]
    assert await archive.ledger(key, 0) == []


async def test_a_row_without_its_observation_comes_back_without_text(
    archive: Archive, key: ChainKey
) -> None:
    await archive.save(Batch(key, ledger={0: row(observation(0, 3), turn=1)}))
    [(_, found)] = await archive.ledger(key)
    assert found.observation == observation(0, 3, "")


async def test_of_an_unknown_chain_everything_is_empty(archive: Archive, key: ChainKey) -> None:
    assert await archive.messages(key) == []
    assert await archive.observations(key) == []
    assert await archive.observation(key, "L1.0-3") is None
    assert await archive.ledger(key) == []
    assert await archive.reply(key, 0) is None
    assert await archive.snapshot(key) is None
    assert await archive.chains(key.namespace, key.conversation) == []
    assert await archive.latest_chain(key.namespace, key.conversation) is None


def test_a_blank_key_is_refused() -> None:
    with pytest.raises(ArchiveError, match="conversation"):
        ChainKey("default", "", "run-1")
