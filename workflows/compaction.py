"""Compactions in flight: started by the loop, applied by the loop, never in between."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

from perdure.contract import OBSERVE, REFLECT, Marks, PartRef, PartResult
from perdure.memory.apply import NoProgress, apply
from perdure.memory.plan import Part, Plan
from perdure.memory.sources import StalePart, source_hash
from workflows.archiving import archive, archive_fault, leaving
from workflows.failure import reason
from workflows.heartbeat import HEARTBEAT
from workflows.state import ConversationState

Outcome = PartResult | BaseException

# A summary of 6,000 tokens takes a model well under a minute; the rest is for bad ones that are
# asked for again.
_ATTEMPT = timedelta(minutes=10)
_TRIES = {"background": 6, "blocking": 3, "emergency": 3}
# So many plans whose summaries failed are waited out; the next one is made without a model.
_OUTAGES = {"background": 3, "blocking": 1, "emergency": 0}
# Failed compactions are tried again after 2, 4, 8 and then every 16 turns.
_LONGEST_PAUSE = 16


def _ref(state: ConversationState, plan: Plan, part: Part, instructions: str) -> PartRef:
    return PartRef(
        part=part,
        sha256=source_hash(state.memory, part),
        extractive=state.unsummarised >= _OUTAGES[plan.urgency],
        instructions=instructions or None,
        facts_only=plan.facts_only,
    )


async def _one(plan: Plan, ref: PartRef) -> PartResult:
    part = ref.part
    result: PartResult = await workflow.execute_activity(
        OBSERVE if part.level == 1 else REFLECT,
        ref,
        result_type=PartResult,
        start_to_close_timeout=_ATTEMPT,
        heartbeat_timeout=HEARTBEAT,
        retry_policy=RetryPolicy(
            maximum_attempts=_TRIES[plan.urgency], maximum_interval=timedelta(seconds=30)
        ),
        summary=f"messages {part.first_seq}-{part.last_seq} to level {part.level}",
    )
    return result


class Compaction:
    """A plan whose sources are archived and then compacted, by activities."""

    def __init__(self, state: ConversationState, plan: Plan, instructions: str = "") -> None:
        self.plan = plan
        self.archived: Marks | None = None
        # Whether a turn has waited for it in vain.
        self.late = False
        self._task = asyncio.create_task(self._run(state, instructions))

    async def _run(self, state: ConversationState, instructions: str) -> list[Outcome]:
        # First the archive: while it is away no model should be paid for nothing.
        end = leaving(state, self.plan)
        refs = [_ref(state, self.plan, part, instructions) for part in self.plan.parts]
        await archive(state, end)
        self.archived = end
        return await asyncio.gather(*(_one(self.plan, ref) for ref in refs), return_exceptions=True)

    @property
    def done(self) -> bool:
        """Whether every part has ended, well or not."""
        return self._task.done()

    async def wait(
        self, at_most: timedelta | None = None, unless: Callable[[], bool] = lambda: False
    ) -> bool:
        """Wait until every part has ended, and no longer than told; gives whether it has."""
        with suppress(TimeoutError):
            await workflow.wait_condition(lambda: self.done or unless(), timeout=at_most)
        return self.done

    async def cancel(self) -> None:
        """Give up what has not ended."""
        self._task.cancel()
        await workflow.wait_condition(lambda: self.done)

    @property
    def failure(self) -> BaseException | None:
        """Why no part was compacted at all, if so: it was cancelled, or not archived."""
        return asyncio.CancelledError() if self._task.cancelled() else self._task.exception()

    def outcomes(self) -> list[tuple[Part, Outcome]]:
        """What became of each part, in order."""
        return list(zip(self.plan.parts, self._task.result(), strict=True))


def take_in(state: ConversationState, compaction: Compaction) -> bool:
    """Apply the results up to the first that failed; gives whether all could be applied.

    Nothing is applied unless the sources are archived. A part whose range has moved or whose
    result is no progress changes nothing: the originals stay, and the next try comes some
    turns later.
    """
    if compaction.archived is not None:
        state.archived, state.parent = compaction.archived, None
    if compaction.failure is not None:
        _put_off(state, archive_fault(state, compaction.failure))
        return False
    for part, outcome in compaction.outcomes():
        fault = _take_in_part(state, compaction.plan, part, outcome)
        if fault is not None:
            state.unsummarised += isinstance(outcome, ActivityError)
            _put_off(state, fault)
            return False
    state.failed_in_a_row = state.compact_after_turn = state.unsummarised = 0
    return True


def _put_off(state: ConversationState, fault: str) -> None:
    state.totals.failed_compactions += 1
    state.failed_in_a_row += 1
    pause = min(_LONGEST_PAUSE, 2**state.failed_in_a_row)
    state.compact_after_turn = state.turns + pause
    state.note(workflow.now(), f"compaction put off for {pause} turns: {fault}")


def _take_in_part(state: ConversationState, plan: Plan, part: Part, outcome: Outcome) -> str | None:
    if isinstance(outcome, ActivityError):
        return reason(outcome)
    if not isinstance(outcome, PartResult):
        return "it was cancelled"
    if outcome.compacted is None:
        return "its source had changed"
    now, open_seq = workflow.now(), state.turn.seq if state.turn else None
    before = state.memory
    try:
        state.memory, entry = apply(state.memory, part, outcome.compacted, now, open_seq=open_seq)
    except (StalePart, NoProgress) as error:
        return str(error)
    if outcome.fault is not None:
        state.note(
            now, f"{entry.id} was made without the model, whose summary failed: {outcome.fault}"
        )
    state.record_passing(before)
    state.remember_compaction(
        entry,
        urgency=plan.urgency,
        source_tokens=part.source_tokens,
        ms=outcome.ms,
        usage=outcome.usage,
    )
    return None
