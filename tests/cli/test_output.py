"""What other people wrote never steers the terminal, nor is it read as markup."""

import io

from rich.console import Console, RenderableType

from perdure.cli.output import counted, readable, styled, table
from perdure.cli.tables import bar, compactions_table, difference_table
from perdure.contract import row_view
from perdure.memory.difference import Difference
from tests.archive.samples import observation, row


def test_control_characters_are_not_printed() -> None:
    assert readable("a\x1b[31mred\x07\r\nb\tc") == "a\ufffd[31mred\ufffd\nb\tc"


def test_markup_in_tables_and_texts_stands_as_it_is() -> None:
    written = io.StringIO()
    console = Console(file=written, markup=False, emoji=False, highlight=False, width=60)
    rows = table("[bold]name")
    rows.add_row("[link=x]:smile:")
    console.print(rows, styled("[blink]text"))
    for text in ("[bold]name", "[link=x]:smile:", "[blink]text"):
        assert text in written.getvalue()


def test_bars_and_counts() -> None:
    assert bar(0, 10, 4) == "░░░░"
    assert bar(1, 1000, 4) == "█░░░"
    assert bar(20, 10, 4) == "████"
    assert counted(1, "turn") == "1 turn"
    assert counted(1200, "turn") == "1,200 turns"


def lines(shape: RenderableType) -> list[list[str]]:
    """The words of each line of a table."""
    written = io.StringIO()
    Console(file=written, width=100).print(shape)
    return [line.split() for line in written.getvalue().splitlines()]


def test_the_ledger_numbers_its_rows_for_shadow_and_before() -> None:
    entry = observation(1_100, 1_140, method="model", model="claude-sonnet-5-5")
    view = row_view(row(entry, 3).model_copy(update={"n": 317}))
    names, cells = lines(compactions_table([view]))
    assert names[:3] == ["row", "when", "entry"]
    assert (cells[0], cells[3], cells[-1]) == ("317", "L1.1100-1140", "claude-sonnet-5-5")


def test_another_system_prompt_is_no_new_one() -> None:
    found = Difference(tokens_before=9, tokens_after=1, system_changed=True)
    assert lines(difference_table(found))[1] == ["changed", "system", "prompt"]
