"""The one compaction behind `observe` and `reflect`: lines in, fewer lines out."""

from collections.abc import Sequence

from perdure.memory.extract.lines import Line, write
from perdure.memory.extract.score import values
from perdure.memory.extract.select import ranked
from perdure.memory.extract.types import Count
from perdure.memory.extract.units import Unit, compose, units

MARGIN = 3
"""Chosen beyond the target by one part in this many: joined pieces count less than their sum."""


def compact(lines: Sequence[Line], target_tokens: int, count: Count) -> str:
    """The most telling part of `lines` in at most `target_tokens` tokens, never empty for text.

    Raises ValueError if `target_tokens` is not positive.
    """
    if target_tokens < 1:
        raise ValueError(f"target_tokens must be at least 1, not {target_tokens}")
    every = list(units(lines))
    if not every:
        return ""
    costs = [max(1, count(f" {unit.text}")) for unit in every]
    worth = values([u.text for u in every], [lines[u.line].role for u in every])
    overhead = max(1, count("\nassistant:"))
    budget = target_tokens + target_tokens // MARGIN
    order = ranked(worth, costs, [u.line for u in every], contexts(every, lines), overhead, budget)
    return _longest_fitting(lines, every, order, target_tokens, count)


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
    cut = text[:low]
    return cut if low == len(text) else cut.rpartition(" ")[0].rstrip() or cut


import re
P=re.compile(r"(?:it|they|he|she|that|this|these|those|there|them)\b",re.I)
PW=re.compile(r"\b(?:it|they|he|she|that|this|these|those|there|them|him|her|one|ones)\b",re.I)
MODE=1
FORWARD=False
def contexts(every, lines):
    out=[]
    first={}; last={}
    for i,u in enumerate(every):
        first.setdefault(u.line,i); last[u.line]=i
    for i,u in enumerate(every):
        c=[]
        if i-first[u.line]<2 and u.line-1 in last and every[last[u.line-1]].text.endswith("?"):
            c.append((last[u.line-1],'q'))
        if i>first[u.line] and (MODE==2 or (P if MODE==0 else PW).search(u.text)):
            c.append((i-1,'p'))
        if FORWARD and i<last[u.line] and (P).match(every[i+1].text): c.append((i+1,'p'))
        out.append(c)
    return out
