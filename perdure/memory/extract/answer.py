"""The assistant without a model: it answers by quoting what it remembers."""

from collections.abc import Sequence

from perdure.memory.extract.lines import read
from perdure.memory.extract.score import rarity
from perdure.memory.extract.sentences import sentences
from perdure.memory.extract.types import Quote, Remembered
from perdure.memory.extract.words import words

RELEVANT = 300
"""Thousandths of the question's weight a quote must hold; below that it does not know."""


def answer(question: str, remembered: Sequence[Remembered], limit: int = 3) -> list[Quote]:
    """The sentences which answer best, best first; empty when nothing is relevant enough."""
    asked = {word.stem: word for word in words(question)}
    found = [
        (sentence, line.day or piece.when, line.role or piece.role)
        for piece in remembered
        for line in read(piece.text)
        for sentence in sentences(line.text)
    ]
    stems = [dict.fromkeys(word.stem for word in words(text)) for text, _, _ in found]
    weight = {
        stem: rarity(sum(stem in group for group in stems), len(stems))
        * (300 if word.is_common else 1000)
        // 1000
        for stem, word in asked.items()
    }
    total = sum(weight.values())
    if not total:
        return []
    scored = [
        (sum(weight[s] for s in asked if s in group) * 1000 // total, index)
        for index, group in enumerate(stems)
    ]
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    return [
        Quote(found[index][0], found[index][1], found[index][2], score)
        for score, index in scored[:limit]
        if score >= RELEVANT
    ]
