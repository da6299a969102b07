"""As many excerpts as there is room for, and how they read."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from perdure.recall.found import Excerpt

Count = Callable[[str], int]
LEAST = 16
"""Tokens under which no excerpt is worth looking for."""


def chosen(ranked: Iterable[Excerpt], limit_tokens: int, count: Count) -> list[Excerpt]:
    """The best of `ranked`, which comes best first, whose rendering has so many tokens at most.

    One that does not fit is passed over for a shorter one further down.
    """
    found: list[Excerpt] = []
    days: set[str] = set()
    left = limit_tokens
    for excerpt in ranked:
        cost = count(f"{_line(excerpt)}\n")
        if (day := _day(excerpt.at)) not in days:
            cost += count(f"{day}\n")
        if cost <= left:
            found.append(excerpt)
            days.add(day)
            left -= cost
        if left < LEAST:
            break
    while found and count(rendered(found)) > limit_tokens:
        found.pop()
    return found


def rendered(excerpts: Sequence[Excerpt]) -> str:
    """The excerpts in the order of the conversation, under their days (UTC):

    8 May 2023:
    #12 user: The oven from Hallmoor comes on Friday.
    """
    lines: list[str] = []
    written = ""
    for excerpt in sorted(excerpts, key=lambda e: e.seq):
        if (day := _day(excerpt.at)) != written:
            lines.append(day)
            written = day
        lines.append(_line(excerpt))
    return "\n".join(lines)


def _day(at: datetime) -> str:
    return f"{at.day} {at:%B %Y}:"


def _line(excerpt: Excerpt) -> str:
    return f"{excerpt.entry or f'#{excerpt.seq}'} {excerpt.role}: {excerpt.text}"
