"""Tool calls that wait until somebody approves of them."""

from datetime import datetime, timedelta
from typing import Any

from perdure.contract import ToolResult
from perdure.entrance import parse_verdict
from perdure.memory.blocks import Block, ContentError
from perdure.memory.wire import canonical_json
from workflows.state import ConversationState, OpenCall

# Names that are remembered; a configuration has no more tools.
APPROVED = 128
# Characters of a call's input in `status`.
SHOWN = 500


def error_result(text: str) -> ToolResult:
    """An answer that tells the model why there is no better one."""
    return ToolResult(content=[{"type": "text", "text": text}], is_error=True)


def call_block(state: ConversationState, call_id: str) -> Block:
    """The `tool_use` block of an open call of the turn in progress."""
    said = state.turn.said if state.turn else None
    message = next(m for m in reversed(state.memory.messages) if m.seq == said)
    return next(b for b in message.content if b.get("type") == "tool_use" and b["id"] == call_id)


def waiting(state: ConversationState) -> list[OpenCall]:
    """The calls that wait for an approval; those of an interrupted turn do so no more."""
    if state.turn is None or state.turn.interrupted:
        return []
    return [call for call in state.turn.calls if call.waits]


def awaiting(state: ConversationState) -> list[dict[str, Any]]:
    """The same for `status`: `{tool_use_id, name, input, since}`, the input as short text."""
    shown = []
    for call in waiting(state):
        block = call_block(state, call.id)
        given = block.get("input", block.get("stored", {}).get("head"))
        shown.append(
            {
                "tool_use_id": call.id,
                "name": block.get("name"),
                "input": canonical_json(given)[:SHOWN],
                "since": call.asked.isoformat() if call.asked else None,
            }
        )
    return shown


def take_verdict(state: ConversationState, payload: Any, at: datetime) -> None:
    """Let a waiting call run, or deny it. Raises ContentError when it does not wait.

    A yes that holds for later calls of its tool lets those run that wait beside it.
    """
    verdict = parse_verdict(payload)
    id_ = verdict.tool_use_id
    call = next((c for c in state.turn.calls if c.id == id_), None) if state.turn else None
    if call is None:
        raise ContentError(f"no tool call {id_!r} waits for an approval; `status` lists those")
    if not call.waits:
        raise ContentError(f"the tool call {id_!r} does not wait for an approval any more")
    if not verdict.approved:
        note = f": {verdict.note}" if verdict.note else ""
        call.result = error_result(f"the user has denied this call{note}")
        return
    call.asked = None
    if not (call.remember or verdict.always):
        return
    name = call_block(state, id_).get("name")
    state.approved = [*(n for n in state.approved if n != name), str(name)][-APPROVED:]
    for other in waiting(state):
        if call_block(state, other.id).get("name") == name:
            other.asked = None


def patience(state: ConversationState, now: datetime) -> timedelta | None:
    """How long the calls may wait until the first of them is given up; None is for ever."""
    limit = state.config.approval_timeout
    asked = [call.asked for call in waiting(state) if call.asked is not None]
    if limit is None or not asked:
        return None
    return max(timedelta(), min(asked) + timedelta(seconds=limit) - now)


def give_up(state: ConversationState, now: datetime) -> None:
    """Deny the calls that have waited for too long."""
    limit = state.config.approval_timeout
    for call in waiting(state):
        if limit is not None and call.asked and now - call.asked >= timedelta(seconds=limit):
            call.result = error_result("the call was not approved: there was no answer in time")
