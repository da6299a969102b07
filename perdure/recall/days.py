"""The days that a question names: "on 16 August 2023", "in May", "8月16日"."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from perdure.memory.extract.lines import MONTHS

_NUMBERS = {month[:3]: number for number, month in enumerate(MONTHS, 1)}
# A month needs its capital: "may" and "march" are words too.
_NAME = rf"\b(?P<name>{'|'.join(MONTHS)}|Sept|{'|'.join(_NUMBERS)})\b\.?"
_ORDINAL = r"(?:st|nd|rd|th)?\b"
_WRITTEN = re.compile(
    rf"(?:\b(?P<before>[0-3]?\d){_ORDINAL} (?:of )?)?{_NAME}"
    rf"(?: (?P<day>[0-3]?\d){_ORDINAL})?(?:,? ?(?P<year>[12]\d{{3}})\b)?"
)
_ISO = re.compile(r"\b(?P<year>[12]\d{3})-(?P<month>[01]\d)(?:-(?P<day>[0-3]\d))?\b")
_EASTERN = re.compile(
    r"(?:(?P<year>[12]\d{3})年)?(?<!\d)(?P<month>1?\d)月(?:(?P<day>[0-3]?\d)[日号])?"
)


class Day(NamedTuple):
    """A day or, without `day`, a month; of any year without `year`."""

    year: int | None
    month: int
    day: int | None

    def holds(self, at: datetime) -> bool:
        """Whether `at` lies in it, by its own offset."""
        return (
            at.month == self.month and self.year in (None, at.year) and self.day in (None, at.day)
        )


def days(question: str) -> list[Day]:
    """The days and months that a question names: English, Chinese, Japanese and ISO dates."""
    return [
        _day(found.groupdict())
        for form in (_WRITTEN, _ISO, _EASTERN)
        for found in form.finditer(question)
    ]


def _day(read: Mapping[str, str | None]) -> Day:
    name, year, day = read.get("name"), read["year"], read["day"] or read.get("before")
    month = _NUMBERS[name[:3]] if name else int(read["month"] or 0)
    return Day(int(year) if year else None, month, int(day) if day else None)
