"""One turn: a user message and the reply to it, or the reason why there is none."""

from collections.abc import Callable
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, CancelledError

from perdure.contract import (
    COUNT,
    INTERRUPTED,
    REPLY,
    REQUEST_REFUSED,
    CountRef,
    Counts,
    Receipt,
    ReplyResult,
    StepRef,
    Usage,
)
from perdure.memory.blocks import Block, ContentError, is_blank
from perdure.memory.project import context_tokens
from perdure.memory.state import append, mark, with_counts
from workflows.archiving import claimed
from workflows.failure import kind, reason
from workflows.room import Room
from workflows.state import ConversationState, KeptReply, TurnState
from workflows.views import budgets, current_context, system_tokens

# A lost worker is noticed after the heartbeat timeout; a model may think for minutes.
_HEARTBEAT = timedelta(seconds=10)
_ATTEMPT = timedelta(minutes=10)
_ALL_ATTEMPTS = timedelta(minutes=30)
# An interrupted call notices at its next heartbeat, which is at most a second away.
_LET_GO = timedelta(seconds=3)
# In smaller requests the provider's own framing weighs too much to learn from.
_CALIBRATE_FROM = 1_000
# First try, one after a change of code, one after counting, and one to spare.
_STEPS = 4


class TurnFailure(Exception):
    """The turn cannot be answered. `final`: not even later, so the message leaves the context."""

    def __init__(self, text: str, *, final: bool) -> None:
        super().__init__(text)
        self.final = final


class Interruption:
    """What the signal `interrupt` acts on: the model call in progress, if there is one."""

    def __init__(self) -> None:
        self._call: workflow.ActivityHandle[ReplyResult] | None = None
        self._wanted = False

    def want(self) -> None:
        """Stop the call in progress, or the one that the turn is about to make."""
        self._wanted = True
        if self._call is not None:
            self._call.cancel()

    def begin(self) -> None:
        """A turn begins; what was wanted before it is over."""
        self._wanted = False

    async def result_of(
        self, make: Callable[[], workflow.ActivityHandle[ReplyResult]]
    ) -> ReplyResult:
        """Make a call and wait for its result; of an interrupted one what it had said until then.

        Raises ActivityError. A call that does not react, since its worker is lost, is left.
        """
        came_before = self._wanted
        if came_before:
            # A call that is cancelled before it is sent out would end the workflow.
            return ReplyResult(stop_reason=INTERRUPTED)
        self._call = call = make()
        try:
            await workflow.wait_condition(lambda: call.done() or self._wanted)
            if not call.done():
                await workflow.wait_condition(call.done, timeout=_LET_GO)
            return await call
        except TimeoutError:
            return ReplyResult(stop_reason=INTERRUPTED)
        except ActivityError as error:
            if self._wanted and isinstance(error.cause, CancelledError):
                return ReplyResult(stop_reason=INTERRUPTED)
            raise
        finally:
            self._call = None


async def serve(state: ConversationState, room: Room, interruption: Interruption) -> Receipt:
    """Serve the turn in progress, or begin the next one; a failure becomes the receipt's error."""
    interruption.begin()
    try:
        turn = state.turn or await _begin(state)
    except ContentError as error:
        return _not_taken(state, str(error))
    try:
        receipt = _finish(state, turn, await _answer(state, room, turn, interruption))
    except TurnFailure as failure:
        if failure.final:
            state.memory = mark(state.memory, turn.seq, failed=True)
        state.totals.failed_turns += 1
        state.note(workflow.now(), f"turn {turn.turn} failed: {failure}")
        receipt = Receipt(
            message_id=turn.message_id, turn=turn.turn, stop_reason="failed", error=str(failure)
        )
    state.turn = None
    return receipt


def _not_taken(state: ConversationState, why: str) -> Receipt:
    queued = state.inbox.pop(0)
    state.totals.failed_turns += 1
    state.note(workflow.now(), f"message {queued.id} was not taken: {why}")
    return Receipt(message_id=queued.id, stop_reason="failed", error=why)


async def _begin(state: ConversationState) -> TurnState:
    queued = state.inbox[0]
    (content,) = await claimed(queued.id, [queued.content])
    state.inbox.pop(0)
    seq = state.memory.next_seq
    state.memory = append(state.memory, "user", content, queued.at, pinned=queued.pinned)
    state.turns += 1
    state.turn = TurnState(turn=state.turns, step=0, seq=seq, message_id=queued.id)
    return state.turn


