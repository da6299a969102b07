"""The shortest clause that says what a value is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perdure.memory.extract.score import is_question
from perdure.memory.extract.sentences import sentences
from perdure.memory.extract.shorten import shorten, trim_start
from perdure.memory.extract.units import clauses
from perdure.memory.extract.words import words

LONGEST = 34
"""Words of a clause at most; of a longer one those around the value stay."""

_LEANING = re.compile(r"(?:it|that|this|they|these|those|there|he|she)\b", re.IGNORECASE)
_POINTING = re.compile(
    r"\b(?:them|this|those|(?:the|that) (?:new|other|same) \w+)\b", re.IGNORECASE
)
_BOLD = re.compile(r"\*\*")
_BRIEF = 6
"""Content words up to which a clause without a name leans on one with a name."""
_THIN = 2
"""Content words below which a clause does not say by itself what its value is."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause as it was said, and the same with as much before it as it leans on.

    `asked`: it belongs to a question.
    """

    text: str
    whole: str
    asked: bool


def told(text: str) -> Iterator[Clause]:
    """The clauses of a text in order, without openers such as "Sure," and joints such as "and"."""
    before = ""
    for sentence in sentences(text):
        if "\n" in sentence:
            yield Clause(sentence, sentence, False)
            before = ""
            continue
        gap = ". "
        for part in [sentence] if "`" in sentence else clauses(shorten(sentence)):
            bare = tidy(part)
            if not bare:
                continue
            leans = before and _is_short(before, bare)
            leans = leans and (_leans(bare) or (gap == "; " and _is_nameless(before, bare)))
            whole = f"{before}{gap}{bare}" if leans else bare
            yield Clause(bare, whole, is_question(sentence))
            before, gap = bare, "; "


def _leans(bare: str) -> bool:
    return bool(_LEANING.match(bare) or _POINTING.search(bare)) or len(words(bare)) < _THIN


def _is_nameless(before: str, bare: str) -> bool:
    """Whether a short clause with a number gets its subject from a name just before it."""
    own = words(bare)
    return (
        len(own) <= _BRIEF
        and any(word.is_number for word in own)
        and not any(word.is_name and not word.is_number for word in own)
        and any(word.is_name for word in words(before))
    )


def tidy(clause: str) -> str:
    """A clause without what joined it to its neighbours."""
    bare = trim_start(_BOLD.sub("", clause).strip()).rstrip(" ,;:–—-")
    return bare[:-1].rstrip() if bare.endswith(".") and not bare.endswith("..") else bare


def around(text: str, value: str, longest: int = LONGEST) -> str:
    """`text`, or of one of more than `longest` words those around `value`."""
    split = text.split()
    if len(split) <= longest:
        return text
    head = text[: max(0, text.find(value))].split()
    start = max(0, len(head) - longest * 2 // 3)
    return " ".join(split[start : start + longest])


def _is_short(before: str, bare: str) -> bool:
    return len(before.split()) + len(bare.split()) <= LONGEST
