"""The words of the engine: what goes in and what comes out."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

Count = Callable[[str], int]
"""Tokens of a text; a pure function, e.g. the length of its encoding by one fixed vocabulary."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One source message as plain text.

    `seq` is its place in the conversation, `role` is "user" or "assistant", `at` is aware (its
    own zone decides on which day it happened). `text` is what a reader should see: the caller has
    already put captions, tool calls and tool results into words.
    """

    seq: int
    role: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """A piece of memory an answer may quote: a message, an observation or a reflection.

    `when` is the date shown beside a quote unless the text carries date headers of its own; in
    the same way `role` holds for the lines which name no speaker ("" for nobody in particular).
    """

    text: str
    when: str
    role: str


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of the memory, word for word, with its date and speaker.

    `score` is its relevance to the question in thousandths of the rarity of all question words:
    it may pass 1000 and is only comparable between quotes for one question.
    """

    text: str
    when: str
    role: str
    score: int
