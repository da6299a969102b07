"""A conversation as it stood: what a model was sent, and how a turn left the memory."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from perdure.archive.records import ChainKey
from perdure.contract import Held, LedgerRow
from perdure.errors import PerdureError, Refused
from perdure.memory.event import Event, Sent
from perdure.memory.message import Message
from perdure.memory.project import PROJECTIONS, Context
from perdure.memory.rebuild import filled, outline
from perdure.memory.state import MEMORY_VERSION, InvariantError, Memory

if TYPE_CHECKING:
    from perdure.archive.archive import Archive

PAGE = 500
Source = Literal["history", "archive"]


class Records(Protocol):
    """What is known of a conversation: all that was said, compacted and changed, in order."""

    def messages(self, first_seq: int, last_seq: int) -> AsyncIterator[Message]:
        """The messages `first_seq..last_seq`, both included."""

    async def rows(self, before: int, limit: int) -> list[tuple[int, LedgerRow]]:
        """The last `limit` rows of the ledger with a number under `before`, ascending."""

    async def events(self, before: int) -> list[Event]:
        """The events with a number under `before` that changed the context."""

    async def turned(self, turn: int) -> Event | None:
        """The event that ended a turn, or none."""


@dataclass(frozen=True)
class Archived:
    """The records of a chain that the archive alone has."""

    archive: "Archive"
    key: ChainKey

    async def messages(self, first_seq: int, last_seq: int) -> AsyncIterator[Message]:
        """See `Records`."""
        while first_seq <= last_seq:
            page = await self.archive.messages(self.key, first_seq, last_seq, limit=PAGE)
            if not page:
                return
            for message in page:
                yield message
            first_seq = page[-1].seq + 1

    async def rows(self, before: int, limit: int) -> list[tuple[int, LedgerRow]]:
        """See `Records`."""
        return await self.archive.ledger(self.key, before, limit=limit)

    async def events(self, before: int) -> list[Event]:
        """See `Records`."""
        return await self.archive.events(self.key, before, turns=False)

    async def turned(self, turn: int) -> Event | None:
        """See `Records`."""
        return await self.archive.turned(self.key, turn)


@dataclass(frozen=True)
class Moment:
    """A context that a model was sent, with the memory that it was projected from.

    `source` is where it was rebuilt from: Temporal's history, or the records that the archive
    and the workflow keep. Its hash is the recorded one, or it would not exist.
    """

    turn: int
    step: int
    memory: Memory
    context: Context
    source: Source

    def as_json(self) -> dict[str, Any]:
        """As the query `context` gives it, with `step` and `source`."""
        return {
            "system": self.context.system,
            "messages": self.context.messages,
            "tokens": self.context.tokens,
            "sha256": self.context.sha256,
            "turn": self.turn,
            "step": self.step,
            "source": self.source,
        }


def checked_moment(turn: int, sent: Sent, memory: Memory, system: str, source: Source) -> Moment:
    """The context of `memory`, by the projection that sent it. Raises PerdureError.

    That is when its hash is not the recorded one, or this code does not know the projection.
    """
    project = PROJECTIONS.get(sent.version)
    if project is None:
        raise PerdureError(
            f"the context of turn {turn} was sent by projection {sent.version}, which this "
            f"perdure does not know; upgrade it"
        )
    context = project(memory, system, 0).model_copy(update={"tokens": sent.tokens})
    if context.sha256 != sent.sha256:
        raise PerdureError(
            f"the context of turn {turn}, step {sent.step}, cannot be rebuilt from the {source}: "
            f"it has the hash {context.sha256[:12]}, and {sent.sha256[:12]} was sent"
        )
    return Moment(turn, sent.step, memory, context, source)


def no_such_turn(held: Held, turn: int) -> str:
    """Why there is nothing to know of a turn."""
    turns = held.resumable.turns
    if turn > turns or turn < 1:
        return f"there is no turn {turn}; the last one was {turns:,}"
    if turn == turns:
        return f"turn {turn} is still in progress"
    return f"nothing was recorded of turn {turn}"


def chosen(turn: int, sent: list[Sent], step: int | None) -> Sent:
    """The last context of a turn, or that of a step. Raises Refused."""
    if not sent:
        raise Refused(f"turn {turn} has ended before a model was sent anything")
    found = [s for s in sent if step in (None, s.step)]
    if not found:
        steps = ", ".join(str(s.step) for s in sent)
        raise Refused(f"turn {turn} has no step {step}; a model was asked in step {steps}")
    return found[-1]


async def memory_before(
    records: Records, seq: int, row: int, event: int, version: int = MEMORY_VERSION
) -> tuple[Memory, dict[str, Any]]:
    """The memory made of what came before three numbers, and its configuration as JSON.

    Raises PerdureError when something of it was not archived.
    """
    entries = [
        found.observation
        for start in range(0, row, PAGE)
        for _, found in await records.rows(min(row, start + PAGE), min(row - start, PAGE))
    ]
    made = outline(entries, await records.events(event))
    tail = [m async for m in records.messages(made.tail_seq, seq - 1)]
    pinned = {p: m for p in made.pinned_seqs async for m in records.messages(p, p)}
    missing = len(entries) < row or len(pinned) < len(made.pinned_seqs)
    if missing or made.tail_seq + len(tail) != seq:
        raise PerdureError(
            f"not all of the {seq:,} messages and {row:,} compactions until then were archived"
        )
    try:
        return filled(made, tail, pinned, version=version), made.config
    except InvariantError as error:
        raise PerdureError(f"what was archived until then is not whole: {error}") from None


async def moment(records: Records, turned: Event, step: int | None = None) -> Moment:
    """What a model was sent in a turn: in its last step, or another. Raises PerdureError."""
    ended = turned.turned
    assert ended is not None
    sent = chosen(ended.turn, ended.sent, step)
    memory, config = await memory_before(records, sent.seq, sent.row, sent.event, sent.version)
    return checked_moment(ended.turn, sent, memory, str(config.get("system", "")), "archive")
