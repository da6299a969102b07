"""The whole state of a conversation: what continue-as-new carries, and nothing else."""

from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from perdure.contract import (
    ConversationConfig,
    LedgerRow,
    Marks,
    Parent,
    StopReason,
    ToolResult,
    Urgency,
    Usage,
)
from perdure.memory.blocks import Block
from perdure.memory.event import Event, Sent, TurnEnd
from perdure.memory.observation import Observation
from perdure.memory.session import Session
from perdure.memory.state import Memory
from perdure.memory.wire import sha256
from perdure.memory.zone import UTC_ZONE, Zone
from workflows.ledger import Row, packed, unpacked

# Windows that keep the carried state flat however long the conversation runs.
KNOWN_IDS = 300
TURNS = 50
LEDGER_ROWS = 200
NOTES = 20
SESSIONS = 5
# Replies whose text is kept even when their message is compacted, and its UTF-8 bytes.
REPLIES = 10
REPLY_BYTES = 100_000

Kind = Literal["import", "compact", "pin", "unpin", "configure", "supersede", "close"]


class Queued(BaseModel):
    """An accepted user message that no turn has served yet, or that none is to answer."""

    id: str
    content: list[Block]
    at: datetime
    pinned: bool = False
    # Hardly ever set, so it is carried only then.
    interrupted: Annotated[bool, Field(exclude_if=lambda set_: not set_)] = False


class Control(BaseModel):
    """Anything else that was accepted and waits for a turn boundary."""

    kind: Kind
    payload: Any
    at: datetime
    id: str | None = None


class Turned(NamedTuple):
    """A Receipt without the id under which it is known."""

    turn: int | None
    reply_seq: int | None
    stop_reason: StopReason
    error: str | None = None


class Imported(NamedTuple):
    """An ImportReceipt."""

    first_seq: int
    last_seq: int


class Known(NamedTuple):
    """A message id that was seen: a hash of its content, and how it ended, if it has."""

    digest: str
    outcome: Turned | Imported | None = None


class OpenCall(BaseModel):
    """A tool call of the newest reply, whose block has its name and input.

    It may run, unless it has a `result` or an approval was `asked` for, at that time. With
    `remember` a yes holds for later calls of the same tool too.
    """

    id: str
    timeout_s: int = 60
    attempts: int = 3
    remember: bool = False
    asked: datetime | None = None
    result: ToolResult | None = None

    @property
    def may_run(self) -> bool:
        """Whether nothing holds it back."""
        return self.result is None and self.asked is None

    @property
    def waits(self) -> bool:
        """Whether somebody has to approve of it first."""
        return self.result is None and self.asked is not None


class TurnState(BaseModel):
    """The turn in progress; between its steps it can be carried to another run.

    `step` counts its model calls. `seq` is the message that it answers, `newest` the first of
    its newest step, `said` the assistant's last one, which came of the call `said_step`.
    `fruitless` counts the replies in a row from which nothing came: they paused, or no call of
    theirs could be carried out. `joined` are the ids of messages that were taken in on the way.
    `usage` sums that of its steps.
    `sha256` is the hash of the context that the model is asked with, `sent` tells of those before.
    """

    turn: int
    step: int
    seq: int
    message_id: str
    newest: int
    said: int | None = None
    said_step: int = 0
    fruitless: int = 0
    calls: list[OpenCall] = []
    joined: list[str] = []
    interrupted: bool = False
    usage: Usage = Usage()
    sha256: str = ""
    sent: list[Sent] = []

    @property
    def can_go_on(self) -> bool:
        """Whether its next step can be taken, or some call of this one be carried out."""
        waits = any(call.waits for call in self.calls)
        return self.interrupted or not waits or any(call.may_run for call in self.calls)

    @property
    def message_ids(self) -> list[str]:
        """The ids of all messages that it answers."""
        return [self.message_id, *self.joined]


class KeptReply(BaseModel):
    """How a turn ended; `content` is kept for the last ones, word for word."""

    turn: int
    step: int = 0
    seq: int | None
    stop_reason: StopReason
    content: list[Block] | None
    at: datetime
    usage: Usage = Usage()


class Note(BaseModel):
    """Something that went wrong and did not stop the conversation."""

    at: datetime
    text: str


class Totals(BaseModel):
    """Counts over the whole conversation, all runs."""

    messages_in: int = 0
    changes: int = 0
    failed_turns: int = 0
    compactions: int = 0
    failed_compactions: int = 0
    runs: int = 1
    sessions: int = 0
    reply_usage: Usage = Usage()
    compaction_usage: Usage = Usage()


class SessionStart(BaseModel):
    """Where the session in progress began: marks, tokens said before it, its first message."""

    seq: int = 0
    turn: int = 0
    row: int = 0
    tokens: int = 0
    at: datetime | None = None


