"""How important a unit of text is: one function of named terms, with its weights as plain data.

All numbers are integers, so that no machine rounds differently. The weights were set by hand, as
round figures.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from perdure.memory.extract.cues import Cue
from perdure.memory.extract.words import Word


class Manner(Enum):
    """How a sentence speaks when it says little by itself."""

    CAPTION = "caption"
    """It is the caption of a picture."""
    ABOUT_YOU = "about you"
    """It speaks of the other person alone."""
    POINTING = "pointing"
    """It starts by pointing ("that is ...")."""
    CHEERING = "cheering"
    """It encourages ("keep it up")."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What is known of a unit, a clause or sentence, among the units it is compared with.

    `role` is who says it: "user", "assistant", "tool" for a line about a call, or "" for nobody
    in particular. `words` are its
    content words in order, each with its rarity: about 256 for each time that the share of units
    which use it halves. `cues` are what it announces, `question` whether it ends as one,
    `acknowledges` whether it opens as a greeting or an acknowledgement does. `recency` runs from
    0, the oldest unit, to 1,000, the newest.
    """

    text: str
    role: str
    words: tuple[tuple[Word, int], ...]
    cues: tuple[Cue, ...]
    question: bool
    acknowledges: bool
    manner: Manner | None
    recency: int

    @property
    def length(self) -> int:
        """Content words."""
        return len(self.words)

    @property
    def entities(self) -> list[str]:
        """The stems of the names in it."""
        return [word.stem for word, _ in self.words if word.is_name and not word.is_number]

    @property
    def numbers(self) -> list[str]:
        """The words in it that hold a digit."""
        return [word.stem for word, _ in self.words if word.is_number]


@dataclass(frozen=True, slots=True)
class Value:
    """What a unit offers: distinct word stems with their weights, and `factor` in thousandths.

    The choice takes the units that offer most per token: the weight of the words that were not
    said yet, times the factor.
    """

    weights: tuple[tuple[str, int], ...]
    factor: int


Importance = Callable[[Terms], Value]
"""A pure function. A worker may have its own; it must stand at the top of a module."""

_CUES = {
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
_MANNERS = {
    Manner.CAPTION: 400,
    Manner.ABOUT_YOU: 500,
    Manner.POINTING: 750,
    Manner.CHEERING: 700,
}


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each term, in thousandths unless it says otherwise.

    * cues: `cues` adds to the factor. A constraint is taken before all else wherever it fits,
      and it is never the assistant's to make.
    * question: `question` is left of the factor for a question, which seldom tells anything.
    * role: `assistant` is left for what the assistant says, `tool` for what a tool was told.
    * length: `small_talk` is left for an acknowledgement of fewer than `short` content words.
      Beyond that the choice itself divides by tokens.
    * recency: the newest unit has `recency` more than the oldest.
    * entities and numbers: a name weighs `entity` and a number `number` times a word of the
      same rarity, an everyday word `common` times. Rarity counts up to `rarest`: a word used
      once is not worth more in a long text.
    * `manners`: what is left for a sentence that says little by itself.
    """

    cues: Mapping[Cue, int] = field(default_factory=_CUES.copy)
    manners: Mapping[Manner, int] = field(default_factory=_MANNERS.copy)
    question: int = 400
    assistant: int = 1_000
    tool: int = 3_000
    small_talk: int = 150
    short: int = 6
    recency: int = 0
    entity: int = 1_800
    number: int = 1_600
    common: int = 350
    rarest: int = 1_000


WEIGHTS = Weights()


def importance(terms: Terms, weights: Weights = WEIGHTS) -> Value:
    """The default: what a unit offers by its terms."""
    return Value(_offered(terms, weights), _factor(terms, weights))


def _weight(word: Word, rarity: int, weights: Weights) -> int:
    """What one word is worth, by its rarity and by what it is."""
    weight = min(rarity, weights.rarest)
    if word.is_number:
        weight = weight * weights.number // 1000
    elif word.is_name:
        weight = weight * weights.entity // 1000
    if word.is_common:
        weight = weight * weights.common // 1000
    return weight


def _offered(terms: Terms, weights: Weights) -> tuple[tuple[str, int], ...]:
    offered: dict[str, int] = {}
    for word, rarity in terms.words:
        weight = _weight(word, rarity, weights)
        offered[word.stem] = max(weight, offered.get(word.stem, 0))
    return tuple(offered.items())


def _factor(terms: Terms, weights: Weights) -> int:
    bonus = sum(weights.cues.get(cue, 0) for cue in terms.cues)
    if Cue.CONSTRAINT in terms.cues and terms.role == "assistant":
        bonus -= weights.cues.get(Cue.CONSTRAINT, 0)
    factor = 1000 + bonus
    if terms.acknowledges and terms.length < weights.short:
        factor = factor * weights.small_talk // 1000
    if terms.question:
        factor = factor * weights.question // 1000
    elif terms.manner is not None:
        factor = factor * weights.manners.get(terms.manner, 1000) // 1000
    if terms.role == "assistant":
        factor = factor * weights.assistant // 1000
    elif terms.role == "tool":
        factor = factor * weights.tool // 1000
    return factor * (1000 + terms.recency * weights.recency // 1000) // 1000
