"""What the activities work on, read by a query: the history then holds a reference instead."""

import json
from collections.abc import Mapping
from typing import Any

from perdure.contract import (
    ArchiveRef,
    CallRef,
    ClaimRef,
    CountRef,
    Held,
    PartRef,
    Resumed,
    StepRef,
)
from perdure.memory.observation import body
from perdure.memory.sources import previous_end, sources
from perdure.memory.state import Memory
from perdure.memory.wire import canonical_json
from workflows.approvals import call_block
from workflows.state import ConversationState
from workflows.views import budgets, current_context

# Characters of a snapshot in one query result, which Temporal limits to 2 MB.
PAGE_CHARS = 250_000
# What is read of a session at its end; more would take a worker seconds.
SESSION_CHARS = 100_000


def _uncounted(held: Memory, from_seq: int) -> list[dict[str, Any]]:
    return [
        {"seq": m.seq, "content": m.content, "weight": m.weight}
        for m in held.messages
        if m.tokens is None and m.seq >= from_seq and not m.failed and m.seq not in held.elided
    ]


def _step_material(state: ConversationState, ref: StepRef) -> dict[str, Any] | None:
    turn = state.turn
    if turn is None or (turn.turn, turn.step) != (ref.turn, ref.step):
        return None
    return {
        "context": current_context(state).model_dump(mode="json"),
        "message_id": turn.message_id,
        "model": state.config.model,
        "tools": state.config.tools,
        "approvals": state.config.approvals,
        "max_tokens": state.config.policy.reserve_output,
        "input_limit": budgets(state).input_limit,
        "exact_counts": state.config.policy.exact_counts,
        "window": state.config.policy.context_window,
        "uncounted": _uncounted(state.memory, 0),
        "count_system": state.system_tokens is None,
        "recall": _recall(state),
    }


def _recall(state: ConversationState) -> dict[str, Any] | None:
    """What is to be recalled for a reply: so many tokens, of the messages that have left."""
    policy, held = budgets(state), state.memory
    if policy.recall_share is None:
        return None
    return {
        "tokens": int(policy.message_budget * policy.recall_share),
        "chain": state.parent.chain if state.parent else state.chain,
        "before": held.next_seq - len(held.messages),
    }


def _call_material(state: ConversationState, ref: CallRef) -> dict[str, Any] | None:
    turn = state.turn
    if turn is None or (turn.turn, turn.step) != (ref.turn, ref.step):
        return None
    if not any(call.id == ref.tool_use_id and call.may_run for call in turn.calls):
        return None
    block = call_block(state, ref.tool_use_id)
    given: dict[str, Any] = {k: block[k] for k in ("input", "stored") if k in block}
    return {"name": block.get("name"), "chain": state.chain, **given}


def _part_material(state: ConversationState, ref: PartRef) -> dict[str, Any]:
    return {
        "sources": [s.model_dump(mode="json") for s in sources(state.memory, ref.part)],
        "previous": previous_end(state.memory.observations, ref.part.first_seq),
        "policy": state.config.policy.model_dump(mode="json"),
        "model": state.config.summary_model or state.config.model,
        "window": budgets(state).input_limit,
    }


def _archive_material(state: ConversationState, ref: ArchiveRef) -> dict[str, Any]:
    start, end = ref.start, ref.end
    return {
        "messages": [
            m.model_dump(mode="json") for m in state.memory.messages if start.seq <= m.seq < end.seq
        ],
        "ledger": [
            state.whole_row(row).model_dump(mode="json")
            for row in state.ledger
            if start.row <= row.n < end.row
        ],
        "replies": [
            reply.model_dump(mode="json", exclude={"content"})
            for reply in state.replies
            if start.turn <= reply.turn < end.turn
        ],
        "events": [
            event.model_dump(mode="json")
            for event in state.log
            if start.event <= event.n < end.event
        ],
        "resumable": _resumable(state).model_dump(mode="json") if ref.closing else None,
    }


def _resumable(state: ConversationState) -> Resumed:
    return Resumed(
        memory=state.memory,
        turns=state.turns,
        rows=state.totals.compactions,
        events=state.events,
        config=state.config,
        calibration=state.calibration,
        reply_usage=state.totals.reply_usage,
        compaction_usage=state.totals.compaction_usage,
    )


def _held(state: ConversationState) -> Held:
    return Held(
        chain=state.chain,
        parent=state.parent,
        archived=state.archived,
        resumable=_resumable(state),
        ledger=[state.whole_row(row) for row in state.ledger],
        replies=[r.model_dump(mode="json", exclude={"content"}) for r in state.replies],
        events=state.log,
        queued=len(state.inbox) + len(state.controls),
    )


def session_material(state: ConversationState) -> dict[str, list[str]]:
    """What the session in progress says in the context, the newest part of it, oldest first.

    `made` are the contents that a model wrote, `texts` all else.
    """
    begun, memory = state.session.seq, state.memory
    parts: list[tuple[str, str]] = []
    for entry in memory.observations:
        if entry.last_seq >= begun:
            parts.append(("made" if entry.method == "model" else "texts", entry.content))
            parts += [("texts", body("", entry.facts))] if entry.facts else []
    parts += [
        ("texts", f"{m.role}: {m.text}")
        for m in memory.messages
        if m.seq >= begun and not m.failed and m.text
    ]
    found: dict[str, list[str]] = {"made": [], "texts": []}
    room = SESSION_CHARS
    for name, text in reversed(parts):
        found[name].insert(0, text[:room])
        room -= len(text)
        if room <= 0:
            break
    return found


def _accepted(state: ConversationState, ref: ClaimRef) -> dict[str, Any] | None:
    for queued in state.inbox:
        if queued.id == ref.accepted:
            return {"contents": [queued.content]}
    for control in state.controls:
        if control.id == ref.accepted:
            return {"contents": [m["content"] for m in control.payload["messages"]]}
    return None


def material_of(state: ConversationState, ref: Mapping[str, Any]) -> str:
    """What an activity works on, as canonical JSON; "null" when it is not there any more."""
    if "held" in ref:
        return canonical_json(_held(state).model_dump(mode="json"))
    if "chain" in ref:
        return canonical_json(_archive_material(state, ArchiveRef.model_validate(ref)))
    if "session" in ref:
        return canonical_json(session_material(state))
    if "accepted" in ref:
        return canonical_json(_accepted(state, ClaimRef.model_validate(ref)))
    if "tool_use_id" in ref:
        # Not in the canonical form: a null among a call's arguments means something.
        return json.dumps(_call_material(state, CallRef.model_validate(ref)))
    if "part" in ref:
        return canonical_json(_part_material(state, PartRef.model_validate(ref)))
    if "from_seq" in ref:
        count = CountRef.model_validate(ref)
        return canonical_json(
            {
                "uncounted": _uncounted(state.memory, count.from_seq),
                "system": state.config.system,
                "tools": state.config.tools,
            }
        )
    return canonical_json(_step_material(state, StepRef.model_validate(ref)))
