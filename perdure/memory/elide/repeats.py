"""Content that is said again later: found by its words, told by pointing at the newest copy."""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from perdure.memory.elide.names import names

# Thousandths of shared word triples from which two texts say nearly the same.
NEAR = 850
# From here on the difference to the newer text may still be clearly smaller than the text.
RELATED = 500
# Thousandths of a text's size that its difference must stay below.
SMALLER = 700
# Characters below which a repetition is not worth a stub.
SHORTEST = 300
# One word in so many begins a triple that is looked up; the comparison itself takes all.
SAMPLED = 4
# Texts with fewer blanks are compared by character.
_CHARS_PER_WORD = 12
_UNIT = re.compile(r"[^\n.!?。！？।]+[.!?。！？।]*")

Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Text:
    """The text of a block: where it stands, and by whom it was said."""

    seq: int
    index: int
    text: str
    of_user: bool


class _Index(NamedTuple):
    """Newer texts: the newest of each wording, and by triple the numbers of those that have it."""

    same: dict[str, Text]
    begun: dict[Triple, list[int]]


def _words(text: str) -> list[str]:
    return text.split() if text.count(" ") * _CHARS_PER_WORD >= len(text) else list(text)


def _triples(words: Sequence[str]) -> Iterator[Triple]:
    return zip(words, words[1:], words[2:], strict=False)


class _Beginnings(dict[str, bool]):
    """Whether a word begins triples that are looked up; decided once for each word."""

    def __missing__(self, word: str) -> bool:
        chosen = self[word] = zlib.crc32(word.encode()) % SAMPLED == 0
        return chosen


def _sample(words: Sequence[str], begins: _Beginnings) -> dict[Triple, None]:
    return dict.fromkeys(t for t in _triples(words) if begins[t[0]])


def similarity(one: str, other: str) -> int:
    """Shared word triples in thousandths of all (Dice): 1,000 for the same words in one order."""
    a, b = Counter(_triples(_words(one))), Counter(_triples(_words(other)))
    total = sum(a.values()) + sum(b.values())
    return 2_000 * sum(min(n, b[t]) for t, n in a.items() if t in b) // total if total else 0


def _units(text: str) -> list[str]:
    return [unit.strip() for unit in _UNIT.findall(text) if unit.strip()]


def difference(old: str, new: str) -> list[str]:
    """The sentences and lines that only `old` has, as they stand there."""
    there = dict.fromkeys(_units(new))
    return [unit for unit in _units(old) if unit not in there]


def repeats(texts: Sequence[Text]) -> Iterator[tuple[Text, str]]:
    """The texts that a newer one makes superfluous, each with its stub; newest first.

    A user's text is never told by less than its difference, and only by another of the user's,
    since what a tool or the assistant repeats of it may be elided in turn.
    """
    all_texts, of_users, begins = _Index({}, {}), _Index({}, {}), _Beginnings()
    for number in range(len(texts) - 1, -1, -1):
        text = texts[number]
        if len(text.text) < SHORTEST:
            continue
        same, begun = of_users if text.of_user else all_texts
        if (newest := same.get(text.text)) is not None:
            yield text, f"[message {text.seq} said the same as message {newest.seq}]"
            continue
        sample = _sample(_words(text.text), begins)
        hits = Counter(chain.from_iterable(begun[t] for t in sample if t in begun))
        # Ties go to the newer one, which has the higher number.
        near = max(hits, key=lambda n: (hits[n], n), default=None)
        if near is not None and 2 * hits[near] >= len(sample):
            stub = _told_by(text, texts[near])
            if stub is not None:
                yield text, stub
                continue
        for index in (all_texts, of_users) if text.of_user else (all_texts,):
            index.same.setdefault(text.text, text)
            for triple in sample:
                index.begun.setdefault(triple, []).append(number)


def _told_by(old: Text, new: Text) -> str | None:
    alike = similarity(old.text, new.text)
    if alike < RELATED:
        return None
    only = difference(old.text, new.text)
    head = f"message {old.seq} said {alike // 10} % the same as message {new.seq}"
    if not only and (alike >= NEAR or not old.of_user):
        return f"[{head}]"
    told = "[{}; only in message {}: {}]".format(head, old.seq, "\n".join(only))
    if only and len(told) * 1_000 < SMALLER * len(old.text):
        return told
    if alike < NEAR or old.of_user:
        return None
    own = names(old.text, new.text)
    return f"[{head}; only it names {', '.join(own)}]" if own else f"[{head}; the record has it]"
