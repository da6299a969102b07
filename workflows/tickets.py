"""The updates that wait, and how each of them leaves."""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from perdure.contract import AWAITING_APPROVAL, DRAINING, TURN_FAILED, Receipt
from workflows.approvals import waiting
from workflows.failure import refusal
from workflows.inbox import Outcome, Ticket, settle
from workflows.state import ConversationState

# How long `ask` waits for its reply, and how often that is looked at.
ASK_LIMIT = timedelta(minutes=10)
_WATCH = timedelta(minutes=1)


class Tickets:
    """The tickets of the updates that wait, for one conversation state."""

    def __init__(self, state: ConversationState) -> None:
        self._state = state
        self._held: list[Ticket] = []
        self._watching = False
        self._draining = False

    def check_open(self) -> None:
        """Raises ApplicationError when the run is being continued and takes nothing more."""
        if self._draining:
            raise ApplicationError(
                "the run is being continued; send it again with the same id", type=DRAINING
            )

    async def outcome(self, ticket: Ticket) -> Outcome:
        """What the update of `ticket` gives back, as soon as that is known.

        Raises ApplicationError when it was refused, its turn failed or the run is continued.
        """
        if ticket.receipt is None:
            await self._wait_for(ticket)
        if ticket.refusal is not None:
            raise refusal(ticket.refusal)
        if ticket.receipt is None:
            raise ApplicationError(
                f"the run is being continued; what you sent was kept as {ticket.id!r}: "
                "send it again with that id to wait for its end",
                type=DRAINING,
            )
        if isinstance(ticket.receipt, Receipt) and ticket.receipt.error is not None:
            raise ApplicationError(ticket.receipt.error, type=TURN_FAILED, non_retryable=True)
        return ticket.receipt

    def settle(self, message_id: str, outcome: Outcome) -> None:
        """Note how what was accepted under an id has ended, and tell whoever waits for it."""
        settle(self._state, message_id, outcome)
        for ticket in self._held:
            if ticket.id == message_id:
                ticket.receipt = outcome

    def refuse(self, message_id: str, why: str) -> None:
        """Forget what was accepted under an id, and tell whoever waits for it why."""
        self._state.known.pop(message_id, None)
        for ticket in self._held:
            if ticket.id == message_id:
                ticket.refusal = why

    async def drain(self) -> None:
        """Let all that wait leave, and wait until they have."""
        self._draining = True
        await workflow.wait_condition(workflow.all_handlers_finished)

    async def _wait_for(self, ticket: Ticket) -> None:
        self._held.append(ticket)
        if not self._watching:
            self._watching = True
            asyncio.create_task(self._watch())  # noqa: RUF006
        await workflow.wait_condition(
            lambda: (
                bool(ticket.receipt or ticket.refusal or self._needs_approval(ticket.id))
                or self._draining
            )
        )
        self._held.remove(ticket)
        if ticket.receipt is None and ticket.refusal is None:
            ticket.receipt = self._needs_approval(ticket.id)

    def _needs_approval(self, message_id: str) -> Receipt | None:
        turn = self._state.turn
        if turn is None or message_id not in turn.message_ids or not waiting(self._state):
            return None
        return Receipt(message_id=message_id, turn=turn.turn, stop_reason=AWAITING_APPROVAL)

    async def _watch(self) -> None:
        """Let updates leave that have waited for too long; one timer serves them all."""
        while self._held:
            await workflow.sleep(_WATCH)
            for ticket in self._held:
                if not ticket.endless and workflow.now() - ticket.since >= ASK_LIMIT:
                    ticket.receipt = Receipt(message_id=ticket.id, stop_reason="pending")
        self._watching = False
