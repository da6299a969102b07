"""What a model was sent, from Temporal's own record: the run is replayed up to that step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from temporalio import workflow
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Interceptor, StartActivityInput

from perdure.archive.moments import Moment, checked_moment, chosen
from perdure.contract import REPLY
from perdure.errors import PerdureError
from perdure.memory.event import Sent
from perdure.memory.project import context_tokens, system_weight
from perdure.memory.state import Memory, with_counts
from perdure.replay import decoded, replayed, runs
from perdure.scheduled import Scheduled


@dataclass
class _Call:
    """A recorded model call: its step, the hash of its context, and what it counted."""

    step: int
    sha256: str
    was_sent: bool = True
    counts: dict[int, int] | None = None
    system_tokens: int | None = None


@dataclass
class _Seen:
    """The state at the moment when the workflow asked for the call."""

    memory: Memory
    system: str
    system_tokens: int | None


class _Watch:
    """Keeps what the replayed workflow holds when it schedules one model call."""

    def __init__(self, turn: int, step: int) -> None:
        self.seen: _Seen | None = None
        self._wanted = (turn, step)

    def look(self, call: StartActivityInput) -> None:
        """A scheduled activity; the one that is waited for is looked at closely."""
        if call.activity == REPLY and (call.args[0].turn, call.args[0].step) == self._wanted:
            state: Any = workflow.instance().state
            self.seen = _Seen(state.memory, state.config.system, state.system_tokens)


def _calls(events: Sequence[HistoryEvent], turn: int) -> list[_Call]:
    """The model calls of a turn that a run has recorded, without those that were not made."""
    calls: dict[int, _Call] = {}
    for event in events:
        which = event.WhichOneof("attributes")
        if which == "activity_task_scheduled_event_attributes":
            scheduled = event.activity_task_scheduled_event_attributes
            ref = decoded(scheduled.input) if scheduled.activity_type.name == REPLY else {}
            if ref.get("turn") == turn:
                calls[event.event_id] = _Call(ref["step"], ref["sha256"])
        elif which == "activity_task_completed_event_attributes":
            completed = event.activity_task_completed_event_attributes
            call = calls.get(completed.scheduled_event_id)
            if call is not None:
                result = decoded(completed.result)
                # A context that was stale or too long was not sent.
                call.was_sent = result.get("status", "ok") == "ok"
                call.counts = {int(s): n for s, n in result.get("counts", {}).items()}
                call.system_tokens = result.get("system_tokens")
    return [call for call in calls.values() if call.was_sent]


async def rewound(
    client: Client,
    id: str,  # noqa: A002
    turn: int,
    step: int | None,
    workflows: Sequence[type],
    interceptors: Sequence[Interceptor],
) -> Moment | None:
    """What a model was sent in a turn, or none when no history that is left tells of it.

    Raises Refused for a step that the turn does not have, and PerdureError when the replay
    gives another context than the one that was recorded.
    """
    found: list[_Call] = []
    async for _, history in runs(client, id):
        calls = _calls(history.events, turn) if history else []
        found = [*calls, *found]
        if calls and history and step in (None, *(call.step for call in calls)):
            call = next(c for c in reversed(calls) if step in (None, c.step))
            return await _rewound(history, turn, call, workflows, interceptors)
        if found and not calls:
            break
    if found:
        chosen(turn, [Sent(c.step, c.sha256, 0, 0, 0, 0, 0) for c in found], step)
    return None


async def _rewound(
    history: WorkflowHistory,
    turn: int,
    call: _Call,
    workflows: Sequence[type],
    interceptors: Sequence[Interceptor],
) -> Moment:
    watch = _Watch(turn, call.step)
    failure = await replayed(history, workflows, [*interceptors, Scheduled(watch.look)])
    seen = watch.seen
    if seen is None:
        why = f": {failure}" if failure else ""
        raise PerdureError(f"the replay did not come to turn {turn}, step {call.step}{why}")
    memory = with_counts(seen.memory, call.counts or {})
    counted = seen.system_tokens if call.system_tokens is None else call.system_tokens
    tokens = context_tokens(memory, system_weight(seen.system, counted))
    sent = Sent(call.step, call.sha256, memory.next_seq, 0, 0, tokens, memory.version)
    return checked_moment(turn, sent, memory, seen.system, "history")
