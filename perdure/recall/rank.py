"""Ranks messages by BM25, each together with the words of those around it."""

import math
from collections.abc import Mapping, Sequence

from perdure.archive.candidates import REACH, Document

SATURATION = 1.2
LENGTH = 0.75
"""The usual constants of BM25 (k1 and b). Real conversations hardly tell them from others."""
FADING = 1.2
"""How fast the words of a message lose weight in those around it: 0.44 in the next, then 0.27."""
SPEAKER = 2.0
"""Times the score that a message of the one whom the question names has."""


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
    reach: int = REACH,
) -> list[tuple[float, Document]]:
    """Those that hold a term, or stand near one that does, with their scores, best first.

    The words of a message count in it, and less and less in `reach` messages on both sides of it:
    an answer seldom repeats the words of its question. Equal ones come newest first.
    """
    held: dict[int, dict[str, float]] = {}
    lengths = _lengths(documents, reach)
    known = lengths.keys()
    for document in documents:
        for term in document.terms:
            if term in weights:
                for seq in range(document.seq - reach, document.seq + reach + 1):
                    if seq in known:
                        counts = held.setdefault(seq, {})
                        counts[term] = counts.get(term, 0.0) + _share(document.seq - seq)
    mean: float = sum(lengths.values()) / len(lengths) if lengths else 1.0
    scored = []
    for document in documents:
        if document.seq in held:
            counts = held[document.seq]
            norm = SATURATION * (1 - LENGTH + LENGTH * lengths[document.seq] / mean)
            score = sum(weights[t] * n * (SATURATION + 1) / (n + norm) for t, n in counts.items())
            scored.append((score * (SPEAKER if document.role == speaker else 1.0), document))
    return sorted(scored, key=lambda pair: (-pair[0], -pair[1].seq))


def _share(distance: int) -> float:
    return float((1 + abs(distance)) ** -FADING)


def _lengths(documents: Sequence[Document], reach: int) -> dict[int, float]:
    """Terms of each message and, by their share, of those around it."""
    own = {document.seq: len(document.terms) for document in documents}
    around = dict.fromkeys(own, 0.0)
    shares = [(step, _share(step)) for step in range(-reach, reach + 1)]
    for seq, length in own.items():
        for step, share in shares:
            if seq + step in around:
                around[seq + step] += length * share
    return {seq: max(1.0, length) for seq, length in around.items()}
