"""A turn, step by step: a user message, replies and tool results, until nothing is called."""

from temporalio import workflow

from perdure.contract import INTERRUPTED, STEP_LIMIT, Receipt, ReplyResult
from perdure.memory.blocks import Block, ContentError, is_blank, upper_estimate
from perdure.memory.groups import calls, with_unique_ids
from perdure.memory.pinning import pin_fault
from perdure.memory.state import append, mark, unpin_passing
from workflows.approvals import give_up
from workflows.archiving import claimed
from workflows.calls import answer_calls, carry_out, is_carried_on, opened
from workflows.room import Room
from workflows.state import ConversationState, KeptReply, Queued, TurnState
from workflows.steps import TurnFailure, calibrate, next_reply
from workflows.views import budgets

# Model calls of one turn, and replies in a row from which nothing comes: a model that goes on
# like that would not stop by itself.
STEPS = 200
FRUITLESS = 10
_PAUSED = "pause_turn"
_REFUSED = "refusal"


async def advance(state: ConversationState, room: Room) -> list[Receipt]:
    """Take the next step of the turn in progress, or begin the next turn with its first one.

    Gives the receipts of the messages that this was the end for; a failure becomes their error.
    No activity is open afterwards, so the run may be continued as new.
    """
    try:
        turn = state.turn or await _begin(state)
    except ContentError as error:
        return [_not_taken(state, str(error))]
    try:
        return await _step(state, room, turn)
    except TurnFailure as failure:
        return _fail(state, turn, failure)


def _not_taken(state: ConversationState, why: str) -> Receipt:
    queued = state.inbox.pop(0)
    state.totals.failed_turns += 1
    state.note(workflow.now(), f"message {queued.id} was not taken: {why}")
    return Receipt(message_id=queued.id, stop_reason="failed", error=why)


async def _take(state: ConversationState) -> tuple[Queued, int]:
    """Append the oldest queued message. Raises ContentError when it cannot be taken."""
    queued = state.inbox[0]
    (content,) = await claimed(queued.id, [queued.content])
    state.inbox.pop(0)
    seq = state.memory.next_seq
    pinned = queued.pinned
    if pinned and (fault := pin_fault(state.memory, budgets(state), upper_estimate(content))):
        pinned = False
        state.note(workflow.now(), f"message {queued.id} was not pinned: {fault}")
    state.memory = append(state.memory, "user", content, queued.at, pinned=pinned)
    if pinned:
        state.record(pinned=seq)
    return queued, seq


async def _begin(state: ConversationState) -> TurnState:
    queued, seq = await _take(state)
    state.turns += 1
    state.turn = TurnState(
        turn=state.turns,
        step=0,
        seq=seq,
        message_id=queued.id,
        newest=seq,
        interrupted=queued.interrupted,
    )
    return state.turn


async def _step(state: ConversationState, room: Room, turn: TurnState) -> list[Receipt]:
    if turn.calls:
        give_up(state, workflow.now())
        await carry_out(state, turn)
        if any(call.result is None for call in turn.calls):
            return []
        answer_calls(state, turn, workflow.now())
        if turn.interrupted:
            return _end(state, turn, INTERRUPTED)
        if turn.step >= STEPS or turn.fruitless >= FRUITLESS:
            return _end(state, turn, STEP_LIMIT)
        return await _steer(state, turn)
    result = await next_reply(state, room, turn)
    content = _kept(state, result)
    goes_on = is_carried_on(result.stop_reason) and bool(calls(content))
    paused = result.stop_reason == _PAUSED and bool(content) and turn.fruitless < FRUITLESS
    if not (goes_on or paused):
        calibrate(state, result)
    _take_reply(state, turn, result, content)
    if goes_on or paused:
        return []
    if turn.calls:
        answer_calls(state, turn, workflow.now())
    if result.stop_reason == _REFUSED:
        # With it in the context, every later request would be refused as well.
        _leave_out(state, turn.seq)
        state.note(workflow.now(), f"the model refused turn {turn.turn}, which left the context")
    return _end(state, turn, result.stop_reason)


def _kept(state: ConversationState, result: ReplyResult) -> list[Block]:
    used = [id_ for m in state.memory.messages for id_ in calls(m.content)]
    return with_unique_ids([block for block in result.content if not is_blank(block)], used)


def _take_reply(
    state: ConversationState, turn: TurnState, result: ReplyResult, content: list[Block]
) -> None:
    """Append a reply and open its calls. What paused and its continuation are one step."""
    now = workflow.now()
    if result.usage is not None:
        state.totals.reply_usage += result.usage
        turn.usage += result.usage
    begins = state.memory.messages[-1].role == "user"
    if not content:
        # What an earlier step has said is not the answer to its results.
        turn.said = None if begins else turn.said
        return
    seq = state.memory.next_seq
    if begins:
        turn.newest = seq
    state.memory = append(state.memory, "assistant", content, now, tokens=result.tokens)
    turn.said, turn.said_step = seq, turn.step
    turn.calls = opened(state, content, result, now)
    came_to_nothing = all(call.result is not None for call in turn.calls)
    turn.fruitless = turn.fruitless + 1 if came_to_nothing else 0


async def _steer(state: ConversationState, turn: TurnState) -> list[Receipt]:
    """Take in what arrived during the step, if that is wanted; gives what could not be taken."""
    failed = []
    while state.inbox and state.config.steering == "next_step":
        try:
            queued, _ = await _take(state)
        except ContentError as error:
            failed.append(_not_taken(state, str(error)))
        else:
            turn.joined.append(queued.id)
    return failed


def _end(state: ConversationState, turn: TurnState, stop_reason: str) -> list[Receipt]:
    said = next((m for m in reversed(state.memory.messages) if m.seq == turn.said), None)
    state.remember_reply(
        KeptReply(
            turn=turn.turn,
            step=turn.said_step,
            seq=turn.said,
            stop_reason=stop_reason,
            content=said.content if said else [],
            at=workflow.now(),
            usage=turn.usage,
        )
    )
    _leave(state, turn)
    return [
        Receipt(message_id=id_, turn=turn.turn, reply_seq=turn.said, stop_reason=stop_reason)
        for id_ in turn.message_ids
    ]


def _fail(state: ConversationState, turn: TurnState, failure: TurnFailure) -> list[Receipt]:
    if failure.final:
        # What its newest step has brought is what the provider refuses: without it the rest stands.
        _leave_out(state, turn.newest)
    state.totals.failed_turns += 1
    state.note(workflow.now(), f"turn {turn.turn} failed: {failure}")
    _leave(state, turn)
    return [
        Receipt(message_id=id_, turn=turn.turn, stop_reason="failed", error=str(failure))
        for id_ in turn.message_ids
    ]


def _leave_out(state: ConversationState, from_seq: int) -> None:
    """Have the messages from `from_seq` on leave the context; they stay in the log."""
    for seq in [m.seq for m in state.memory.messages if m.seq >= from_seq]:
        state.memory = mark(state.memory, seq, failed=True)
        state.record(failed=seq)


def _leave(state: ConversationState, turn: TurnState) -> None:
    state.turn = None
    before, state.memory = state.memory, unpin_passing(state.memory)
    if state.memory is not before:
        state.record(unpinned=True)
    state.record_turned(turn)
