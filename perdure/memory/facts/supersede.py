"""What was corrected gives way to its newest value; when in doubt both stay."""

import re
from collections.abc import Sequence

from perdure.memory.extract.words import words
from perdure.memory.facts.fact import Fact, Kind
from perdure.memory.facts.statements import kinds

OVERLAP = 700
"""Thousandths of the earlier fact's words that a correction must repeat to be about the same."""
SUBJECT = 2
"""Words that both must share when the correction names the value it replaces."""


def current(facts: Sequence[Fact]) -> list[Fact]:
    """The facts without those that a later one replaces.

    A correction replaces an earlier fact with a value of the same kind if it names the old value
    as the one that is no longer true and shares its subject, or if it repeats nearly all words.
    """
    corrections = [(f, _stems(f)) for f in facts if f.role == "user" and corrects(f.text)]
    if not corrections:
        return list(facts)
    return [f for f in facts if not any(_replaces(new, stems, f) for new, stems in corrections)]


def corrects(text: str) -> bool:
    """Whether a text says that something else was right before."""
    return Kind.CORRECTION in kinds(text)


def _stems(fact: Fact) -> list[str]:
    return list(dict.fromkeys(w.stem for w in words(fact.text) if not w.is_number))


def _replaces(new: Fact, stems: Sequence[str], old: Fact) -> bool:
    if old.place >= new.place or not old.values or old.role == "tool":
        return False
    if not new.values or old.kind is Kind.RULE:
        return False
    fresh = [v for v in new.values if v not in old.values]
    if not fresh:
        return False
    own = _stems(old)
    shared = sum(stem in stems for stem in own)
    named = any(_denied(new.text, value) for value in old.values)
    if named:
        return shared >= SUBJECT
    return shared > SUBJECT and shared * 1000 >= len(own) * OVERLAP


def _denied(text: str, value: str) -> bool:
    """Whether a correction says that `value` is the old one."""
    bare = re.escape(value.removeprefix("the ").removeprefix("on "))
    old = rf"\b(?:not|no longer|instead of|rather than|from|was)\b(?: \w+){{0,2}} {bare}(?!\w)"
    return bool(re.search(old, text, re.IGNORECASE))
