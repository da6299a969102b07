"""What the queries answer, as plain JSON values."""

import json
from collections.abc import Mapping
from typing import Any

from perdure.contract import (
    CALL_TOOL,
    REPLY,
    ArchiveRef,
    CallRef,
    ClaimRef,
    CountRef,
    Held,
    PartRef,
    Resumed,
    StepRef,
    row_view,
)
from perdure.memory.blocks import to_text
from perdure.memory.compact import previous_end, sources
from perdure.memory.observation import body
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import (
    PROJECTIONS,
    Context,
    context_tokens,
    project_within,
    system_weight,
)
from perdure.memory.state import Memory
from perdure.memory.wire import canonical_json
from workflows.approvals import awaiting, call_block, waiting
from workflows.state import ConversationState

# Characters of a snapshot in one query result, which Temporal limits to 2 MB.
PAGE_CHARS = 250_000
# What is read of a session at its end; more would take a worker seconds.
SESSION_CHARS = 100_000


def system_tokens(state: ConversationState) -> int:
    """Tokens of the system prompt: counted, or an estimate that is never too low."""
    return system_weight(state.config.system, state.system_tokens)


def budgets(state: ConversationState) -> MemoryPolicy:
    """The policy, in tokens as we count them."""
    return state.config.policy.calibrated(state.calibration)


def current_context(state: ConversationState) -> Context:
    """The context as the model would be sent it now."""
    project = PROJECTIONS[state.memory.version]
    return project(state.memory, state.config.system, system_tokens(state))


def _optional(payload: Any, name: str) -> int | None:
    if payload is None:
        return None
    value = payload.get(name) if isinstance(payload, Mapping) else payload
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    return value


def context(state: ConversationState, payload: Any) -> dict[str, Any]:
    """`{system, messages, tokens, sha256, turn}`, within `max_tokens` if that is given."""
    limit = _optional(payload, "max_tokens")
    found = (
        current_context(state)
        if limit is None
        else project_within(state.memory, state.config.system, system_tokens(state), limit)
    )
    return {
        "system": found.system,
        "messages": found.messages,
        "tokens": found.tokens,
        "sha256": found.sha256,
        "turn": state.turns,
    }


def reply(state: ConversationState, payload: Any) -> dict[str, Any]:
    """The reply of a turn (default: the last): `{turn, seq, stop_reason, text, content, at}`."""
    wanted = _optional(payload, "turn")
    for kept in reversed(state.replies):
        if wanted in (None, kept.turn) and kept.content is not None:
            return {**kept.model_dump(mode="json"), "text": to_text(kept.content)}
    if wanted is None:
        raise ValueError("there is no reply yet")
    held = next((r for r in state.replies if r.turn == wanted), None)
    message = next((m for m in state.memory.messages if held and m.seq == held.seq), None)
    if held is not None and message is not None:
        whole = held.model_copy(update={"content": message.content})
        return {**whole.model_dump(mode="json"), "text": message.text}
    raise ValueError(f"the reply of turn {wanted} is not kept here any more, or not there yet")


def memory(state: ConversationState) -> dict[str, Any]:
    """Levels with their ranges and token counts, and the pressure on each budget."""
    held, policy = state.memory, state.config.policy
    levels = [
        {
            "level": number,
            "entries": len(held.level(number)),
            "first_seq": held.level(number)[0].first_seq,
            "last_seq": held.level(number)[-1].last_seq,
            "tokens": held.level_tokens(number),
            "budget": policy.budget(number),
        }
        for number in held.levels
    ]
    return {
        "levels": levels,
        "messages": {
            "count": len(held.messages),
            "first_seq": held.next_seq - len(held.messages),
            "last_seq": held.next_seq - 1,
            "tokens": held.message_tokens,
            "elided": len(held.elided),
            "budget": policy.message_budget,
        },
        "pinned": len(held.pins),
        "next_seq": held.next_seq,
        "raw_tokens": held.raw_tokens,
        "context_tokens": context_tokens(held, system_tokens(state)),
        "pressure": round(held.message_tokens / policy.message_budget, 3),
        "memory_version": held.version,
        "observations": [o.model_dump(mode="json", exclude={"content"}) for o in held.observations],
    }


def compactions(state: ConversationState) -> list[dict[str, Any]]:
    """The last rows of the ledger, oldest first."""
    return [row_view(state.whole_row(row)) for row in state.ledger]


def sessions(state: ConversationState) -> list[dict[str, Any]]:
    """The last sessions that ended, oldest first."""
    return [session.model_dump(mode="json", exclude={"summary"}) for session in state.sessions]


def transcript(state: ConversationState) -> list[dict[str, Any]]:
    """The messages that are still in the workflow, oldest first."""
    return [
        {**m.model_dump(mode="json", exclude_none=True), "text": m.text}
        for m in state.memory.messages
    ]


def _pending(state: ConversationState) -> str | None:
    """What a turn in progress is at while nothing runs."""
    if state.turn is None:
        return None
    if waiting(state):
        return "approval"
    return CALL_TOOL if state.turn.calls else REPLY


def status(state: ConversationState, running: str | None) -> dict[str, Any]:
    """Where the conversation stands, and what last went wrong."""
    return {
        "title": state.config.title,
        "turn": state.turns,
        "queue": len(state.inbox) + len(state.controls),
        "running": running or _pending(state),
        "awaiting": awaiting(state),
        "closing": state.closing,
        "last_error": state.notes[-1].model_dump(mode="json") if state.notes else None,
        "errors": [note.model_dump(mode="json") for note in state.notes],
        "messages": state.memory.next_seq,
        "raw_tokens": state.memory.raw_tokens,
        "context_tokens": context_tokens(state.memory, system_tokens(state)),
        "totals": {
            **state.totals.model_dump(mode="json"),
            "reply_usage": state.totals.reply_usage.booked,
            "compaction_usage": state.totals.compaction_usage.booked,
        },
        "model": state.config.model,
        "chain": state.chain,
        "archived": state.archived.model_dump(mode="json"),
    }


def details(state: ConversationState) -> str:
    """A few lines of Markdown for the Temporal UI."""
    held = state.memory
    rows = [f"| {n} | {len(held.level(n))} | {held.level_tokens(n):,} |" for n in held.levels]
    context = context_tokens(held, system_tokens(state))
    last = f"\n\nLast trouble: {state.notes[-1].text}" if state.notes else ""
    for call in awaiting(state):
        last += f"\n\nWaits for approval: {call['name']}, `{call['tool_use_id']}`"
    return (
        "\n".join(
            [
                f"**{state.config.title or 'Conversation'}** after turn {state.turns}",
                f"{held.raw_tokens:,} tokens said, {context:,} in the context",
                "",
                "| level | entries | tokens |",
                "|---|---|---|",
                *rows,
                f"| messages | {len(held.messages)} | {held.message_tokens:,} |",
            ]
        )
        + last
    )


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


def material(state: ConversationState, ref: Mapping[str, Any]) -> str:
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