async def _answer(
    state: ConversationState, room: Room, turn: TurnState, interruption: Interruption
) -> ReplyResult:
    for _ in range(_STEPS):
        await room.make(turn.seq)
        _check_window(state)
        turn.step += 1
        try:
            result = await interruption.result_of(lambda: _ask_model(state, turn))
        except ActivityError as error:
            raise TurnFailure(reason(error), final=kind(error) == REQUEST_REFUSED) from error
        take_counts(state, result.counts, result.system_tokens)
        if result.status == "ok":
            return result
    _check_window(state)
    raise TurnFailure("the context kept changing while the model was asked", final=False)


def _check_window(state: ConversationState) -> None:
    """Refuse a counted request that cannot fit; an estimate is left to the activity to judge."""
    weight, limit = (
        context_tokens(state.memory, system_tokens(state)),
        budgets(state).input_limit,
    )
    counted = state.system_tokens is not None and all(
        m.tokens is not None or m.failed for m in state.memory.messages
    )
    if counted and weight > limit:
        raise TurnFailure(
            f"the request has {weight:,} tokens and the window takes {limit:,}; "
            "shorten the message or the system prompt",
            final=True,
        )


def _ask_model(state: ConversationState, turn: TurnState) -> workflow.ActivityHandle[ReplyResult]:
    return workflow.start_activity(
        REPLY,
        StepRef(turn=turn.turn, step=turn.step, sha256=current_context(state).sha256),
        result_type=ReplyResult,
        start_to_close_timeout=_ATTEMPT,
        schedule_to_close_timeout=_ALL_ATTEMPTS,
        heartbeat_timeout=_HEARTBEAT,
        retry_policy=RetryPolicy(maximum_interval=timedelta(seconds=60)),
        # An interrupted call hands over what it has said so far.
        cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    )


def take_counts(
    state: ConversationState, counts: dict[int, int], system: int | None = None
) -> None:
    """Put in token counts that an activity made."""
    state.memory = with_counts(state.memory, counts)
    if system is not None:
        state.system_tokens = system


async def count_from(state: ConversationState, from_seq: int) -> None:
    """Have every message from `from_seq` on counted; without that their estimates stay."""
    try:
        counted: Counts = await workflow.execute_activity(
            COUNT,
            CountRef(from_seq=from_seq),
            result_type=Counts,
            start_to_close_timeout=timedelta(minutes=5),
            heartbeat_timeout=_HEARTBEAT,
            retry_policy=RetryPolicy(maximum_attempts=5),
            summary=f"messages from {from_seq}",
        )
    except ActivityError as error:
        state.note(workflow.now(), f"messages from {from_seq} stay uncounted: {reason(error)}")
        return
    take_counts(state, counted.counts, counted.system_tokens)


def _no_such_tool(content: list[Block]) -> list[Block]:
    """Answers to calls that nobody carries out, since an open call would block every request."""
    return [
        {
            "type": "tool_result",
            "tool_use_id": block["id"],
            "is_error": True,
            "content": f"there is no tool {block.get('name')!r} in this conversation",
        }
        for block in content
        if block.get("type") == "tool_use"
    ]


def _calibrate(state: ConversationState, usage: Usage | None) -> None:
    """Follow, slowly, how the provider counts what we have counted as the request."""
    counted = context_tokens(state.memory, system_tokens(state))
    booked = usage.input + usage.cache_read + usage.cache_write if usage else 0
    if booked and counted >= _CALIBRATE_FROM:
        seen = 1_000 * booked // counted
        state.calibration = min(2_000, max(300, (3 * state.calibration + seen) // 4))


def _finish(state: ConversationState, turn: TurnState, result: ReplyResult) -> Receipt:
    _calibrate(state, result.usage)
    now = workflow.now()
    content = [block for block in result.content if not is_blank(block)]
    seq = None
    if content:
        seq = state.memory.next_seq
        state.memory = append(state.memory, "assistant", content, now, tokens=result.tokens)
        if unanswered := _no_such_tool(content):
            state.memory = append(state.memory, "user", unanswered, now)
    if result.usage is not None:
        state.totals.reply_usage += result.usage
    state.remember_reply(
        KeptReply(turn=turn.turn, seq=seq, stop_reason=result.stop_reason, content=content, at=now)
    )
    return Receipt(
        message_id=turn.message_id, turn=turn.turn, reply_seq=seq, stop_reason=result.stop_reason
    )
