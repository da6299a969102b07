"""Turns text into the words by which sentences are compared."""

import re
from dataclasses import dataclass

from perdure.memory.extract.common import COMMON_WORDS, STOP_WORDS

_UNSPACED = (
    "\u0e00-\u0eff"
    "\u1000-\u109f"
    "\u1780-\u17d3"
    "\u3040-\u30ff"
    "\u3400-\u4dbf"
    "\u4e00-\u9fff"
    "\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
_INDIC = "\u0900-\u0963\u0966-\u0dff"
_WORD = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?:\d+(?:[.,:/-]\d+)+)"
    rf"|(?:(?![{_UNSPACED}])(?:[^\W_]|[{_MARKS}{_INDIC}]))+(?:['’](?:s|t|re|ve|ll|d|m)\b)?",
)
_APOSTROPHE = re.compile(r"['’]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: its `stem`, whether it holds a digit, and whether it is a name."""

    stem: str
    is_number: bool
    is_name: bool
    is_common: bool


def stem(word: str) -> str:
    """Cuts the commonest English endings from a lower-case word; other words stay as they are."""
    for ending in ("ingly", "edly", "ing", "ied", "ies", "ed", "es", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            root = word[: -len(ending)]
            if ending in ("ies", "ied"):
                root += "y"
            return root
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def words(text: str) -> list[Word]:
    """The content words of a text in order; grammar words are left out.

    Writing without spaces (Chinese, Japanese, Thai, Khmer, Burmese) gives overlapping pairs of
    characters, which compare well without a dictionary. A name is a word written with a capital
    where grammar asks for none, or one with capitals or digits inside.
    """
    found: list[Word] = []
    for match in _WORD.finditer(text):
        raw = match.group()
        if match.group("unspaced"):
            found.extend(Word(pair, False, False, False) for pair in _pairs(raw))
            continue
        bare = _APOSTROPHE.split(raw, maxsplit=1)[0] if len(raw) > 3 else raw
        lower = bare.lower()
        if lower in STOP_WORDS or (len(lower) == 1 and not lower.isdigit()):
            continue
        is_number = any(c.isdigit() for c in bare)
        is_name = _is_name(text, match.start(), bare, lower)
        found.append(Word(stem(lower), is_number, is_name, lower in COMMON_WORDS))
    return found


def _pairs(run: str) -> list[str]:
    if len(run) < 3:
        return [run]
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _is_name(text: str, start: int, bare: str, lower: str) -> bool:
    if bare[0] == lower[0]:
        return bare != lower
    if len(bare) > 1 and bare[1:] != lower[1:]:
        return True
    if lower in COMMON_WORDS:
        return False
    before = text[:start].rstrip(" \t\"'“‘([*_")
    return bool(before) and before[-1] not in ".!?…:;-–—\n"
