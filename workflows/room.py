"""Keeps the context within its budgets: starts compactions and takes their results in."""

from datetime import datetime, timedelta

from temporalio import workflow

from perdure.memory.elide.decide import elide, is_due
from perdure.memory.plan import Plan, idle_compaction, next_compaction, state_bytes
from perdure.memory.thinking import without_thinking
from perdure.memory.tiers import due_by_calendar, next_due
from workflows.compaction import Compaction, take_in
from workflows.state import ConversationState
from workflows.views import budgets, system_tokens

# A turn never waits for more compactions than this, so a summariser cannot hold it up.
ROUNDS = 8
# How long a turn waits for a summariser while its request still fits the window.
PATIENCE = timedelta(seconds=5)


class Room:
    """The one compaction that may be in flight, for one conversation state."""

    def __init__(self, state: ConversationState) -> None:
        self._state = state
        self._flight: Compaction | None = None

    @property
    def has_news(self) -> bool:
        """Whether a compaction has ended that was not taken in yet."""
        return self._flight is not None and self._flight.done

    def state_bytes(self) -> int:
        """About how many bytes the memory takes in the carried state."""
        return state_bytes(self._state.memory)

    def plan(self) -> Plan | None:
        """What should be compacted next; None also while failures are being waited out."""
        state, turn, policy = self._state, self._state.turn, budgets(self._state)
        open_seq = turn.seq if turn else None
        plan = next_compaction(
            state.memory,
            policy,
            system_tokens=system_tokens(state),
            open_seq=open_seq,
            step_seq=turn.newest if turn else None,
        )
        if plan is None:
            plan = due_by_calendar(state.memory, policy, state.zone, workflow.now(), open_seq)
        return None if plan is None or (self._waits and plan.urgency != "emergency") else plan

    @property
    def _waits(self) -> bool:
        """Whether a failure is being waited out."""
        return self._state.turns < self._state.compact_after_turn

    def wakes_at(self, active_at: datetime) -> datetime | None:
        """When there will be something to do in the quiet, if no message comes.

        `active_at` is when the last one came.
        """
        state, policy = self._state, budgets(self._state)
        if policy.idle_after is None or state.turn or self._flight is not None or self._waits:
            return None
        quiet = active_at + timedelta(seconds=policy.idle_after)
        if idle_compaction(state.memory, policy) is not None:
            return quiet
        day = next_due(state.memory, policy, state.zone, workflow.now())
        return None if day is None else max(quiet, state.zone.start(day))

    def tidy_in_the_quiet(self) -> None:
        """No message came for long: start compacting below any threshold."""
        if self._flight is None:
            plan = idle_compaction(self._state.memory, budgets(self._state))
            self._flight = None if plan is None else Compaction(self._state, plan)

    def take_in_finished(self) -> None:
        """Apply the compaction that has ended, if one has."""
        if self.has_news and self._flight is not None:
            finished, self._flight = self._flight, None
            take_in(self._state, finished)

    def lighten(self) -> None:
        """Elide what the context can do without, unless a compaction is about to make room.

        What a compaction was planned for must not become lighter than its result.
        """
        state, turn, policy = self._state, self._state.turn, budgets(self._state)
        if self._flight is None and is_due(state.memory, policy):
            before = state.memory
            state.memory = elide(
                state.memory,
                policy,
                open_seq=turn.seq if turn else None,
                step_seq=turn.newest if turn else None,
            )
            state.record_elided(before)

    def tidy(self) -> None:
        """Between steps: elide, and start the compaction that is due, in the background."""
        self.take_in_finished()
        if self._state.turn is None:
            before = self._state.memory
            self._state.memory = without_thinking(before)
            self._state.record_elided(before)
        self.lighten()
        if self._flight is None and (plan := self.plan()) is not None:
            self._flight = Compaction(self._state, plan)

    async def run(self, plan: Plan, at_most: timedelta) -> bool:
        """Compact, no longer than told; gives whether everything could be applied."""
        running = Compaction(self._state, plan)
        if not await running.wait(at_most):
            await running.cancel()
        return take_in(self._state, running)

    async def begin(self, plan: Plan, instructions: str = "") -> None:
        """Compact, and wait to the end unless a message comes in between; nothing is in flight."""
        self._flight = flight = Compaction(self._state, plan, instructions)
        if await self._has_ended(flight):
            self.take_in_finished()

    async def settle(self, at_most: timedelta | None = None) -> None:
        """Wait for the compaction in flight, cancel it if that takes too long, and apply it."""
        if self._flight is not None:
            if not await self._has_ended(self._flight, at_most):
                await self._flight.cancel()
            self.take_in_finished()

    async def _has_ended(self, flight: Compaction, at_most: timedelta | None = None) -> bool:
        """Wait for its end, and when somebody waits for that no longer than a turn would."""
        done = await flight.wait(at_most, unless=self._is_awaited)
        return done or (self._is_awaited() and await self._has_ended_soon(flight))

    def _is_awaited(self) -> bool:
        """Whether a message waits, or what else is asked for; imports take their time."""
        state = self._state
        return bool(state.inbox) or any(c.kind != "import" for c in state.controls)

    async def _has_ended_soon(self, flight: Compaction) -> bool:
        """Wait for its end within PATIENCE, and only once; not for a turn that is stopped."""
        if not flight.late:
            done = await flight.wait(PATIENCE, unless=self._is_stopped)
            flight.late = not done and not self._is_stopped()
        return flight.done

    def _is_stopped(self) -> bool:
        return self._state.turn is not None and self._state.turn.interrupted

    async def make(self, *, wait_for_all: bool = False) -> None:
        """Before a model call: compact what must be compacted first, start what may run beside.

        A turn waits only so long for a summariser, unless its request would not fit, and not at
        all if an earlier turn has done so in vain. An import waits for everything that is due,
        however long that takes, unless a message comes in between.
        """
        self.take_in_finished()
        self.lighten()
        for _ in range(ROUNDS):
            self.take_in_finished()
            plan = self.plan()
            if plan is None:
                return
            emergency = plan.urgency == "emergency"
            if emergency and self._flight is not None:
                await self._flight.cancel()
                self.take_in_finished()
                continue
            if self._flight is None:
                self._flight = Compaction(self._state, plan)
            if plan.urgency == "background" and not wait_for_all:
                return
            before = self._state.failed_in_a_row
            wait = self._has_ended if wait_for_all else self._has_ended_soon
            if not await (self._flight.wait() if emergency else wait(self._flight)):
                return
            self.take_in_finished()
            if emergency and self._state.failed_in_a_row > before:
                return
