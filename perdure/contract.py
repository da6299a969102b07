"""The words between client, workflow and activities: names, configuration, payloads.

Everything here is plain JSON on the wire, so that the stock `temporal` CLI can speak it.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_serializer
from pydantic_core.core_schema import SerializerFunctionWrapHandler

from perdure.memory.apply import Compacted
from perdure.memory.blocks import (
    Block,
)
from perdure.memory.event import Event
from perdure.memory.message import Role
from perdure.memory.observation import Method, Observation
from perdure.memory.plan import Part
from perdure.memory.policy import MemoryPolicy
from perdure.memory.state import Memory
from perdure.memory.zone import Zone

WORKFLOW = "ConversationWorkflow"
TASK_QUEUE = "perdure"

REPLY = "reply"
OBSERVE = "observe"
REFLECT = "reflect"
COUNT = "count"
OPEN = "open"
CLAIM = "claim"
ARCHIVE = "archive"
CALL_TOOL = "call_tool"
# What `status` says is running while a turn waits for somebody to approve of a call.
APPROVAL = "approval"
ZONE = "zone"
SESSION = "session"
# The update with which a shadow compaction is adopted; see `Supersede`.
SUPERSEDE = "supersede"

# Temporal refuses payloads over 2 MB; clients with an archive store big blocks there first.
MESSAGE_BYTES = 1_900_000
# What may stand in the state where it cannot be stored, because the archive is away.
INLINE_BYTES = 200_000
# Pinned texts are never compacted, so they must stay few.
PIN_BYTES = 20_000
# `type` of the application error with which an update leaves a run that is being continued:
# what it brought is kept or was never taken, so send the same id again.
DRAINING = "Draining"
# How ids begin that the workflow gives to messages without one.
OUR_IDS = "#"
REFUSED = "Refused"
TURN_FAILED = "TurnFailed"
# `type` of a failed `reply` whose request can never succeed: its message leaves the context.
REQUEST_REFUSED = "RequestRefused"

# `stop_reason` of a reply that was stopped by `interrupt`; its text so far is kept.
INTERRUPTED = "interrupted"
# `stop_reason` of a receipt whose turn waits for the signal `approve`; the reply comes later.
AWAITING_APPROVAL = "awaiting_approval"
# `stop_reason` of a turn that was ended because its tool calls would not come to an end.
STEP_LIMIT = "step_limit"

# `type` of a failed `archive` that found other content under the same numbers: a history
# that was reset has gone another way since.
ARCHIVE_CONFLICT = "ArchiveConflict"

# The query with which an activity reads what it works on; see `MaterialQuery`.
MATERIAL = "material"

StopReason = str
Urgency = Literal["background", "blocking", "emergency"]
# Whether a tool may run: always, never, after each question, or once asked for the conversation.
Approval = Literal["always", "never", "ask", "remember"]
# What becomes of messages that arrive during a turn: the next turn, or its next step after tools.
Steering = Literal["queue", "next_step"]


class Wire(BaseModel):
    """A payload; absent and null mean the same, so nulls are not written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_serializer(mode="wrap")
    def _without_nulls(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        return {k: v for k, v in written.items() if v is not None}


class ConversationConfig(Wire):
    """The argument of the workflow. Every field has a default.

    `model` and `summary_model` default to the worker's model; "offline" needs no key.
    `approvals` has the last word over what a tool says of itself. A call that waits for an
    approval is denied after `approval_timeout` seconds; by default it waits for ever.
    `turns_per_run` continues the workflow as new at least that often, where each step of a turn
    with tools counts like a turn; by default it does so when its history calls for it.
    """

    system: Annotated[str, Field(max_length=INLINE_BYTES)] = ""
    model: Annotated[str, Field(min_length=1)] | None = None
    summary_model: Annotated[str, Field(min_length=1)] | None = None
    policy: MemoryPolicy = MemoryPolicy()
    title: Annotated[str, Field(max_length=200)] = ""
    user: Annotated[str, Field(max_length=200)] = ""
    tools: Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=128)] = []
    approvals: Annotated[dict[str, Approval], Field(max_length=128)] = {}
    approval_timeout: Annotated[int, Field(ge=1, le=31_536_000)] | None = None
    steering: Steering = "queue"
    turns_per_run: Annotated[int, Field(ge=1)] | None = None


class UserMessage(Wire):
    """A message at the door: clean blocks, with the sender's id if there was one."""

    content: list[Block]
    id: str | None = None
    pinned: bool = False


class ImportedMessage(Wire):
    """A message that was spoken elsewhere; `at` is when, if known."""

    role: Role
    content: list[Block]
    at: datetime | None = None


class ImportBatch(Wire):
    """Messages that are taken in together, or not at all."""

    messages: list[ImportedMessage]
    id: str | None = None


