"""The written form of an observation: a date line per day, a speaker in front of each line.

8 May 2023:
user: I moved to Lisbon. My cat is called Pixel.
assistant: I booked the vet for Friday.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
ROLES = ("user", "assistant")
TOOL = "tool"
"""The role of a line that tells what a tool was told, `called NAME: ...`."""
CALLED = re.compile(r"called (\S*): ")

_MONTH = "|".join(name if len(name) < 4 else f"{name[:3]}(?:{name[3:]})?\\.?" for name in MONTHS)
_DAY = re.compile(
    r"[\s#*_>•-]*(?:date:?\s*)?[\[(*_]*(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+)?"
    rf"(?:(?P<y1>\d{{4}})-(?P<m1>\d{{2}})-(?P<d1>\d{{2}})"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<m2>{_MONTH}),?\s+(?P<y2>\d{{4}})"
    rf"|(?P<m3>{_MONTH})\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}}))"
    r"[\])*_]*\s*:?[\])*_]*\s*",
    re.IGNORECASE,
)
_SPEAKER = re.compile(rf"({'|'.join(ROLES)}):[ \t]*(?=\S)")


@dataclass(frozen=True, slots=True)
class Line:
    """What one speaker said, or a tool was told.

    `day` is as written in a date line, "" if unknown; `role` is "user", "assistant", "tool" or "".
    """

    day: str
    role: str
    text: str


def day_of(moment: date) -> str:
    """The day as a date line writes it, e.g. "8 May 2023"; English whatever the locale."""
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"


def read(text: str) -> Iterator[Line]:
    """Reads observations back, and free text just as well.

    A date line holds nothing but a date, in ISO form or in English; it is valid until the next.
    Lines without a speaker belong to nobody, except that a code fence stays with the line in
    which it was opened.
    """
    day = ""
    fenced: list[str] = []
    role = ""
    for raw in text.splitlines():
        if fenced:
            fenced.append(raw)
            if raw.strip().endswith("```"):
                yield Line(day, role, "\n".join(fenced))
                fenced = []
            continue
        found = _day(raw)
        if found or raw == "Facts:":
            day = found or day
            continue
        speaker = _SPEAKER.match(raw)
        role = speaker.group(1) if speaker else TOOL if CALLED.match(raw) else ""
        content = raw[speaker.end() :] if speaker else raw
        if content.count("```") % 2:
            fenced = [content]
        elif content.strip():
            yield Line(day, role, content.strip())
    if fenced:
        yield Line(day, role, "\n".join(fenced))


def write(lines: list[Line]) -> str:
    """The text of lines in their order; undated ones come first, one date line per day."""
    days: dict[str, list[Line]] = {"": []}
    for line in lines:
        days.setdefault(line.day, []).append(line)
    out: list[str] = []
    for day, group in days.items():
        if day:
            out.append(f"{day}:")
        out.extend(
            f"{line.role}: {line.text}" if line.role in ROLES else line.text for line in group
        )
    return "\n".join(out)


def _day(raw: str) -> str:
    found = _DAY.fullmatch(raw)
    if not found:
        return ""
    year = found["y1"] or found["y2"] or found["y3"]
    number = found["d1"] or found["d2"] or found["d3"]
    month = int(found["m1"]) if found["m1"] else _month(found["m2"] or found["m3"])
    if not 1 <= month <= 12:
        return ""
    return f"{int(number)} {MONTHS[month - 1]} {year}"


def _month(name: str) -> int:
    start = name[:3].lower()
    return next(i for i, month in enumerate(MONTHS, 1) if month[:3].lower() == start)
