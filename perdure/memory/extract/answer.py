"""The assistant without a model: it answers by quoting what it remembers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perdure.memory.extract.importance import WEIGHTS
from perdure.memory.extract.lines import read
from perdure.memory.extract.score import is_question, rarity
from perdure.memory.extract.sentences import sentences
from perdure.memory.extract.types import Quote, Remembered
from perdure.memory.extract.words import words

RELEVANT = 350
"""Thousandths of the question's weight a quote must hold; below that it does not know."""

NEIGHBOUR = 400
"""Thousandths of its weight which a word of the question has when it stands in the sentence just
before or after: an answer seldom repeats what was asked."""


SORT = 1_300
"""Thousandths of its score which a sentence has if it holds what the question asks for: a number
after "how much", a date after "when"."""

_ASKED = (
    (
        re.compile(r"\bhow much\b|\bwhat (?:price|sum|amount)\b|多少钱|сколько", re.IGNORECASE),
        re.compile(
            r"[$€£¥₹₽]\s?\d|\d\s?(?:[$€£¥₹₽元円%]|(?!(?:st|nd|rd|th)\b)[a-z]{3})", re.IGNORECASE
        ),
    ),
    (re.compile(r"\bhow many\b|几个|多少", re.IGNORECASE), re.compile(r"\d")),
    (
        re.compile(r"\b(?:when|what (?:day|date|time))\b|什么时候|когда", re.IGNORECASE),
        re.compile(r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE),
    ),
    (
        re.compile(r"\b(?:number|code|reference|id)\b", re.IGNORECASE),
        re.compile(r"(?<![\w,.])(?=[\w-]*\d)[\w-]{4,}(?![,.]?\w)"),
    ),
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    when: str
    role: str
    stems: tuple[str, ...]


def answer(question: str, remembered: Sequence[Remembered], limit: int = 3) -> list[Quote]:
    """At most `limit` sentences which answer best, best first; empty means "I do not know".

    A sentence is found by the rarity of the words it shares with the question; questions are not
    quoted, nor is the same sentence twice. Equal sentences in rank come newest first.
    """
    found = list(_sentences(remembered))
    weights = _weights(question, found)
    total = sum(weights.values())
    if not total or limit < 1:
        return []
    wanted = _wanted(question)
    ranks = []
    for index, sentence in enumerate(found):
        score = _score(found, index, weights) * 1000 // total
        ranks.append(
            (score * SORT // 1000 if wanted and wanted.search(sentence.text) else score, index)
        )
    ranks.sort(reverse=True)
    quotes: dict[str, Quote] = {}
    for score, index in ranks:
        sentence = found[index]
        if score < RELEVANT or len(quotes) == limit:
            break
        if sentence.text not in quotes and not is_question(sentence.text):
            quotes[sentence.text] = Quote(sentence.text, sentence.when, sentence.role, score)
    return list(quotes.values())


def _wanted(question: str) -> re.Pattern[str] | None:
    """What a sentence holds that answers a question of this sort."""
    return next((held for asked, held in _ASKED if asked.search(question)), None)


def _sentences(remembered: Sequence[Remembered]) -> list[_Sentence]:
    found: list[_Sentence] = []
    for piece in remembered:
        for line in read(piece.text):
            for text in sentences(line.text):
                stems = tuple(dict.fromkeys(word.stem for word in words(text)))
                when, role = line.day or piece.when, line.role or piece.role
                found.append(_Sentence(text, when, role, stems))
    return found


def _weights(question: str, found: Sequence[_Sentence]) -> dict[str, int]:
    """Weight of each word of the question, rarest among the remembered sentences highest."""
    frequency: dict[str, int] = {}
    for sentence in found:
        for stem in sentence.stems:
            frequency[stem] = frequency.get(stem, 0) + 1
    weights: dict[str, int] = {}
    for word in words(question):
        weight = rarity(frequency.get(word.stem, 0), len(found))
        if word.is_common:
            weight = weight * WEIGHTS.common // 1000
        elif word.is_number:
            weight = weight * WEIGHTS.number // 1000
        elif word.is_name:
            weight = weight * WEIGHTS.entity // 1000
        weights[word.stem] = weight
    return weights


def _score(found: Sequence[_Sentence], index: int, weights: dict[str, int]) -> int:
    own = found[index].stems
    score = sum(weights[stem] for stem in own if stem in weights)
    if not score:
        return 0
    around = [
        stem
        for near in (index - 1, index + 1)
        if 0 <= near < len(found)
        for stem in found[near].stems
        if stem in weights and stem not in own
    ]
    return score + sum(weights[stem] for stem in dict.fromkeys(around)) * NEIGHBOUR // 1000
