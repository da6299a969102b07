"""How much a unit is worth: the weights of its words and a factor for the rest.

All numbers are integers, so that no machine rounds differently. The factors were set by hand, as
round figures.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perdure.memory.extract.cues import Cue, cues
from perdure.memory.extract.words import Word, words

CUE_FACTOR = {
    Cue.CONSTRAINT: 20_000,
    Cue.CORRECTION: 400,
    Cue.PREFERENCE: 100,
    Cue.DECISION: 100,
    Cue.REQUEST: 150,
    Cue.FACT: 250,
    Cue.NAMING: 500,
    Cue.TIME: 500,
    Cue.AMOUNT: 300,
    Cue.LISTING: 200,
    Cue.HEALTH: 4_000,
    Cue.IDENTIFIER: 2_500,
    Cue.MONEY: 1_600,
}
"""What a cue adds, in thousandths. A constraint is taken before all else wherever it fits."""

QUESTION = 400
ABOUT_YOU = 500
POINTING = 750
CHEERING = 700
CAPTION = 400
SMALL_TALK = 150
"""Thousandths which are left to a question, to a sentence about the other person alone, to one
which starts by pointing ("that is ..."), to an encouragement ("keep it up"), to the caption of a
picture, and to a greeting or an acknowledgement."""

COMMON = 350
NAME = 1_800
NUMBER = 1_600
"""Thousandths of the weight of an everyday word, of a name, and of a number."""

RAREST = 1_000
"""The most a word can weigh for its rarity: a word used once is not worth more in a long text."""

_ACKNOWLEDGEMENT = re.compile(
    r"^(?:thanks?(?: you)?|hey|hi|hello|bye|goodbye|take care|see you|talk (?:to you )?soon"
    r"|you['’]re welcome"
    r"|no problem|sure|ok(?:ay)?|great|cool|nice|awesome|congrat\w*|good (?:to|luck|morning|night)"
    r"|sounds (?:good|great|like|fun)|glad|happy to|got it|keep (?:it )?up|no worries|can['’]t wait"
    r"|你好|谢谢|好的|嗯|再见|不客气|ありがとう|こんにちは|はい|привет|спасибо|хорошо|пока|ладно"
    r"|مرحبا|شكرا|حسنا|नमस्ते|धन्यवाद|ठीक है|สวัสดี|ขอบคุณ|ตกลง|โอเค)(?!\w)",
    re.IGNORECASE,
)
_ME = re.compile(r"\b(?:i|i['’]\w+|my|me|we|we['’]\w+|our|us|mine)\b", re.IGNORECASE)
_YOU = re.compile(r"\b(?:you|your|yours)\b", re.IGNORECASE)
_POINTING = re.compile(r"(?:it|that|this|these|those|there)\b", re.IGNORECASE)
_CAPTION = re.compile(r"\[(?:image|picture|photo|video)\b", re.IGNORECASE)
_CHEERING = re.compile(r"(?:keep|let|just|go|enjoy|have|hope|can['’]t wait|stay)\b", re.IGNORECASE)
_QUESTION = re.compile(r"[?？؟]\W*$")


SHORT = 6
"""Content words below which a sentence that opens like small talk is nothing but small talk."""


@dataclass(frozen=True, slots=True)
class Value:
    """What a unit offers: distinct word stems with their weights, and `factor` in thousandths."""

    weights: tuple[tuple[str, int], ...]
    factor: int


def is_question(text: str) -> bool:
    """Whether a sentence ends as a question does."""
    return bool(_QUESTION.search(text))


def values(texts: Sequence[str], roles: Sequence[str]) -> list[Value]:
    """The value of each text among its fellows: words which few of them use weigh more."""
    found = [words(text) for text in texts]
    frequency: dict[str, int] = {}
    for group in found:
        for stem in dict.fromkeys(word.stem for word in group):
            frequency[stem] = frequency.get(stem, 0) + 1
    return [
        Value(_weights(group, frequency, len(texts)), _factor(text, role, group))
        for text, role, group in zip(texts, roles, found, strict=True)
    ]


def log2(number: int) -> int:
    """Binary logarithm of a positive integer in 1/256, the fraction interpolated linearly."""
    whole = number.bit_length() - 1
    return (whole << 8) + (((number << 8) >> whole) - 256)


def rarity(occurrences: int, total: int) -> int:
    """Weight of a word which `occurrences` of `total` units use, about 256 per halving."""
    return log2((total + 2) * 16 // (occurrences + 1)) - log2(16) + 128


def _weights(
    group: Sequence[Word], frequency: dict[str, int], total: int
) -> tuple[tuple[str, int], ...]:
    weights: dict[str, int] = {}
    for word in group:
        weight = min(rarity(frequency[word.stem], total), RAREST)
        if word.is_number:
            weight = weight * NUMBER // 1000
        elif word.is_name:
            weight = weight * NAME // 1000
        if word.is_common:
            weight = weight * COMMON // 1000
        weights[word.stem] = max(weight, weights.get(word.stem, 0))
    return tuple(weights.items())


def _factor(text: str, role: str, group: Sequence[Word]) -> int:
    found = cues(text)
    bonus = sum(CUE_FACTOR[cue] for cue in found)
    if Cue.CONSTRAINT in found and role == "assistant":
        bonus -= CUE_FACTOR[Cue.CONSTRAINT]
    factor = 1000 + bonus
    if _ACKNOWLEDGEMENT.match(text) and len(group) < SHORT:
        factor = factor * SMALL_TALK // 1000
    if is_question(text):
        factor = factor * QUESTION // 1000
    elif _CAPTION.match(text):
        factor = factor * CAPTION // 1000
    elif _YOU.search(text) and not _ME.search(text):
        factor = factor * ABOUT_YOU // 1000
    elif _POINTING.match(text):
        factor = factor * POINTING // 1000
    elif _CHEERING.match(text):
        factor = factor * CHEERING // 1000
    return factor
