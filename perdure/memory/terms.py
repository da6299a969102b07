"""The words of a text as the archive's index holds them, in every script."""

import re
import unicodedata

from perdure.memory.extract.common import STOP_WORDS

LONGEST = 64
"""Characters of a term: enough for a SHA-256; what is longer is known by its beginning."""

# Grammar words that are also names of what people ask about: to die, to be ill, the month.
_MEANT = frozenset(("die", "ill", "may"))
_SILENT = STOP_WORDS - _MEANT

# Accents, Hebrew points and Arabic vowels. Marks of Indic and Thai writing are letters.
_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u200b-\u200f\ufe00-\ufe0f]+"
)
# Writing without spaces: Thai, Lao, Burmese, Khmer, kana, ideographs.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\U00020000-\U0003ffff"
)
_LETTER = rf"(?:(?![{_UNSPACED}])(?:[^\W_]|[\u0900-\u0dff]))"
_TERM = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>{_LETTER}+(?:[-_.,:/@#+'’]{_LETTER}+)*)"
    r"|(?P<sign>[\u2190-\u2bff\U0001f000-\U0001faff])"
)
_JOINT = re.compile(r"[-_.,:/@#+'’]")
_APOSTROPHE = re.compile(r"['’](?:s|t|re|ve|ll|d|m)$")


def terms(text: str) -> list[str]:
    """The terms of a text in order, repeated as often as they stand there; grammar is left out.

    Full-width and other compatibility forms, case, and accents make no difference. English words
    are cut to a stem. Writing without spaces gives overlapping pairs of characters. What is
    written together with signs ("HM-48213", "1,150", "a@b.org") is one term without them, and
    its parts are terms too; an emoji is one.
    """
    found: list[str] = []
    for match in _TERM.finditer(folded(text)):
        kind, raw = match.lastgroup, match.group()
        if kind == "unspaced":
            found += _pairs(raw)
        elif kind == "sign":
            found.append(raw)
        else:
            found += _of_word(raw)
    return found


def folded(text: str) -> str:
    """`text` without the differences that a search overlooks: width, case, accents."""
    if text.isascii():
        return text.lower()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFKC", bare).casefold()


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _of_word(raw: str) -> list[str]:
    if raw.isalpha():
        return [] if raw in _SILENT else [stem(raw)[:LONGEST]]
    word = _APOSTROPHE.sub("", raw)
    parts = [part for part in _JOINT.split(word) if part]
    whole = "".join(parts)
    written = parts if len(parts) == 1 else [whole, *parts]
    return [stem(w)[:LONGEST] for w in written if w not in _SILENT]


def stem(word: str) -> str:
    """Cuts the common English endings from a folded word, so that its forms are one term."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + ("y" if ending in ("ied", "ies") else "")
            break
    if len(word) < 4:
        return word
    if word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word[:-1] + "i" if word[-1] == "y" else word.removesuffix("e")


_ENDINGS = ("ingly", "edly", "ings", "ing", "ied", "ies", "ed", "es", "ly", "s")
