"""What the queries answer, as plain JSON values."""

from collections.abc import Mapping
from typing import Any

from perdure.contract import (
    APPROVAL,
    CALL_TOOL,
    REPLY,
    row_view,
)
from perdure.memory.blocks import to_text
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import (
    PROJECTIONS,
    Context,
    context_tokens,
    project_within,
    system_weight,
)
from workflows.approvals import awaiting, waiting
from workflows.state import ConversationState


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
    """The reply of a turn, by default the last.

    `{turn, step, seq, stop_reason, text, content, at, usage}`.
    """
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
        return APPROVAL
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
