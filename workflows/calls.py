"""The tool calls of a reply: opened, carried out side by side, answered in one message."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from temporalio import exceptions, workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, CancelledError

from perdure.contract import (
    CALL_TOOL,
    INTERRUPTED,
    CallRef,
    ReplyResult,
    ToolCall,
    ToolResult,
)
from perdure.memory.blocks import Block, clean
from perdure.memory.groups import calls
from perdure.memory.state import Memory, append
from workflows.approvals import call_block, error_result
from workflows.failure import reason
from workflows.heartbeat import HEARTBEAT
from workflows.state import ConversationState, OpenCall, TurnState

_LONGEST_PAUSE = timedelta(seconds=60)
# Calls are carried out behind these; behind any other word the reply may not be meant as it is.
_CARRIED_OUT = ("tool_use", "end_turn", "stop_sequence", "pause_turn", "max_tokens")
# Characters of a failure that the model is shown.
_SHOWN = 2_000
_LOST = "the tool took too long and was given up; it may or may not have had its effect"
_STOPPED = f"{INTERRUPTED}: the call was stopped and may or may not have had its effect"


def is_carried_on(stop_reason: str) -> bool:
    """Whether a reply with calls that ended for this reason is followed by another."""
    return stop_reason in _CARRIED_OUT


def opened(
    state: ConversationState, content: Sequence[Block], result: ReplyResult, at: datetime
) -> list[OpenCall]:
    """The calls in `content`, which is that of `result` with unique ids.

    Those that cannot be carried out have their error already. Of a reply that `max_tokens` has
    cut off, a call at its end may not be whole, so it is not carried out.
    """
    given = [str(b.get("id")) for b in result.content if b.get("type") == "tool_use"]
    blocks = [b for b in content if b.get("type") == "tool_use"]
    made = []
    for number, (block, id_) in enumerate(zip(blocks, given, strict=True)):
        declared = result.calls[number] if number < len(result.calls) else None
        if declared is not None and declared.id != id_:
            declared = None
        cut_off = result.stop_reason == "max_tokens" and block is content[-1]
        error = _fault(state, block, declared, result.stop_reason, cut_off)
        if declared is None or error is not None:
            made.append(OpenCall(id=block["id"], result=error_result(error or "")))
        else:
            made.append(_held_back(state, block, declared, at))
    return made


def _fault(
    state: ConversationState,
    block: Block,
    declared: ToolCall | None,
    stop_reason: str,
    cut_off: bool,
) -> str | None:
    name = block.get("name")
    if not is_carried_on(stop_reason):
        return f"the call was not carried out, since the reply ended with {stop_reason}"
    if cut_off:
        return "the call was cut off by the limit of the reply and not carried out"
    if declared is None:
        return f"there is no tool {name!r} in this conversation"
    if declared.error is not None:
        return declared.error
    if _approval(state, block, declared) == "never":
        return f"the tool {name!r} may not be used in this conversation"
    return None


def _approval(state: ConversationState, block: Block, declared: ToolCall) -> str:
    return state.config.approvals.get(str(block.get("name")), declared.approval)


def _held_back(
    state: ConversationState, block: Block, declared: ToolCall, at: datetime
) -> OpenCall:
    approval = _approval(state, block, declared)
    asks = approval in ("ask", "remember") and block.get("name") not in state.approved
    return OpenCall(
        id=block["id"],
        timeout_s=max(1, declared.timeout_s),
        attempts=max(1, declared.attempts),
        remember=asks and approval == "remember",
        asked=at if asks else None,
    )


async def carry_out(state: ConversationState, turn: TurnState) -> None:
    """Carry out every call that may run, until none is running; some may be waiting then.

    An interrupted turn stops what runs and answers everything that is open.
    """
    running: dict[str, workflow.ActivityHandle[ToolResult]] = {}

    def startable() -> list[OpenCall]:
        return [call for call in turn.calls if call.may_run and call.id not in running]

    def has_news() -> bool:
        ended = any(handle.done() for handle in running.values())
        return turn.interrupted or ended or bool(startable())

    while not turn.interrupted:
        for call in startable():
            running[call.id] = _start(state, turn, call)
        if not running:
            return
        await workflow.wait_condition(has_news)
        _take_results(turn, running)
    for handle in running.values():
        handle.cancel()
    await workflow.wait_condition(lambda: all(handle.done() for handle in running.values()))
    _take_results(turn, running)
    for call in turn.calls:
        if call.waits or call.may_run:
            call.result = error_result(f"{INTERRUPTED} before the call was carried out")


def _start(
    state: ConversationState, turn: TurnState, call: OpenCall
) -> workflow.ActivityHandle[ToolResult]:
    attempt = timedelta(seconds=call.timeout_s)
    return workflow.start_activity(
        CALL_TOOL,
        CallRef(turn=turn.turn, step=turn.step, tool_use_id=call.id),
        result_type=ToolResult,
        start_to_close_timeout=attempt,
        schedule_to_close_timeout=call.attempts * (attempt + _LONGEST_PAUSE),
        heartbeat_timeout=HEARTBEAT,
        retry_policy=RetryPolicy(maximum_attempts=call.attempts, maximum_interval=_LONGEST_PAUSE),
        # An interrupted tool is not waited for: its call is told that it may have had its effect.
        cancellation_type=workflow.ActivityCancellationType.TRY_CANCEL,
        summary=str(call_block(state, call.id).get("name"))[:100],
    )


def _take_results(turn: TurnState, running: dict[str, workflow.ActivityHandle[ToolResult]]) -> None:
    for call in turn.calls:
        handle = running.get(call.id)
        if handle is not None and handle.done():
            call.result = _outcome(handle)
            del running[call.id]


def _outcome(handle: workflow.ActivityHandle[ToolResult]) -> ToolResult:
    if handle.cancelled():
        return error_result(_STOPPED)
    error = handle.exception()
    if error is None:
        return handle.result()
    if not isinstance(error, ActivityError):
        raise error
    if isinstance(error.cause, CancelledError):
        return error_result(_STOPPED)
    if isinstance(error.cause, exceptions.TimeoutError):
        return error_result(_LOST)
    return error_result(clean(f"the tool failed: {reason(error)[:_SHOWN]}"))


def answer_calls(state: ConversationState, turn: TurnState, at: datetime) -> None:
    """Append the results of all calls, which must be there, as one message in call order."""
    results = [call.result or error_result(_STOPPED) for call in turn.calls]
    tokens = [result.tokens for result in results if result.tokens is not None]
    state.memory = append(
        state.memory,
        "user",
        [_block(call.id, result) for call, result in zip(turn.calls, results, strict=True)],
        at,
        tokens=sum(tokens) if len(tokens) == len(results) else None,
    )
    turn.calls = []


def without_open_calls(memory: Memory, at: datetime) -> Memory:
    """The memory with an error for each call whose turn was lost, as in one that was restored."""
    lost = calls(memory.messages[-1].content) if memory.messages else []
    if not lost:
        return memory
    return append(memory, "user", [_block(id_, error_result(_STOPPED)) for id_ in lost], at)


def _block(call_id: str, result: ToolResult) -> Block:
    if [b.get("type") for b in result.content] == ["tool_result"]:
        # The whole of it, as a reference to the archive.
        return {**result.content[0], "tool_use_id": call_id}
    block: Block = {"type": "tool_result", "tool_use_id": call_id, "content": result.content}
    return {**block, "is_error": True} if result.is_error else block
