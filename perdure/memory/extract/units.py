"""Units: the clauses and sentences among which a compaction chooses."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perdure.memory.extract.lines import ROLES, TOOL, Line
from perdure.memory.extract.sentences import sentences
from perdure.memory.extract.shorten import shorten, trim_end, trim_start

_CLAUSE = re.compile(
    r"(?:,? (?=(?:but|because|although|whereas)\b)"
    r"|, (?=(?:and|so|since|though|while|which|who|where)\b)"
    r"| (?=and (?:i|we|he|she|it|they|my|our|you)\b)"
    r"|;\s+|\s+[–—-]+\s+)",
    re.IGNORECASE,
)
_SHORTEST = 3
"""Words a clause needs to stand by itself."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of one line. `follows` says that it goes on in the sentence of the unit before."""

    line: int
    text: str
    follows: bool


def units(lines: Sequence[Line]) -> Iterator[Unit]:
    """Divides lines into units; `line` of a unit is the index of its line."""
    for index, line in enumerate(lines):
        if line.role == TOOL:
            yield Unit(index, line.text, False)
            continue
        for sentence in sentences(line.text):
            if "\n" in sentence:
                yield Unit(index, sentence, False)
                continue
            for i, clause in enumerate(clauses(shorten(sentence))):
                yield Unit(index, clause, i > 0)


def compose(lines: Sequence[Line], every: Sequence[Unit], chosen: Sequence[int]) -> list[Line]:
    """Puts chosen units (ascending indices) back into lines; neighbours of one speaker merge.

    Code, calls of tools and what nobody in particular said keep lines of their own.
    """
    out: list[Line] = []
    previous = -2
    kept = frozenset(chosen)
    for index in chosen:
        unit = every[index]
        source = lines[unit.line]
        joined = unit.follows and previous == index - 1
        text = unit.text if joined or not unit.follows else trim_start(unit.text)
        if index + 1 not in kept:
            text = _ended(every, index, text)
        alone = "\n" in text or source.role not in ROLES or (out and "\n" in out[-1].text)
        if (
            out
            and (out[-1].day, out[-1].role) == (source.day, source.role)
            and (joined or not alone)
        ):
            out[-1] = Line(source.day, source.role, f"{out[-1].text} {text}")
        else:
            out.append(Line(source.day, source.role, text))
        previous = index
    return out


def _ended(every: Sequence[Unit], index: int, text: str) -> str:
    cut = index + 1 < len(every) and every[index + 1].follows
    return trim_end(text) if cut else text


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence, each of at least `_SHORTEST` words if there is more than one."""
    parts: list[str] = []
    start = 0
    for gap in _CLAUSE.finditer(sentence):
        left, right = sentence[start : gap.start()], sentence[gap.end() :]
        if len(left.split()) >= _SHORTEST and len(right.split()) >= _SHORTEST:
            parts.append(sentence[start : gap.end()].strip())
            start = gap.end()
    parts.append(sentence[start:])
    return parts
