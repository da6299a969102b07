"""What a search is asked for, and what it finds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

CANDIDATES = 100
REACH = 5
"""How many messages before and after a candidate come with it."""
MOST_HITS = 2_000
"""Messages that are looked at for one term. What stands in more says little about any of them."""


class Document(NamedTuple):
    """A message as its terms; `terms` in order, as `perdure.memory.terms` makes them."""

    seq: int
    role: str
    at: datetime
    terms: Sequence[str]


@dataclass(frozen=True, slots=True)
class Filters:
    """Which messages may be found; times are both included."""

    role: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def admit(self, document: Document) -> bool:
        """Whether a message may be found."""
        return (
            (self.role is None or document.role == self.role)
            and (self.since is None or document.at >= self.since)
            and (self.until is None or document.at <= self.until)
        )


@dataclass(frozen=True, slots=True)
class Matches:
    """What may fit: at most `CANDIDATES` messages and those around them, by seq.

    `total` are all messages that were searched; `frequencies` how many of them hold a term,
    estimated for one that stands in more than are looked at.
    """

    total: int = 0
    frequencies: dict[str, int] = field(default_factory=dict)
    documents: list[Document] = field(default_factory=list)
