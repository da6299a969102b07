"""The importance of each unit of a text among its fellows."""

import re
from collections.abc import Sequence

from perdure.memory.extract.cues import cues
from perdure.memory.extract.importance import Importance, Manner, Terms, Value, importance
from perdure.memory.extract.words import Word, words

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


def is_question(text: str) -> bool:
    """Whether a sentence ends as a question does."""
    return bool(_QUESTION.search(text))


def values(
    texts: Sequence[str], roles: Sequence[str], judge: Importance = importance
) -> list[Value]:
    """The value of each text, oldest first, among its fellows; `judge` decides on it."""
    found = [words(text) for text in texts]
    frequency: dict[str, int] = {}
    for group in found:
        for stem in dict.fromkeys(word.stem for word in group):
            frequency[stem] = frequency.get(stem, 0) + 1
    last = max(1, len(texts) - 1)
    return [
        judge(_terms(text, role, _rated(group, frequency, len(texts)), 1000 * place // last))
        for place, (text, role, group) in enumerate(zip(texts, roles, found, strict=True))
    ]


def log2(number: int) -> int:
    """Binary logarithm of a positive integer in 1/256, the fraction interpolated linearly."""
    whole = number.bit_length() - 1
    return (whole << 8) + (((number << 8) >> whole) - 256)


def rarity(occurrences: int, total: int) -> int:
    """Weight of a word which `occurrences` of `total` units use, about 256 per halving."""
    return log2((total + 2) * 16 // (occurrences + 1)) - log2(16) + 128


def _rated(
    group: Sequence[Word], frequency: dict[str, int], total: int
) -> tuple[tuple[Word, int], ...]:
    return tuple((word, rarity(frequency[word.stem], total)) for word in group)


def _terms(text: str, role: str, rated: tuple[tuple[Word, int], ...], recency: int) -> Terms:
    return Terms(
        text=text,
        role=role,
        words=rated,
        cues=cues(text),
        question=is_question(text),
        acknowledges=bool(_ACKNOWLEDGEMENT.match(text)),
        manner=_manner(text),
        recency=recency,
    )


def _manner(text: str) -> Manner | None:
    if _CAPTION.match(text):
        return Manner.CAPTION
    if _YOU.search(text) and not _ME.search(text):
        return Manner.ABOUT_YOU
    if _POINTING.match(text):
        return Manner.POINTING
    return Manner.CHEERING if _CHEERING.match(text) else None