class CompactRequest(Wire):
    """What `compact` asks for: the summariser's instructions, or the end of a session."""

    instructions: str = ""
    session: bool = False


class PinRequest(Wire):
    """What `pin` asks for: that a message, by its seq, or a note is `pinned`, or is not."""

    what: int | str
    pinned: bool = True


class Receipt(Wire):
    """What `ask` gives back; the reply's text is read with the query `reply`.

    `stop_reason` is the model's, `pending` when the reply takes longer than `ask` waits, or
    `awaiting_approval`: `ask` again with the same id once the calls in `status` are answered.
    """

    message_id: str
    turn: int | None = None
    reply_seq: int | None = None
    stop_reason: StopReason
    error: str | None = None


class ImportReceipt(Wire):
    """What `import_messages` gives back: the range that the batch now has, both included."""

    first_seq: int
    last_seq: int


class Sparse(Wire):
    """A payload that stands in the history of every turn: defaults are not written."""

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        fields = type(self).model_fields
        return {k: v for k, v in written.items() if getattr(self, k) != fields[k].default}


class Usage(Sparse):
    """Tokens as the provider booked them; `input` is without the cached ones.

    `searches` are those of its own web search. `cost` is in millionths of a US dollar; `unpriced`
    counts the calls whose model the worker has no price for, which `cost` leaves out.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    searches: int = 0
    cost: int = 0
    unpriced: int = 0

    @property
    def booked(self) -> dict[str, int]:
        """All of them, also those that are 0."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    def __add__(self, other: "Usage") -> "Usage":
        names = type(self).model_fields
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in names})


class Supersede(Wire):
    """What `supersede` asks for: a text in the place of the entry `id` of the memory.

    `identity` is the entry's, so that no other is replaced. `tokens` are of content and facts;
    where they are left out, an estimate that is never too low holds.
    """

    id: Annotated[str, Field(min_length=1, max_length=200)]
    identity: Annotated[str, Field(min_length=1, max_length=64)]
    content: Annotated[str, Field(min_length=1)]
    facts: list[str] = []
    tokens: Annotated[int, Field(ge=1)] | None = None
    method: Method = "model"
    model: Annotated[str, Field(min_length=1, max_length=200)]
    prompt_version: Annotated[str, Field(min_length=1, max_length=200)]
    usage: Usage | None = None
    ms: Annotated[int, Field(ge=0)] = 0


class Superseded(Wire):
    """What `supersede` gives back: the id of the entry that stands in the memory now."""

    id: str


class StepRef(Sparse):
    """Names the model call of a turn; `sha256` is the context's, which the activity checks."""

    turn: int
    step: int
    sha256: str


class ToolCall(Sparse):
    """How a `tool_use` block of a reply is to be carried out, as its tool declares it.

    `error` is why it cannot be: no such tool, or arguments that its schema refuses.
    """

    id: str
    approval: Approval = "always"
    timeout_s: int = 60
    attempts: int = 3
    error: str | None = None


class Verdict(Wire):
    """The answer to a tool call that waits for an approval, as the signal `approve` brings it.

    `note` is for the model when the call is denied. `always`: a yes holds for every later call of
    the tool in this conversation.
    """

    tool_use_id: str
    approved: bool
    note: Annotated[str, Field(max_length=10_000)] = ""
    always: bool = False


class CallRef(Sparse):
    """Names a tool call of the turn in progress; its material is `{name, input, chain}`.

    A call whose block is in the archive has `stored` in the place of `input`.
    """

    turn: int
    step: int
    tool_use_id: str


class ToolResult(Sparse):
    """What a tool gave, as content blocks of a `tool_result`; `tokens` weighs them.

    Of a result that is too big for the state the content is one block: the whole `tool_result`,
    as a reference to the archive.
    """

    content: list[Block] = []
    is_error: bool = False
    tokens: int | None = None


class ReplyResult(Sparse):
    """What the model said, or why it was not asked.

    `stale`: the context is not the one that was meant (the worker's code has changed).
    `over_window`: the counted request does not fit; when the provider says so, `usage` tells what
    it would have booked. `counts` holds tokens by seq of messages
    that had none. `recalled` are the tokens that the request had beside its context. `calls` tells
    of the `tool_use` blocks in `content`, in their order.
    """

    status: Literal["ok", "stale", "over_window"] = "ok"
    content: list[Block] = []
    calls: list[ToolCall] = []
    stop_reason: StopReason = "end_turn"
    tokens: int | None = None
    counts: dict[int, int] = {}
    system_tokens: int | None = None
    usage: Usage | None = None
    recalled: int = 0


class PartRef(Sparse):
    """Names the source of one compaction; `sha256` is its hash, which the activity checks.

    `extractive`: without a model. `facts_only`: nothing but the facts of the source, without one.
    """

    part: Part
    sha256: str
    extractive: bool = False
    instructions: str | None = None
    facts_only: bool = False


