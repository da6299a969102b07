"""The one compaction behind `observe` and `reflect`: lines in, fewer lines out."""

from collections.abc import Sequence

from perdure.memory.extract.importance import Importance, importance
from perdure.memory.extract.lines import Line, write
from perdure.memory.extract.score import is_question, values
from perdure.memory.extract.select import Candidate, ranked
from perdure.memory.extract.types import Count
from perdure.memory.extract.units import Unit, compose, units

MARGIN = 3
"""Chosen beyond the target by one part in this many: joined pieces count less than their sum."""


def compact(
    lines: Sequence[Line],
    target_tokens: int,
    count: Count,
    judge: Importance = importance,
    outdated: Sequence[str] = (),
) -> str:
    """The most telling part of `lines` in at most `target_tokens` tokens, never empty for text.

    `judge` says what is telling. Clauses that say something `outdated` are left out, unless there
    is nothing else. A target smaller than one character of the text is passed by
    that character. Raises ValueError if `target_tokens` is not positive.
    """
    if target_tokens < 1:
        raise ValueError(f"target_tokens must be at least 1, not {target_tokens}")
    every = list(units(lines))
    if not every:
        return ""
    order = ranked(
        _candidates(lines, every, count, judge),
        max(1, count("\nassistant:")),
        target_tokens + target_tokens // MARGIN,
    )
    old = [text.casefold() for text in outdated]
    current = [i for i in order if not any(text in every[i].text.casefold() for text in old)]
    return _longest_fitting(lines, every, current or order, target_tokens, count)


def _candidates(
    lines: Sequence[Line], every: Sequence[Unit], count: Count, judge: Importance
) -> list[Candidate]:
    worth = values([u.text for u in every], [lines[u.line].role for u in every], judge)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for index, unit in enumerate(every):
        first.setdefault(unit.line, index)
        last[unit.line] = index
    found: list[Candidate] = []
    for index, unit in enumerate(every):
        before = last.get(unit.line - 1, -1)
        answers = before >= 0 and index - first[unit.line] < 2 and is_question(every[before].text)
        cost = max(1, count(f" {unit.text}"))
        found.append(Candidate(worth[index], cost, unit.line, before if answers else -1))
    return found


def _longest_fitting(
    lines: Sequence[Line], every: Sequence[Unit], order: Sequence[int], target: int, count: Count
) -> str:
    """Writes as many of the first units in `order` as fit, or the start of the very first."""
    best = ""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        text = write(compose(lines, every, sorted(order[:middle])))
        if count(text) <= target:
            best, low = text, middle
        else:
            high = middle - 1
    return best or _start(every[order[0] if order else 0].text, target, count)


def _start(text: str, target: int, count: Count) -> str:
    """The longest start of `text` which fits, between words if it can; at least one character."""
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle]) <= target:
            low = middle
        else:
            high = middle - 1
    cut = text[:low].rstrip()
    return cut if low == len(text) else cut.rpartition(" ")[0].rstrip() or cut
