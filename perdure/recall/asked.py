"""What is looked for, and what was found of it, between the steps of a recall."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perdure.archive import ChainKey
from perdure.archive.candidates import Filters
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.recall.found import Excerpt

if TYPE_CHECKING:
    from perdure.archive import Archive


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its `terms`, and where to look; `most` are wanted.

    The archive is asked for what stands before the message `before` (None: for all). `tail` and
    `entries` are what the workflow holds, of which the archive may not know yet.
    """

    question: str
    terms: Sequence[str]
    filters: Filters
    archive: "Archive | None"
    key: ChainKey
    tail: Sequence[Message]
    entries: Sequence[Observation]
    before: int | None
    most: int


@dataclass(frozen=True, slots=True)
class Found:
    """What fits, whole and best first, out of `total`, and what each term weighs."""

    total: int
    weights: Mapping[str, float]
    excerpts: list[Excerpt]
