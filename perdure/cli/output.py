"""Results on stdout, for people or machines; remarks on stderr."""

import json
import os
import re
import sys
from datetime import datetime
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH = 100
"""Columns of a table that goes to a file or another program."""
DIM = "dim"
# Terminals obey these: what somebody else wrote must not move the cursor or ring the bell.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def console(*, stderr: bool = False) -> Console:
    """A console that prints texts as they are: no markup, no emoji codes, no colouring."""
    to_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    width = None if to_terminal or "COLUMNS" in os.environ else PLAIN_WIDTH
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, width=width)


def readable(text: str) -> str:
    """`text` without the characters that control a terminal."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def styled(text: str, style: str = "") -> Text:
    """`text` as one piece in one style, whatever stands in it."""
    return Text(readable(text), style)


def say(text: str = "", style: str = "") -> None:
    """Print a line of the result, and leave the breaking of lines to the terminal."""
    console().print(styled(text, style), soft_wrap=True)


def show(shape: RenderableType) -> None:
    """Print a table or another shape; what is not for a terminal gets no trailing blanks."""
    shown = console()
    if shown.is_terminal:
        shown.print(shape)
        return
    with shown.capture() as captured:
        shown.print(shape)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def remark(text: str) -> None:
    """Tell the user something that is not the result."""
    console(stderr=True).print(styled(text, DIM), soft_wrap=True)


def emit(value: Any) -> None:
    """Print one JSON document."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def table(*columns: str) -> Table:
    """A table without frames; a column whose name begins with ">" is for figures."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        figures = name.startswith(">")
        made.add_column(
            styled(name.removeprefix(">"), DIM),
            justify="right" if figures else "left",
            no_wrap=figures,
        )
    return made


def when(moment: str | datetime | None) -> str:
    """A time as a person reads it, in UTC like everything in the memory."""
    if moment is None:
        return ""
    time = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return f"{time:%Y-%m-%d %H:%M}"


def span(first: int, last: int) -> str:
    """A range of messages."""
    return f"{first}" if first == last else f"{first}-{last}"


def counted(number: int, noun: str) -> str:
    """`1 message`, `1,200 messages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
