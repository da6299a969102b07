"""Does a text hold an answer? Compared by what is said, not by how it is written.

Both sides are normalised first:

* width and ligatures (NFKC), case, and the dashes and white space between words;
* accents, Arabic vowel points and the tatweel are left out, so "Zurich" is found in "Zürich"; the
  vowel signs of Indic scripts and of Thai are letters and stay;
* punctuation becomes a space, except for a point between digits;
* digits of every script become 0-9, marks between thousands are left out ("1,150", "1'150" and
  "1.150" are 1150), a decimal comma is a point, and the English number words from zero to twelve
  are digits.

The answer counts where it stands as whole words; in scripts that put no space between words, and
next to a digit and a letter of such a script, anywhere.
"""

import re
import unicodedata

_MARKS = re.compile("[\u0300-\u036f\u0640\u064b-\u065f\u0670]")
_THOUSANDS = re.compile(r"(?<=\d)[,.'’ \u00a0\u202f](?=\d{3}(?!\d))")
_GROUPED = re.compile(r"(?<![\w,.'’])\d{1,3}(?:[,.'’\u00a0\u202f]\d{3})+(?!\d)(?![,.'’]\d{3})")
_DECIMAL = re.compile(r"(?<=\d),(?=\d)")
_POINT = re.compile(r"(?<!\d)\.|\.(?!\d)")
_SPACE = re.compile(r"\s+")
_NUMBERS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
_NUMBER = re.compile(rf"(?<!\w)(?:{'|'.join(_NUMBERS)})(?!\w)")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)


def normalised(text: str) -> str:
    """The form in which answers are compared; see the head of this module."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", plain)))
    plain = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in plain)
    plain = _GROUPED.sub(lambda found: _THOUSANDS.sub("", found.group()), plain)
    plain = _POINT.sub(" ", _DECIMAL.sub(".", plain))
    plain = "".join(c if c == "." or _is_word(c) else " " for c in plain)
    plain = _NUMBER.sub(lambda found: str(_NUMBERS.index(found.group())), plain)
    return _SPACE.sub(" ", plain).strip()


def contains(text: str, answer: str) -> bool:
    """Whether a text holds an answer, both as they were written. A blank answer is in none."""
    return holds(normalised(text), normalised(answer))


def holds(text: str, answer: str) -> bool:
    """The same of texts that are normalised already."""
    start = text.find(answer) if answer else -1
    while start >= 0:
        end = start + len(answer)
        if _ends(text[start - 1 : start], answer[0]) and _ends(text[end : end + 1], answer[-1]):
            return True
        start = text.find(answer, start + 1)
    return False


def _is_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM"


def _ends(beside: str, edge: str) -> bool:
    """Whether a word may end between two characters."""
    if not beside or beside in " .":
        return True
    if beside.isdigit() != edge.isdigit() or not beside.isdigit():
        return bool(_UNSPACED.match(beside) or _UNSPACED.match(edge))
    return False
