"""All that was said in a conversation, wherever it stands: in the workflow or the archive."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from perdure.archive import ChainKey
from perdure.archive.claims import unclaim
from perdure.archive.moments import no_such_turn
from perdure.contract import ConversationConfig, Held, LedgerRow, Resumed, row_view
from perdure.errors import ArchiveError, ArchiveMissing, Refused
from perdure.memory.event import Event
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.state import Memory
from perdure.memory.stored import is_stored

if TYPE_CHECKING:
    from perdure.archive import Archive

PAGE_MESSAGES = 200
SHOWN_MESSAGES = 200
PAGE_ROWS = 200


class Shown(BaseModel):
    """An entry of the memory and what it came from.

    `made_from` holds the entries below it, down to level 1, highest level first. `messages` are
    the first that it covers; the rest of `entry.first_seq..entry.last_seq` is in the transcript.
    Not `complete`: the client has no archive, and this is what the workflow still holds.
    """

    entry: Observation
    made_from: list[Observation] = []
    messages: list[Message] = []
    complete: bool = True


@dataclass(frozen=True)
class Past:
    """One conversation at the moment when `held` was read.

    Without an archive it ends where the workflow's own memory begins. Not `whole`: it was never
    closed and Temporal has forgotten it, so what had not been archived is lost. Its methods
    raise `ArchiveUnavailable` while the database is away.
    """

    namespace: str
    conversation: str
    held: Held
    archive: "Archive | None"
    whole: bool = True

    @property
    def key(self) -> ChainKey:
        """The chain that knows what is archived by now."""
        chain = self.held.parent.chain if self.held.parent else self.held.chain
        return ChainKey(self.namespace, self.conversation, chain)

    @property
    def tail(self) -> list[Message]:
        """The messages that still stand word for word in the workflow."""
        return self.held.resumable.memory.messages

    @property
    def tail_seq(self) -> int:
        """The seq of the first of them, or of the next message when there is none."""
        return self.held.resumable.memory.next_seq - len(self.tail)

    async def messages(
        self, first_seq: int = 0, last_seq: int | None = None, *, expand: bool = False
    ) -> AsyncIterator[Message]:
        """The messages `first_seq..last_seq`, both included, in order and without a gap.

        `expand` puts the originals in the place of big blocks. Raises `ArchiveError` when the
        archive lacks one.
        """
        last = self.held.resumable.memory.next_seq - 1
        last = last if last_seq is None else min(last, last_seq)
        async for message in self._archived(first_seq, min(last, self.tail_seq - 1)):
            yield await self._whole(message) if expand else message
        for message in self.tail:
            if first_seq <= message.seq <= last:
                yield await self._whole(message) if expand else message

    async def _archived(self, first: int, last: int) -> AsyncIterator[Message]:
        if self.archive is None:
            return
        # The archive knows what was pinned when a message left, not what was taken back since.
        pinned = self.held.resumable.memory.pinned
        while first <= last:
            page = await self.archive.messages(self.key, first, last, limit=PAGE_MESSAGES)
            for message in page:
                if message.seq != first:
                    break
                yield message.changed(pinned=first in pinned) if self.whole else message
                first += 1
            if not page or page[-1].seq != first - 1:
                raise ArchiveError(
                    f"Message {first} of {self.conversation} is missing in the archive; check "
                    "that PERDURE_DATABASE_URL names the database that its worker uses."
                )

    async def _whole(self, message: Message) -> Message:
        if self.archive is None or not any(is_stored(block) for block in message.content):
            return message
        return message.model_copy(update={"content": await unclaim(self.archive, message.content)})

    async def show(self, id: str, *, limit: int = SHOWN_MESSAGES) -> Shown:  # noqa: A002
        """An entry by its id, with at most `limit` of its messages. Raises Refused."""
        entry = await self.entry(id)
        if entry is None:
            where = "" if self.archive else " in the workflow, and this client has no archive"
            raise Refused(f"{self.conversation} has no entry {id!r}{where}")
        made_from, wanted = [], list(entry.sources)
        while wanted:
            below = await self.entry(wanted.pop(0))
            if below is not None:
                made_from.append(below)
                wanted += below.sources
        last = min(entry.last_seq, entry.first_seq + limit - 1)
        messages = [m async for m in self.messages(entry.first_seq, last)]
        return Shown(
            entry=entry,
            made_from=made_from,
            messages=messages,
            complete=self.archive is not None,
        )

    async def entry(self, id: str) -> Observation | None:  # noqa: A002
        """An observation or reflection that was ever made, or none."""
        for entry in self.held.resumable.memory.observations:
            if entry.id == id:
                return entry
        if self.archive is None:
            return None
        found = await self.archive.observation(self.key, id)
        return found if found and found.last_seq < self.held.archived.seq else None

    async def rows(
        self, before: int | None = None, limit: int = PAGE_ROWS
    ) -> list[tuple[int, LedgerRow]]:
        """The last `limit` rows of the ledger with a number under `before`, ascending."""
        end = self.held.resumable.rows if before is None else before
        rows: dict[int, LedgerRow] = {}
        if self.archive is not None:
            upto = min(end, self.held.archived.row)
            rows = dict(await self.archive.ledger(self.key, upto, limit=limit))
        for row in self.held.ledger:
            if row.n < end and (row.observation.content or row.n not in rows):
                rows[row.n] = row
        return sorted(rows.items())[-limit:]

    async def replies(self) -> AsyncIterator[dict[str, Any]]:
        """How every turn ended, `{turn, seq, stop_reason, at}` each, without the words."""
        archived = self.held.archived.turn
        turn = 0
        while self.archive is not None and turn < archived:
            page = await self.archive.replies(self.key, turn)
            for number, reply in page:
                if number < archived:
                    yield reply
            turn = page[-1][0] + 1 if page else archived
        for reply in self.held.replies:
            if self.archive is None or reply["turn"] >= archived:
                yield reply

    async def events(self, before: int, *, turns: bool = False) -> list[Event]:
        """The events with a number under `before`, in order.

        Without `turns` only those that changed the context.
        """
        archived = self.held.archived.event
        found: list[Event] = []
        if self.archive is not None:
            found = await self.archive.events(self.key, min(before, archived), turns=turns)
        held = [e for e in self.held.events if archived <= e.n < before]
        return found + [e for e in held if turns or e.turned is None]

    async def turned(self, turn: int) -> Event | None:
        """The event that ended a turn, or none."""
        for event in self.held.events:
            if event.turned is not None and event.turned.turn == turn:
                return event
        found = await self.archive.turned(self.key, turn) if self.archive else None
        return found if found and found.n < self.held.archived.event else None

    def unknown(self, turn: int) -> str:
        """Why there is nothing to know of a turn."""
        if self.whole:
            return no_such_turn(self.held, turn)
        return (
            f"turn {turn} was not archived before Temporal forgot the conversation; the last one "
            f"that was is {self.held.resumable.turns:,}"
        )

    async def compactions(self, before: int | None, limit: int) -> list[dict[str, Any]]:
        """The same as the query `compactions` gives them, with every text that is known."""
        return [row_view(row) for _, row in await self.rows(before, limit)]

    def has_reply(self, turn: int | None) -> bool:
        """Whether a turn, by default the last, lies so far back that the archive may have it."""
        number = self.held.resumable.turns if turn is None else turn
        return 0 < number < self.held.archived.turn

    async def reply(self, turn: int | None) -> dict[str, Any]:
        """The reply of a turn from the archive, as the query `reply` gives it.

        Raises Refused when there is none.
        """
        if self.archive is None:
            raise ArchiveMissing(
                f"The reply of turn {turn} is not in the workflow any more, and this client has "
                "no archive; set PERDURE_DATABASE_URL."
            )
        number = self.held.resumable.turns if turn is None else turn
        found = await self.archive.reply(self.key, number)
        if found is None:
            raise Refused(f"{self.conversation} has no reply of turn {number}")
        seq = found.get("seq")
        said = [] if seq is None else [m async for m in self.messages(seq, seq)]
        content = said[0].content if said else []
        text = said[0].text if said else ""
        return {**found, "content": content, "text": text}


async def archived_past(archive: "Archive", namespace: str, conversation: str) -> Past | None:
    """A conversation as the archive alone knows it, when Temporal keeps it no more."""
    chain = await archive.latest_chain(namespace, conversation)
    if chain is None:
        return None
    snapshot = await archive.snapshot(chain.key)
    if snapshot is not None:
        resumable = Resumed.model_validate_json(snapshot)
        held = Held(chain=chain.key.chain, archived=resumable.marks, resumable=resumable)
        return Past(namespace, conversation, held, archive)
    marks = await archive.marks(chain.key)
    changes = await archive.events(chain.key, marks.event, turns=False)
    config = next((event.config for event in reversed(changes) if event.config is not None), None)
    known = Resumed(
        memory=Memory(next_seq=marks.seq),
        turns=marks.turn - 1,
        rows=marks.row,
        events=marks.event,
        config=ConversationConfig.model_validate(config or {}),
    )
    held = Held(chain=chain.key.chain, archived=marks, resumable=known)
    return Past(namespace, conversation, held, archive, whole=False)
