"""The part of a text that fits a question, when all of it is too long."""

from collections.abc import Callable, Mapping

from perdure.memory.extract.sentences import sentences
from perdure.memory.terms import terms

GAP = "..."
Count = Callable[[str], int]


def excerpt(text: str, weights: Mapping[str, float], most: int, count: Count) -> str:
    """`text` if it has at most `most` tokens, else the sentences around its best one.

    The best has the heaviest terms of the question; those around it are added, the better side
    first, while there is room. What is left out shows as "...". One that is too long by itself
    is cut at words, around the first word of the question.
    """
    if count(text) <= most:
        return text
    parts = list(sentences(text))
    scores = [sum(weights.get(t, 0.0) for t in set(terms(part))) for part in parts]
    first = last = max(range(len(parts)), key=lambda i: (scores[i], -i))
    if count(_joined(parts, first, last)) > most:
        return _cut(parts[first], weights, most, count)
    while True:
        sides = [i for i in (first - 1, last + 1) if 0 <= i < len(parts)]
        sides.sort(key=lambda i: (-scores[i], -i))
        for side in sides:
            wider = _joined(parts, min(first, side), max(last, side))
            if count(wider) <= most:
                first, last = min(first, side), max(last, side)
                break
        else:
            return _joined(parts, first, last)


def _joined(parts: list[str], first: int, last: int) -> str:
    before = [GAP] if first else []
    after = [GAP] if last < len(parts) - 1 else []
    return " ".join([*before, *parts[first : last + 1], *after])


def _cut(part: str, weights: Mapping[str, float], most: int, count: Count) -> str:
    """A piece of one long sentence, or of code."""
    at = next((part.find(w) for w in part.split() if any(t in weights for t in terms(w))), 0)
    # A token has a character at least, and seldom more than four.
    size = 4 * most
    while size > 1:
        start = max(0, min(at - size // 4, len(part) - size))
        piece = part[start : start + size].strip()
        if " " in piece and start:
            piece = piece.partition(" ")[2]
        left = f"{GAP} " if start else ""
        right = ""
        if start + size < len(part):
            right = f" {GAP}"
            if " " in piece and not part[start + size].isspace():
                piece = piece.rpartition(" ")[0]
        if count(f"{left}{piece}{right}") <= most:
            return f"{left}{piece}{right}"
        size = size * 3 // 4
    return GAP