class PartResult(Wire):
    """The summary of one part, or nothing when the source was not the one meant.

    `usage` is of all that the model was asked for it; `fault` says why the summary was made
    without the model after all.
    """

    compacted: Compacted | None = None
    usage: Usage | None = None
    ms: int = 0
    fault: str | None = None


class MaterialQuery(Wire):
    """Asks for what a reference names, as JSON text from the character `offset` on."""

    of: dict[str, Any]
    offset: int = 0


class MaterialPage(Wire):
    """A piece of that text, and the length and hash of the whole; "null" for what has gone."""

    text: str
    size: int
    sha256: str = ""


class CountRef(Wire):
    """Asks for the tokens of every message from `from_seq` on that has no count yet."""

    from_seq: int


class Counts(Wire):
    """Tokens by seq, and of the system prompt."""

    counts: dict[int, int]
    system_tokens: int


class Marks(Wire):
    """How far something reaches: before this message, ledger row, turn and event."""

    seq: int = 0
    row: int = 0
    turn: int = 0
    event: int = 0


class Parent(Wire):
    """The chain whose past is shared, and how much of it."""

    chain: str
    until: Marks


class Fork(Wire):
    """What a conversation may begin as: another one, as a turn had left it.

    Stands as `fork` in the argument of the workflow, beside a configuration or alone.
    """

    conversation: Annotated[str, Field(min_length=1)]
    turn: Annotated[int, Field(ge=1)]


class OpenRef(Wire):
    """Asks the archive for a past for the new `chain` to go on from.

    That of a closed conversation of this id, or what `fork` names.
    """

    chain: str
    fork: Fork | None = None


class Resumed(Wire):
    """What a conversation left for the one that goes on from it.

    `config` is for a start that brings none of its own. The usage is what it had cost; a fork has
    cost nothing yet.
    """

    memory: Memory
    turns: int
    rows: int
    events: int = 0
    config: ConversationConfig | None = None
    calibration: int = 1_000
    reply_usage: Usage = Usage()
    compaction_usage: Usage = Usage()

    @property
    def marks(self) -> Marks:
        """The end of all that it speaks of."""
        return Marks(
            seq=self.memory.next_seq, row=self.rows, turn=self.turns + 1, event=self.events
        )


class OpenResult(Wire):
    """`resumed` is None for a first start; `note` tells of an earlier life that never closed."""

    resumed: Resumed | None = None
    note: str | None = None


class ClaimRef(Wire):
    """Asks for the big blocks of what was accepted under an id to be stored."""

    accepted: str


class Claimed(Wire):
    """The contents with references in the place of big blocks."""

    contents: list[list[Block]]


class SessionRef(Wire):
    """Asks for the texts of the session that began with message `session`."""

    session: int


class ZoneRef(Wire):
    """Asks for the table of a time zone, as it is known at `at`."""

    name: str
    at: datetime


class ZoneFound(Wire):
    """The table, or why there is none."""

    zone: Zone | None = None
    fault: str | None = None


class ArchiveRef(Sparse):
    """Names what is to be archived: everything from one set of marks up to another.

    `parent` makes the chain a fork first; `closing` closes it, with what can be resumed.
    """

    chain: str
    start: Marks
    end: Marks
    parent: Parent | None = None
    closing: bool = False


class LedgerRow(Wire):
    """One compaction that was taken in, the `n`th, at the observation's `created_at`.

    `sha256` is that of the observation's text. The text itself may be missing here: it stands
    in the context, or in the archive.
    """

    n: int
    turn: int
    urgency: Urgency
    observation: Observation
    sha256: str
    source_tokens: int
    ms: int
    usage: Usage | None = None


class HeldRef(Wire):
    """Asks for everything that the workflow holds."""

    held: Literal[True] = True


class Held(Wire):
    """What a workflow holds at one moment; what came before `archived` is in the archive.

    While `parent` is set, the archive does not know `chain` yet: what is archived then stands
    in the parent's. `queued` counts accepted messages that no turn has served.
    """

    chain: str
    parent: Parent | None = None
    archived: Marks = Marks()
    resumable: Resumed
    ledger: list[LedgerRow] = []
    replies: list[dict[str, Any]] = []
    events: list[Event] = []
    queued: int = 0


def row_view(row: LedgerRow) -> dict[str, Any]:
    """A row of the ledger as the query `compactions` gives it."""
    entry = row.observation
    return {
        "type": "memory_compacted",
        **row.model_dump(mode="json"),
        "at": entry.created_at.isoformat(),
        "usage": None if row.usage is None else row.usage.booked,
        "compression_ratio": round(entry.compression_ratio(), 2),
        "messages_compressed": entry.message_count,
        "level": entry.level,
        "method": entry.method,
        "model": entry.model,
        "prompt_version": entry.prompt_version,
        "identity": entry.identity,
        "supersedes": entry.supersedes,
    }
