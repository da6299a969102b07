"""Ranks messages by BM25, each together with the words of those around it."""

import math
from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import mul

from perdure.archive.candidates import REACH, Document
from perdure.recall.days import Day

SATURATION = 1.2
LENGTH = 0.75
"""The usual constants of BM25 (k1 and b). Real conversations hardly tell them from others."""
FADING = 1.2
"""How fast the words of a message lose weight in those around it: 0.44 in the next, then 0.27."""
OWN = 1.5
"""What a word counts in its own message."""
SPEAKER = 2.0
"""Times the score that a message of the one whom the question names has."""
DATED = 1.5
"""Times the score that a message of a day that the question names has."""


def weights(terms: Sequence[str], frequencies: Mapping[str, int], total: int) -> dict[str, float]:
    """The inverse document frequency of each term that any message holds, as BM25 has it."""
    found = {}
    for term in terms:
        if frequency := frequencies.get(term, 0):
            absent = max(0, total - frequency)
            found[term] = math.log(1 + (absent + 0.5) / (frequency + 0.5))
    return found


def rank(
    documents: Sequence[Document],
    weights: Mapping[str, float],
    *,
    speaker: str | None = None,
    days: Sequence[Day] = (),
    reach: int = REACH,
) -> list[tuple[float, Document]]:
    """Those that hold a term, or stand near one that does, with their scores, best first.

    The words of a message count in it, and less and less in `reach` messages on both sides of it:
    an answer seldom repeats the words of its question. Those of `speaker` come before others, and
    those of `days`. Equal ones come newest first.
    """
    shares = [_share(abs(step)) for step in range(-reach, reach + 1)]
    held: dict[int, dict[str, float]] = {document.seq: {} for document in documents}
    for document in documents:
        for term in filter(weights.__contains__, document.terms):
            for seq, share in enumerate(shares, document.seq - reach):
                if seq in held:
                    counts = held[seq]
                    counts[term] = counts.get(term, 0.0) + share
    lengths = _lengths(documents, shares)
    mean = sum(lengths.values()) / max(1, len(lengths))
    scored = []
    for document in documents:
        if counts := held[document.seq]:
            norm = SATURATION * (1 - LENGTH + LENGTH * lengths[document.seq] / mean)
            score = sum(weights[t] * n * (SATURATION + 1) / (n + norm) for t, n in counts.items())
            if document.role == speaker:
                score *= SPEAKER
            if any(day.holds(document.at) for day in days):
                score *= DATED
            scored.append((score, document))
    return sorted(scored, key=lambda pair: (-pair[0], -pair[1].seq))


def _share(distance: int) -> float:
    return float((1 + distance) ** -FADING) if distance else OWN


def _lengths(documents: Sequence[Document], shares: Sequence[float]) -> dict[int, float]:
    """Terms of each message and, by their share, of those around it."""
    own = {document.seq: len(document.terms) for document in documents}
    reach = len(shares) // 2
    found = {}
    for seq in own:
        around = map(own.get, range(seq - reach, seq + reach + 1), repeat(0))
        found[seq] = max(1.0, sum(map(mul, shares, around)))
    return found