class ConversationState(BaseModel):
    """Changed only by the workflow's one loop and by what the handlers enqueue.

    `calibration` is how many tokens the provider books for 1,000 that we count. `chain`
    names this life of the conversation in the archive, `archived` how far it stands there;
    `log` holds the events that do not.
    `approved` are the tools for which a yes was to hold from then on.
    `failed_in_a_row` counts plans that failed, `unsummarised` those whose summaries did.
    `zone` says when the days of the calendar begin, `session` where the session in progress
    did; `sessions` are the last that ended.
    """

    config: ConversationConfig = ConversationConfig()
    memory: Memory = Memory()
    system_tokens: int | None = None
    calibration: int = 1_000
    inbox: list[Queued] = []
    controls: list[Control] = []
    known: dict[str, Known] = {}
    turn: TurnState | None = None
    approved: list[str] = []
    turns: int = 0
    replies: list[KeptReply] = []
    ledger: list[Row] = []
    log: list[Event] = []
    notes: list[Note] = []
    totals: Totals = Totals()
    closing: bool = False
    chain: str = ""
    parent: Parent | None = None
    archived: Marks = Marks()
    compact_after_turn: int = 0
    failed_in_a_row: int = 0
    unsummarised: int = 0
    zone: Zone = UTC_ZONE
    session: SessionStart = SessionStart()
    sessions: list[Session] = []

    def note(self, at: datetime, text: str) -> None:
        """Keep a sentence for `status`."""
        self.notes = [*self.notes, Note(at=at, text=text[:500])][-NOTES:]

    def remember_session(self, ended: Session) -> None:
        """Keep a session that ended; its text stands in the memory."""
        self.totals.sessions += 1
        kept = ended.model_copy(update={"summary": ""})
        self.sessions = [*self.sessions, kept][-SESSIONS:]

    def begin_session(self) -> None:
        """Note when the first message of the session in progress was said."""
        first = next((m for m in self.memory.messages if m.seq == self.session.seq), None)
        if self.session.at is None and first is not None:
            self.session.at = first.at

    def remember_reply(self, reply: KeptReply) -> None:
        """Keep a reply word for word; older ones lose their text, archived ones their place."""
        kept = [*self.replies, reply]
        room = REPLY_BYTES
        for i in range(len(kept) - 2, -1, -1):
            room -= len(str(kept[i].content))
            if kept[i].content is not None and (room < 0 or len(kept) - i > REPLIES):
                kept[i] = kept[i].model_copy(update={"content": None})
        recent = kept[-TURNS:][0].turn
        self.replies = [r for r in kept if r.turn >= min(recent, self.archived.turn)]

    def remember_compaction(
        self,
        entry: Observation,
        *,
        urgency: Urgency,
        source_tokens: int,
        ms: int,
        usage: Usage | None = None,
    ) -> None:
        """Count a compaction that was taken in, and add it to the ledger; drop archived rows.

        The row is kept without its text, which the memory has.
        """
        row = LedgerRow(
            n=self.totals.compactions,
            turn=self.turns,
            urgency=urgency,
            observation=entry,
            sha256=sha256(entry.body),
            source_tokens=source_tokens,
            ms=ms,
            usage=usage,
        )
        self.totals.compactions += 1
        if usage is not None:
            self.totals.compaction_usage += usage
        rows = [*self.ledger, packed(row)]
        oldest = min(self.archived.row, rows[-LEDGER_ROWS:][0].n)
        self.ledger = [r for r in rows if r.n >= oldest]

    @property
    def events(self) -> int:
        """How many events there were."""
        return self.log[-1].n + 1 if self.log else self.archived.event

    def record(self, **what: Any) -> None:
        """Log an event, see `Event`; drop archived ones."""
        event = Event(n=self.events, row=self.totals.compactions, **what)
        self.log = [e for e in [*self.log, event] if e.n >= self.archived.event]

    def record_elided(self, before: Memory) -> None:
        """Log what the memory shows less of than it did before."""
        after = self.memory
        if after is not before:
            elided = {s: e for s, e in after.elided.items() if before.elided.get(s) != e}
            self.record(elided=elided, light_from=after.light_from)

    def record_passing(self, before: Memory) -> None:
        """Log what is pinned for the turn in progress and was not before."""
        pins = self.memory.pins
        passing = [p.seq for p in pins if p.passing and p not in before.pins]
        if passing:
            self.record(passing=passing)

    def record_sent(self, turn: TurnState, tokens: int) -> None:
        """Note that the model was asked in a turn, with a context of so many tokens."""
        held = self.memory
        sent = Sent(
            step=turn.step,
            sha256=turn.sha256,
            seq=held.next_seq,
            row=self.totals.compactions,
            event=self.events,
            tokens=tokens,
            version=held.version,
        )
        turn.sent = [*turn.sent, sent]

    def record_turned(self, turn: TurnState) -> None:
        """Log the end of a turn."""
        seq = self.memory.next_seq
        self.record(
            turned=TurnEnd(turn=turn.turn, seq=seq, sent=turn.sent, calibration=self.calibration)
        )

    @property
    def archivable(self) -> Marks:
        """The end of everything that could be archived now."""
        turn = self.replies[-1].turn + 1 if self.replies else self.archived.turn
        return Marks(
            seq=self.memory.next_seq, row=self.totals.compactions, turn=turn, event=self.events
        )

    def whole_row(self, row: Row) -> LedgerRow:
        """A row with its observation as it stands in the memory, if it still does."""
        live = next((o for o in self.memory.observations if o.identity == row.identity), None)
        return unpacked(row, live)

    def remember_id(self, message_id: str, known: Known) -> None:
        """Know an id from now on, and forget the oldest ones whose end is known too."""
        self.known[message_id] = known
        if (surplus := len(self.known) - KNOWN_IDS) > 0:
            settled = [id_ for id_, seen in self.known.items() if seen.outcome is not None]
            for id_ in settled[:surplus]:
                del self.known[id_]


class Carried(BaseModel):
    """The argument of a continued run; tells it apart from a start configuration."""

    carried: ConversationState
