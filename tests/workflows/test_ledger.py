"""A row of the ledger is carried without its names, and comes back as it was."""

import pytest
from pydantic import TypeAdapter

from perdure.contract import Usage
from tests.archive.samples import observation, row
from workflows.ledger import Row, packed, unpacked

ROWS = TypeAdapter(Row)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        Usage(input=5, output=2),
        Usage(input=5, output=2, cache_read=7, cost=410),
        Usage(input=5, output=2, cache_write=1, unpriced=3),
        Usage(input=5, output=2, searches=1),
    ],
)
def test_a_row_comes_back_with_what_it_has_cost(usage: Usage | None) -> None:
    entry = observation(0, 9)
    held = row(entry, 4).model_copy(update={"usage": usage})
    carried = ROWS.validate_json(ROWS.dump_json(packed(held)))
    assert unpacked(carried, entry) == held
    bare = unpacked(carried, None)
    assert bare.usage == usage
    assert bare.observation == entry.model_copy(update={"content": ""})


def test_what_costs_nothing_takes_no_room_in_it() -> None:
    held = row(observation(0, 9), 4)
    assert packed(held).usage == (500, 100, 0, 0)
