"""The values in a text that a later call may need: no model should have to guess them."""

import re
from collections.abc import Iterator

from perdure.memory.facts.shapes import is_identifier

# Characters of the values that a stub names, and of the text in which they are looked for.
_NAMED = 240
_SCANNED = 8_000
# Characters of the shortest path that is one.
_PATH = 5
# A word of which something must be in this form.
_WORD = re.compile(r"[A-Za-z0-9/#][\w#+@./:-]*")
_TELLING = re.compile(r"\d|/.*/")


def names(text: str, told: str) -> list[str]:
    """The identifiers, dates and paths that only `text` has, as many as a stub shows."""
    found: list[str] = []
    room = _NAMED
    for word in dict.fromkeys(_words(text[:_SCANNED])):
        useful = is_identifier(word) or (word.count("/") > 1 and len(word) > _PATH)
        if useful and len(word) + 2 <= room and word not in told:
            found.append(word)
            room -= len(word) + 2
    return found


def _words(text: str) -> Iterator[str]:
    """The words that may be names of things; fields of JSON are not."""
    for found in _WORD.finditer(text):
        word = found.group().rstrip(".:/-+@")
        if _TELLING.search(word) and not text.startswith('":', found.end()):
            yield word
