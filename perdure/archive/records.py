"""What goes into the archive and comes out of it, beside the memory's own types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from perdure.archive.storable import refuse_unstorable
from perdure.contract import LedgerRow
from perdure.errors import ArchiveError
from perdure.memory.event import Event
from perdure.memory.message import Message
from perdure.memory.observation import Observation


@dataclass(frozen=True, slots=True, order=True)
class ChainKey:
    """Names one life of a conversation.

    `namespace` is Temporal's, `conversation` the workflow id, `chain` the id of the first run
    of the workflow, or a new id for what a reset made. Raises `ArchiveError` for a blank one.
    """

    namespace: str
    conversation: str
    chain: str

    def __post_init__(self) -> None:
        for name in ("namespace", "conversation", "chain"):
            value = getattr(self, name)
            if not value:
                raise ArchiveError(f"A chain needs a {name}; it is blank.")
            refuse_unstorable(value, f"The {name} of a chain")


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain as the archive knows it; it has a parent when it shares another one's past.

    The four marks say how much it shares, all included; -1 is nothing of that kind.
    """

    key: ChainKey
    created_at: datetime
    closed_at: datetime | None = None
    parent: ChainKey | None = None
    parent_until_seq: int | None = None
    parent_until_turn: int | None = None
    parent_until_row: int | None = None
    parent_until_event: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What is saved together, or not at all.

    `ledger` is by n, the number of the compaction in the conversation; `replies` by turn, each
    any JSON object.
    """

    key: ChainKey
    messages: Sequence[Message] = ()
    observations: Sequence[Observation] = ()
    ledger: Mapping[int, LedgerRow] = field(default_factory=dict)
    replies: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    events: Sequence[Event] = ()


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes that are too big for the history, known by their hash."""

    sha256: str
    media_type: str
    data: bytes = field(repr=False)


class Piece(BaseModel):
    """A part of what the model says in a step of a turn, in answer to the message `message_id`.

    `start` is its place in the text of that step, in characters; an attempt begins at 0 and takes
    the place of an earlier one of the same turn and step. `id` grows with every piece; it is 0 for
    one that was not passed on, but comes with the reply.
    """

    model_config = ConfigDict(frozen=True)

    message_id: str
    turn: int
    step: int
    attempt: int
    start: int
    text: str
    id: int = 0

    @property
    def end(self) -> int:
        """The place behind its last character."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Removed:
    """How many of each a deletion has removed; `blobs` are those that nobody else links to."""

    chains: int = 0
    messages: int = 0
    observations: int = 0
    ledger_rows: int = 0
    replies: int = 0
    events: int = 0
    blobs: int = 0
