"""Which entries of the memory are looked through, and what is said when nothing is found."""

from datetime import timedelta

import pytest

from perdure.archive import ChainKey
from perdure.errors import Refused
from perdure.recall import recall
from perdure.recall.ask import NOTHING_ADMITTED, NOTHING_FOUND, NOTHING_SAID
from perdure.recall.entries import newest
from tests.archive.samples import START, message, observation

KEY = ChainKey("default", "talk", "chain")
FIRST = observation(0, 3, "The oven was ordered.")
SECOND = FIRST.model_copy(update={"id": "L1.0-3~2", "content": "Hallmoor makes the oven."})
THIRD = FIRST.model_copy(update={"id": "L1.0-3~3", "content": "The oven is from Hallmoor."})
OTHER = observation(4, 7, "Bread was baked.")


def test_an_entry_that_was_superseded_is_not_looked_through() -> None:
    assert newest([FIRST, OTHER]) == [FIRST, OTHER]
    assert newest([FIRST, SECOND, OTHER, THIRD]) == [OTHER, THIRD]
    standing = FIRST.model_copy(update={"content": "As it stands."})
    assert newest([FIRST, OTHER, standing]) == [standing, OTHER]


async def test_entries_that_the_workflow_holds_are_looked_through() -> None:
    found = await recall(None, KEY, [], "the oven", level=1, entries=[SECOND, OTHER])
    assert [e.entry for e in found.excerpts] == ["L1.0-3~2"]


async def test_where_nothing_is_found_the_sentence_says_why() -> None:
    async def why(question: str, *, level: int = 0, said: bool = True, **filters: object) -> str:
        tail = [message(0, "an oven")] if said else []
        entries = [FIRST] if said else []
        found = await recall(
            None,
            KEY,
            tail,
            question,
            level=level,
            entries=entries,
            **filters,  # type: ignore[arg-type]
        )
        assert found.excerpts == []
        return found.text

    late = START + timedelta(days=1)
    assert await why("oven", said=False) == NOTHING_SAID
    assert await why("rye") == await why("rye", level=1) == NOTHING_FOUND
    assert await why("oven", since=late) == await why("oven", role="assistant") == NOTHING_ADMITTED
    assert await why("oven", level=1, since=late) == NOTHING_ADMITTED
    assert await why("oven", level=2) == "The memory has no entry of level 2."
    assert await why("oven", level=1, said=False) == "The memory has no entry of level 1."


async def test_times_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(Refused, match=r"since 2026-03-02T.* and until 2026-03-01T.*before it"):
        await recall(None, KEY, [], "oven", since=START + timedelta(days=1), until=START)
