"""What other people wrote never steers the terminal, nor is it read as markup."""

import io

from rich.console import Console

from perdure.cli.output import counted, readable, styled, table
from perdure.cli.tables import bar


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
