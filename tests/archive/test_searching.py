"""Candidates from the index of terms, and what a recall makes of them."""

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from perdure.archive import Archive, Batch, ChainKey, searching
from perdure.archive.candidates import Filters
from perdure.errors import Refused
from perdure.memory.terms import terms
from perdure.recall import recall
from tests.archive.samples import START, message, messages, observation

OPERATORS = "& | ! <-> ( ) : * ' \" \\ % {} --"


async def seqs(archive: Archive, key: ChainKey, *words: str, before: int | None = None) -> set[int]:
    found = await archive.search(key, words, before=before)
    return {d.seq for d in found.documents if set(words) & set(d.terms)}


async def test_a_chain_is_searched_alone(archive: Archive, key: ChainKey) -> None:
    other = replace(key, chain="run-2")
    await archive.save(Batch(key, messages=[message(0, "an oven"), message(1, "bread")]))
    await archive.save(Batch(other, messages=[message(0, "oven oven"), message(1, "oven")]))
    found = await archive.search(key, ["oven", "rye"])
    assert (found.total, found.frequencies) == (2, {"oven": 1})
    assert [d.seq for d in found.documents] == [0, 1]
    assert (await archive.search(replace(key, chain="none"), ["oven"])).total == 0


async def test_a_fork_searches_the_past_that_it_shares(archive: Archive, key: ChainKey) -> None:
    child = replace(key, chain="run-2")
    await archive.save(Batch(key, messages=[message(n, f"oven {n}") for n in range(10)]))
    await archive.fork(key, child, until_seq=3, until_turn=-1, until_row=-1)
    await archive.save(Batch(child, messages=[message(4, "a fork"), message(5, "oven")]))
    assert await seqs(archive, child, "oven") == {0, 1, 2, 3, 5}
    assert await seqs(archive, child, "oven", before=2) == {0, 1}
    assert await seqs(archive, key, "oven") == set(range(10))
    said = await recall(archive, child, [], "oven 7")
    assert sorted(e.seq for e in said.excerpts) == [0, 1, 2, 3, 4, 5]
    assert said.excerpts[0].text == "oven"


async def test_words_are_heard_as_they_are_written(archive: Archive, key: ChainKey) -> None:
    child = replace(key, chain="run-2")
    said = ["Hey Maria!", "maria", "marias", "The rose, Maria.", "Rose"]
    await archive.save(Batch(key, messages=[message(n, text) for n, text in enumerate(said)]))
    await archive.fork(key, child, until_seq=3, until_turn=-1, until_row=-1)
    await archive.save(Batch(child, messages=[message(4, "Maria of the fork")]))
    words = {word: terms(word)[0] for word in ("Maria", "Rose", "Ines")}
    heard = await archive.mentions(child, words)
    assert sorted(heard["Maria"]) == [
        ("assistant", "The rose, Maria."),
        ("user", "Hey Maria!"),
        ("user", "Maria of the fork"),
    ]
    assert (heard["Rose"], heard["Ines"]) == ([], [])
    assert await archive.mentions(child, words, before=1) == {
        "Maria": [("user", "Hey Maria!")],
        "Rose": [],
        "Ines": [],
    }
    limited = await archive.mentions(key, words, limit=1)
    assert [len(limited[word]) for word in words] == [1, 1, 0]


async def test_no_search_reads_a_whole_index_of_messages(
    archive: Archive, key: ChainKey, server_url: str
) -> None:
    await archive.save(Batch(key, messages=[message(n, f"oven {n}") for n in range(200)]))
    async with await psycopg.AsyncConnection.connect(server_url, autocommit=True) as connection:
        await connection.execute("set enable_seqscan = off")
        await connection.execute("analyze perdure.messages")
        marks = {"chains": [1], "firsts": [0], "lasts": [199], "terms": ["oven"], "limit": 9}
        given = {"role": None, "since": None, "until": None, "most": 9, "reach": 5, "total": 200}
        for statement in (searching.SEARCH, searching.MENTIONS):
            cursor = await connection.execute(
                f"explain {statement}".encode(), marks | given | {"words": ["oven"]}
            )
            plan = "\n".join(line for (line,) in await cursor.fetchall())
            assert "messages_terms" in plan
            assert "messages_pkey" not in plan


