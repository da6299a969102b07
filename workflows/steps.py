"""One step of a turn: the model is asked once, in a context that fits its window."""

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
    ReplyResult,
    StepRef,
)
from perdure.memory.elide.shorten import shorten
from perdure.memory.project import context_tokens
from perdure.memory.state import with_counts
from workflows.failure import kind, reason
from workflows.heartbeat import HEARTBEAT
from workflows.room import Room
from workflows.state import ConversationState, TurnState
from workflows.views import budgets, current_context, system_tokens

# A model may think for minutes.
_ATTEMPT = timedelta(minutes=10)
_ALL_ATTEMPTS = timedelta(minutes=30)
# An interrupted call notices at its next heartbeat, which is at most a second away.
_LET_GO = timedelta(seconds=3)
# In smaller requests the provider's own framing weighs too much to learn from.
_CALIBRATE_FROM = 1_000
# First try, one after a change of code, one after counting, and one to spare.
_TRIES = 4


class TurnFailure(Exception):
    """The turn has no answer. `final`: not later either, so its newest step leaves the context."""

    def __init__(self, text: str, *, final: bool) -> None:
        super().__init__(text)
        self.final = final


async def next_reply(state: ConversationState, room: Room, turn: TurnState) -> ReplyResult:
    """Make room, and ask the model for its next message. Raises TurnFailure."""
    for _ in range(_TRIES):
        await room.make()
        _fit_window(state, room, turn)
        turn.step += 1
        if turn.interrupted:
            # A call that is cancelled before it is sent out would end the workflow.
            return ReplyResult(stop_reason=INTERRUPTED)
        try:
            result = await _unless_interrupted(state, turn)
        except ActivityError as error:
            _record_sent(state, turn)
            raise TurnFailure(reason(error), final=kind(error) == REQUEST_REFUSED) from error
        take_counts(state, result.counts, result.system_tokens)
        if result.status == "ok":
            _record_sent(state, turn)
            return result
        if result.usage is not None:
            _outweigh(state, result.usage.input - result.recalled)
    _fit_window(state, room, turn)
    raise TurnFailure("the context kept changing while the model was asked", final=False)


def _record_sent(state: ConversationState, turn: TurnState) -> None:
    state.record_sent(turn, context_tokens(state.memory, system_tokens(state)))


def _fit_window(state: ConversationState, room: Room, turn: TurnState) -> None:
    """Shorten the newest tool results if the request cannot fit otherwise, or refuse it.

    An estimate is left to the activity to judge. Where room could be made and was not, as when
    the archive is away, the refusal is not for good.
    """
    limit = budgets(state).input_limit
    counted = state.system_tokens is not None and all(
        m.tokens is not None or m.failed for m in state.memory.messages
    )
    if not counted or context_tokens(state.memory, system_tokens(state)) <= limit:
        return
    surplus = context_tokens(state.memory, system_tokens(state)) - limit
    before, state.memory = state.memory, shorten(state.memory, turn.newest, surplus)
    state.record_elided(before)
    weight = context_tokens(state.memory, system_tokens(state))
    if weight > limit:
        mine = sum(state.memory.weigh(m) for m in state.memory.messages if m.seq >= turn.newest)
        waits = mine + system_tokens(state) < limit and room.plan() is not None
        todo = "send it again later" if waits else "shorten the message or the system prompt"
        raise TurnFailure(
            f"the request has {weight:,} tokens and the window takes {limit:,}; {todo}",
            final=not waits,
        )


async def _unless_interrupted(state: ConversationState, turn: TurnState) -> ReplyResult:
    """The model's answer; of an interrupted call what it had said until then.

    Raises ActivityError. A call that does not react, since its worker is lost, is left.
    """
    call = _ask_model(state, turn)
    try:
        await workflow.wait_condition(lambda: call.done() or turn.interrupted)
        if not call.done():
            call.cancel()
            await workflow.wait_condition(call.done, timeout=_LET_GO)
        return await call
    except TimeoutError:
        return ReplyResult(stop_reason=INTERRUPTED)
    except ActivityError as error:
        if turn.interrupted and isinstance(error.cause, CancelledError):
            return ReplyResult(stop_reason=INTERRUPTED)
        raise


def _ask_model(state: ConversationState, turn: TurnState) -> workflow.ActivityHandle[ReplyResult]:
    turn.sha256 = current_context(state).sha256
    return workflow.start_activity(
        REPLY,
        StepRef(turn=turn.turn, step=turn.step, sha256=turn.sha256),
        result_type=ReplyResult,
        start_to_close_timeout=_ATTEMPT,
        schedule_to_close_timeout=_ALL_ATTEMPTS,
        heartbeat_timeout=HEARTBEAT,
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
            heartbeat_timeout=HEARTBEAT,
            retry_policy=RetryPolicy(maximum_attempts=5),
            summary=f"messages from {from_seq}",
        )
    except ActivityError as error:
        state.note(workflow.now(), f"messages from {from_seq} stay uncounted: {reason(error)}")
        return
    take_counts(state, counted.counts, counted.system_tokens)


def _outweigh(state: ConversationState, booked: int) -> None:
    """Count as much from now on as the provider does, who finds the request too long.

    That may be far more, as with a model whose window is a fraction of the configured one.
    """
    counted = max(1, context_tokens(state.memory, system_tokens(state)))
    state.calibration = min(10_000, max(state.calibration, -(-1_000 * booked // counted)))


def calibrate(state: ConversationState, result: ReplyResult) -> None:
    """Follow, slowly, how the provider counts what we have counted as the request."""
    counted, usage = context_tokens(state.memory, system_tokens(state)), result.usage
    booked = usage.input + usage.cache_read + usage.cache_write if usage else 0
    booked = max(0, booked - result.recalled)
    if booked and counted >= _CALIBRATE_FROM:
        seen = 1_000 * booked // counted
        state.calibration = min(2_000, max(300, (3 * state.calibration + seen) // 4))
