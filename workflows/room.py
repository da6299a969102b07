"""Keeps the context within its budgets: starts compactions and takes their results in."""

from perdure.contract import Urgency
from perdure.memory.compact import Plan, next_compaction, state_bytes
from workflows.compaction import Compaction, take_in
from workflows.state import ConversationState
from workflows.views import budgets, system_tokens

# A turn never waits for more compactions than this, so a summariser cannot hold it up.
ROUNDS = 8


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

    def plan(self, open_seq: int | None = None) -> Plan | None:
        """What should be compacted next; None also while failures are being waited out."""
        state = self._state
        plan = next_compaction(
            state.memory,
            budgets(state),
            system_tokens=system_tokens(state),
            open_seq=open_seq,
        )
        waiting = state.turns < state.compact_after_turn
        return None if plan is None or (waiting and plan.urgency != "emergency") else plan

    def take_in_finished(self) -> None:
        """Apply the compaction that has ended, if one has."""
        if self.has_news and self._flight is not None:
            finished, self._flight = self._flight, None
            take_in(self._state, finished)

    def tidy(self) -> None:
        """At rest: start the compaction that is due, in the background."""
        self.take_in_finished()
        if self._flight is None and (plan := self.plan()) is not None:
            self._flight = Compaction(self._state, plan)

    async def run(self, plan: Plan, instructions: str = "") -> bool:
        """Compact and wait; gives whether everything could be applied."""
        await self.settle()
        running = Compaction(self._state, plan, instructions)
        await running.wait()
        return take_in(self._state, running)

    async def settle(self, seconds: float | None = None) -> None:
        """Wait for the compaction in flight, at most `seconds`, and apply it."""
        if self._flight is not None:
            await self._flight.wait(seconds)
            self.take_in_finished()

    async def make(self, open_seq: int | None = None, up_to: Urgency = "blocking") -> None:
        """Before a model call: compact what must be compacted first, start what may run beside.

        With `up_to` "background" it waits for that too, which imports do.
        """
        for _ in range(ROUNDS):
            self.take_in_finished()
            plan = self.plan(open_seq)
            if plan is None:
                return
            if plan.urgency == "background" and up_to != "background":
                if self._flight is None:
                    self._flight = Compaction(self._state, plan)
                return
            if self._flight is not None:
                await self.settle()
            elif not await self.run(plan) and plan.urgency == "emergency":
                return
