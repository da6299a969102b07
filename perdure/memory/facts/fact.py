"""The words of the guard: a fact, its kind, and how much a kind matters."""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What makes a clause a fact; the value is the name used in explanations."""

    RULE = "rule"
    HEALTH = "health"
    IDENTIFIER = "identifier"
    NAMING = "naming"
    ADDRESS = "address"
    RELATION = "relation"
    CORRECTION = "correction"
    PREFERENCE = "preference"
    MONEY = "money"
    DATE = "date"
    QUANTITY = "quantity"
    RECORD = "record"
    DETAIL = "detail"


IMPORTANCE = {
    Kind.RULE: 1400,
    Kind.HEALTH: 1400,
    Kind.IDENTIFIER: 1000,
    Kind.NAMING: 1150,
    Kind.RECORD: 800,
    Kind.ADDRESS: 750,
    Kind.CORRECTION: 900,
    Kind.MONEY: 600,
    Kind.PREFERENCE: 500,
    Kind.RELATION: 450,
    Kind.DATE: 400,
    Kind.DETAIL: 350,
    Kind.QUANTITY: 250,
}
"""By which facts are ranked, in thousandths; set by hand. What can be asked for in its exact form
only (an identifier), or does harm when it is forgotten (a rule, an allergy), comes first; a number
among many comes last."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A clause that says what something is, word for word.

    `values` are the parts that are useless unless they are exact (empty for a rule or a
    preference, whose wording is the fact). `day` is written as in a date line ("" if unknown),
    `role` is who said it ("user", "assistant", or "tool" for what a tool was told or returned).
    `rank` is its importance in thousandths, `place` its position among the facts of its source.
    """

    kind: Kind
    text: str
    values: tuple[str, ...]
    day: str
    role: str
    rank: int
    place: int
