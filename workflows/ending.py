"""The end of a session: everything is compacted, and what it came to is told and counted."""

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

from perdure.contract import SESSION, SessionRef
from perdure.memory.plan import Plan, next_compaction
from perdure.memory.session import Session, Told
from workflows.failure import reason
from workflows.heartbeat import HEARTBEAT
from workflows.material import session_material
from workflows.room import Room
from workflows.state import ConversationState, SessionStart
from workflows.views import budgets

_ATTEMPT = timedelta(seconds=30)
_RETRIES = RetryPolicy(maximum_attempts=3)
# How long closing waits for a model's last summary before it makes do with an extract.
LAST_SUMMARY = timedelta(minutes=1)


async def end_session(state: ConversationState, room: Room) -> Session:
    """Compact all that is still verbatim, and keep what the session came to for `sessions`.

    Without a usable model its entries are extractive, so a session can always end.
    """
    await room.settle(LAST_SUMMARY)
    policy = budgets(state).model_copy(update={"keep_recent": 0, "keep_recent_messages": 0})
    plan = next_compaction(state.memory, policy, now=True)
    before = {o.id for o in state.memory.observations}
    if plan is not None and not await room.run(plan, LAST_SUMMARY):
        rest = next_compaction(state.memory, policy, now=True)
        if rest is not None:
            await room.run(Plan(urgency="emergency", parts=rest.parts), LAST_SUMMARY)
    last = [o for o in state.memory.observations if o.id not in before]
    begun = state.session.seq
    made = last or state.memory.observations[-1:]
    entries = [entry.text for entry in made if entry.last_seq >= begun]
    verbatim = [m for m in state.memory.messages if not m.failed and m.seq >= begun]
    messages = [f"{m.role}: {m.text}" for m in verbatim]
    ended = _counted(state, "\n\n".join(entries or messages), await _told(state))
    state.remember_session(ended)
    state.session = SessionStart(
        seq=state.memory.next_seq,
        turn=state.turns,
        row=state.totals.compactions,
        tokens=state.memory.raw_tokens,
    )
    return ended


async def _told(state: ConversationState) -> Told:
    if not any(session_material(state).values()):
        return Told()
    try:
        told: Told = await workflow.execute_activity(
            SESSION,
            SessionRef(session=state.session.seq),
            result_type=Told,
            start_to_close_timeout=_ATTEMPT,
            heartbeat_timeout=HEARTBEAT,
            retry_policy=_RETRIES,
            summary=f"from message {state.session.seq}",
        )
    except ActivityError as error:
        state.note(workflow.now(), f"a session ended with its counts alone: {reason(error)}")
        return Told()
    return told


def _counted(state: ConversationState, summary: str, told: Told) -> Session:
    begun, memory = state.session, state.memory
    first, last = _times(state)
    return Session(
        **told.model_dump(),
        summary=summary,
        first_seq=begun.seq,
        messages=memory.next_seq - begun.seq,
        turns=state.turns - begun.turn,
        compactions=state.totals.compactions - begun.row,
        tokens=memory.raw_tokens - begun.tokens,
        first_at=first,
        last_at=last,
        seconds=0 if first is None or last is None else (last - first) // timedelta(seconds=1),
    )


def _times(state: ConversationState) -> tuple[datetime | None, datetime | None]:
    """When the session's first and last message were said."""
    begun, memory = state.session, state.memory
    spans = [(o.start_time, o.end_time) for o in memory.observations if o.last_seq >= begun.seq]
    spans += [(m.at, m.at) for m in memory.messages if m.seq >= begun.seq]
    if not spans:
        return None, None
    first = begun.at or min(start for start, _ in spans)
    return first, max(end for _, end in spans)