async def test_what_stands_everywhere_is_estimated(
    archive: Archive, key: ChainKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ["rye" if n == 7 else "oven bread" for n in range(48)]
    await archive.save(Batch(key, messages=[message(n, text) for n, text in enumerate(said)]))
    monkeypatch.setattr(searching, "MOST_HITS", 8)
    assert (await archive.search(key, ["oven"])).frequencies == {"oven": 8 * 48 // 9}
    monkeypatch.setattr(searching, "ALL_HITS", 18)
    found = (await archive.search(key, ["oven", "bread", "rye"])).frequencies
    assert found == {"oven": 48, "bread": 48, "rye": 1}


async def test_filters(archive: Archive, key: ChainKey) -> None:
    await archive.save(Batch(key, messages=[message(n, "an oven") for n in range(40)]))

    async def found(**filters: object) -> list[int]:
        said = await recall(archive, key, [], "oven", **filters)  # type: ignore[arg-type]
        return sorted(e.seq for e in said.excerpts)

    at = START + timedelta(minutes=10)
    assert await found(role="user") == list(range(0, 40, 2))
    assert await found(since=at, until=at + timedelta(minutes=2)) == [10, 11, 12]
    assert await found(role="assistant", until=at) == [1, 3, 5, 7, 9]
    assert await found(since=START + timedelta(days=1)) == []
    assert Filters().admit((await archive.search(key, ["oven"])).documents[0])


async def test_the_tail_of_the_workflow_stands_before_the_archive(
    archive: Archive, key: ChainKey
) -> None:
    await archive.save(Batch(key, messages=[message(0, "rye bread"), message(1, "saved twice")]))
    tail = [message(1, "the oven from Hallmoor"), message(2, "thanks")]
    said = await recall(archive, key, tail, "Which oven?")
    assert said.excerpts[0].text == "the oven from Hallmoor"
    assert "saved twice" not in said.text
    assert (await recall(None, key, tail, "oven")).excerpts[0].seq == 1
    assert not (await recall(None, key, [], "oven")).excerpts


async def test_entries_of_the_memory(archive: Archive, key: ChainKey) -> None:
    entries = [observation(0, 3, "They spoke of rye."), observation(4, 7, "An oven came.")]
    await archive.save(Batch(key, messages=messages(0, 9), observations=entries))
    said = await recall(archive, key, [], "the oven", level=1)
    assert [(e.entry, e.seq) for e in said.excerpts] == [("L1.4-7", 4)]
    assert "L1.4-7 level 1: An oven came." in said.text
    assert not (await recall(archive, key, [], "the oven", level=2)).excerpts
    until = START + timedelta(minutes=3)
    assert not (await recall(archive, key, [], "the oven", level=1, until=until)).excerpts


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("oven & bread | !rye <-> (salt):*", "an oven"),
        ("'\"; drop table perdure.messages; -- oven", "an oven"),
        ("\U0001f389?", "what a day \U0001f389"),
        ("CAFE\u0301 cr\u00e8me", "the Caf\u00e9 opens"),
        ("\uff28\uff2d\uff0d48213", "reserved under HM-48213"),
        ("hm48213", "reserved under HM-48213"),
        ("パン屋は?", "あのパン屋は遠い"),
    ],
)
async def test_operators_quotes_emoji_and_forms(
    archive: Archive, key: ChainKey, question: str, words: str
) -> None:
    await archive.save(Batch(key, messages=[message(0, "nothing"), message(1, words)]))
    said = await recall(archive, key, [], question)
    assert said.excerpts[0].text == words


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (OPERATORS, "no word to look for"),
        ("what is the", "no word to look for"),
        ("面包店在哪里", "in the language of the conversation"),
        ("unsaid", "holds a word of the question"),
    ],
)
async def test_nothing_found_says_why(
    archive: Archive, key: ChainKey, question: str, why: str
) -> None:
    await archive.save(Batch(key, messages=[message(0, "an oven")]))
    said = await recall(archive, key, [], question)
    assert not said.excerpts
    assert why in said.text


async def test_an_empty_archive_and_what_cannot_be(archive: Archive, key: ChainKey) -> None:
    assert "Nothing has been said yet" in (await recall(archive, key, [], "oven")).text
    with pytest.raises(Refused, match="10 tokens are too few"):
        await recall(archive, key, [], "oven", limit_tokens=10)
    with pytest.raises(Refused, match="has no role"):
        await recall(archive, key, [], "oven", role="user", level=1)
    with pytest.raises(Refused, match="needs an offset"):
        await recall(archive, key, [], "oven", since=START.replace(tzinfo=None))


async def test_a_huge_message_is_indexed_by_all_its_words(archive: Archive, key: ChainKey) -> None:
    text = " ".join(f"w{n}" for n in range(20_000)) + " x" + "y" * 100_000
    await archive.save(Batch(key, messages=[message(0, text)]))
    assert await seqs(archive, key, terms("w19999")[0]) == {0}
    said = await recall(archive, key, [], "w19999")
    assert "w19999" in said.excerpts[0].text
    assert said.tokens <= 1_000
