"""The conversation: handlers that enqueue, and the one loop that serves them."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RawValue

with workflow.unsafe.imports_passed_through():
    # A policy imports it only when it has a schema, and by then the sandbox takes no more.
    import perdure.memory.notes.own_schema  # noqa: F401
    from perdure.contract import (
        CALL_TOOL,
        REPLY,
        WORKFLOW,
        CallRef,
        Fork,
        MaterialPage,
        MaterialQuery,
        StepRef,
    )
    from perdure.entrance import parse_batch, parse_start, parse_user_message, reconfigured
    from perdure.memory.blocks import ContentError
    from perdure.memory.project import context_text
    from perdure.memory.state import Memory
    from workflows import views
    from workflows.alarm import Alarm
    from workflows.approvals import patience, take_verdict
    from workflows.archiving import open_chain
    from workflows.controls import close_down, obey
    from workflows.failure import refusal
    from workflows.inbox import (
        Outcome,
        Ticket,
        take_batch,
        take_close,
        take_compact,
        take_configure,
        take_message,
        take_pin,
    )
    from workflows.material import PAGE_CHARS, material_of
    from workflows.payloads import NOTHING, plain
    from workflows.room import Room
    from workflows.runs import is_long
    from workflows.state import Carried, Control, ConversationState
    from workflows.superseding import check_supersede, take_supersede
    from workflows.tickets import Tickets
    from workflows.turn import advance
    from workflows.zone import know_zone

_SETTLE = timedelta(seconds=30)
KNOWN_SIGNALS = "user_message, compact, interrupt, approve, pin and close"
# What may be obeyed while a turn waits for an approval, since no message is added by it.
_BESIDE_A_TURN = ("configure", "pin", "unpin")


@workflow.defn(name=WORKFLOW)
class ConversationWorkflow:
    """One conversation. Its id is the workflow's; its argument a ConversationConfig.

    No call can stop it: every handler takes any payload and says in `status`, or to the
    caller of an update, what was wrong with it.
    """

    def __init__(self) -> None:
        self.state = ConversationState()
        self._room = Room(self.state)
        self._tickets = Tickets(self.state)
        self._ready = False
        self._running: str | None = None
        self._fork: Fork | None = None
        self._steps_here = 0
        self._active_at = workflow.now()
        self._alarm = Alarm()
        self._material: tuple[object, Memory, str] | None = None

    @workflow.run
    async def run(self, payload: RawValue = NOTHING) -> Any:
        """Serve until closed; the result is the last session's summary."""
        self._begin(payload)
        if not self.state.chain:
            self._running = "open"
            await open_chain(self.state, self._fork)
            self._running = None
        while True:
            self._alarm.set(self._room.wakes_at(self._active_at))
            await self._wait_for_work()
            self._room.take_in_finished()
            await know_zone(self.state)
            if self._can_step():
                await self._step()
            elif self._can_obey():
                control = self.state.controls.pop(0)
                if control.kind == "close":
                    return await close_down(self.state, self._room)
                await self._obey(control)
            elif self._alarm.rang:
                self._room.tidy_in_the_quiet()
            self.state.begin_session()
            self._room.tidy()
            workflow.set_current_details(views.details(self.state))
            if is_long(self.state, self._steps_here):
                await self._continue()

    def _begin(self, payload: RawValue) -> None:
        if workflow.info().continued_run_id is not None:
            self.state = Carried.model_validate(plain(payload)).carried
            self._room = Room(self.state)
            self._tickets = Tickets(self.state)
        else:
            start = None
            try:
                start = plain(payload)
                self.state.config, self._fork = parse_start(start)
            except ContentError as error:
                if isinstance(start, dict) and "fork" in start:
                    # Without its past it would be another conversation than was asked for.
                    raise refusal(str(error)) from None
                self.note(f"started with the default configuration: {error}")
        self._ready = True

    def note(self, text: str) -> None:
        """Keep a sentence for `status`."""
        self.state.note(workflow.now(), text)

    async def _wait_for_work(self) -> None:
        now = workflow.now()
        with suppress(TimeoutError):
            await workflow.wait_condition(self._has_work, timeout=patience(self.state, now))

    def _has_work(self) -> bool:
        news = self._room.has_news or self._alarm.rang
        return self._can_step() or self._can_obey() or news

    def _can_step(self) -> bool:
        state = self.state
        if state.turn is None:
            return bool(state.inbox)
        return state.turn.can_go_on or patience(state, workflow.now()) == timedelta()

    def _can_obey(self) -> bool:
        controls = self.state.controls
        beside = self.state.turn is not None
        return bool(controls) and (not beside or controls[0].kind in _BESIDE_A_TURN)

    async def _step(self) -> None:
        turn = self.state.turn
        self._running = CALL_TOOL if turn and turn.calls else REPLY
        receipts = await advance(self.state, self._room)
        self._running = None
        self._steps_here += 1
        self._active_at = workflow.now()
        for receipt in receipts:
            self._tickets.settle(receipt.message_id, receipt)

    async def _obey(self, control: Control) -> None:
        self._running = control.kind
        try:
            receipt = await obey(self.state, self._room, control)
        except ContentError as error:
            if control.id is None:
                self.note(f"signal {control.kind}: {error}")
            else:
                self._tickets.refuse(control.id, str(error))
        else:
            if control.kind == "import":
                self._active_at = workflow.now()
            if control.id is not None and receipt is not None:
                self._tickets.settle(control.id, receipt)
        self._running = None

    # Continuing as new

    async def _continue(self) -> None:
        """Settle what runs, let waiting updates leave, and carry the state to a new run."""
        await self._room.settle(_SETTLE)
        await self._tickets.drain()
        self.state.totals.runs += 1
        workflow.continue_as_new(Carried(carried=self.state))

    # Signals

    async def _signalled(
        self,
        name: str,
        take: Callable[[ConversationState, Any, datetime], object],
        payload: RawValue,
    ) -> None:
        if not self._ready:
            await workflow.wait_condition(lambda: self._ready)
        try:
            take(self.state, plain(payload), workflow.now())
        except ContentError as error:
            self.note(f"signal {name}: {error}")

    @workflow.signal
    async def user_message(self, payload: RawValue = NOTHING) -> None:
        """A string, or `{"content": str or blocks, "id": str?, "pinned": bool?}`."""
        await self._signalled("user_message", take_message, payload)

    @workflow.signal
    async def compact(self, payload: RawValue = NOTHING) -> None:
        """Compact now: nothing, `{"instructions": str?}`, or `{"session": true}` to end one."""
        await self._signalled("compact", take_compact, payload)

    @workflow.signal
    async def interrupt(self, payload: RawValue = NOTHING) -> None:
        """Stop the turn in progress; the text so far is kept, and the conversation goes on.

        Where none has begun yet it is the oldest message's that is queued.
        """
        if not self._ready:
            await workflow.wait_condition(lambda: self._ready)
        if self.state.turn is not None:
            self.state.turn.interrupted = True
        elif self.state.inbox:
            self.state.inbox[0].interrupted = True
        else:
            self.note("signal interrupt: no turn was in progress")

    @workflow.signal
    async def approve(self, payload: RawValue = NOTHING) -> None:
        """Answer a waiting call: `{"tool_use_id", "approved", "note"?, "always"?}`."""
        await self._signalled("approve", take_verdict, payload)

    @workflow.signal
    async def pin(self, payload: RawValue = NOTHING) -> None:
        """Never compact `{"seq": int}`, a message, or `{"text": str}`, a note.

        With `"pinned": false` the pin is taken back.
        """
        await self._signalled("pin", take_pin, payload)

    @workflow.signal
    async def close(self, payload: RawValue = NOTHING) -> None:
        """End after what was accepted before, with a last session summary as the result.

        A call that waits for an approval is waited for; `interrupt` ends that.
        """
        await self._signalled("close", take_close, payload)

    @workflow.signal(dynamic=True)
    async def unknown_signal(self, name: str, args: Sequence[RawValue]) -> None:
        """Any other signal: noted in `status`."""
        self.note(f"signal {name}: unknown; known are {KNOWN_SIGNALS}")

    # Updates

    async def _updated(
        self, take: Callable[[ConversationState, Any, datetime], Ticket], payload: RawValue
    ) -> Outcome:
        if not self._ready:
            await workflow.wait_condition(lambda: self._ready)
        try:
            ticket = take(self.state, plain(payload), workflow.now())
        except ContentError as error:
            raise refusal(str(error)) from None
        return await self._tickets.outcome(ticket)

    @workflow.update
    async def ask(self, payload: RawValue = NOTHING) -> Outcome:
        """Like `user_message`, and wait for the reply; read it with the query `reply`."""
        return await self._updated(take_message, payload)

    @ask.validator
    def _check_ask(self, payload: RawValue = NOTHING) -> None:
        self._check(parse_user_message, payload)

    @workflow.update
    async def import_messages(self, payload: RawValue = NOTHING) -> Outcome:
        """Take in `{"messages": [{"role", "content", "at"?}], "id"?}`; no model reply."""
        return await self._updated(take_batch, payload)

    @import_messages.validator
    def _check_import(self, payload: RawValue = NOTHING) -> None:
        self._check(parse_batch, payload)

    @workflow.update
    async def configure(self, payload: RawValue = NOTHING) -> Outcome:
        """Change fields of the configuration from the next turn on; gives the whole of it."""
        return await self._updated(take_configure, payload)

    @configure.validator
    def _check_configure(self, payload: RawValue = NOTHING) -> None:
        self._check(lambda given: reconfigured(self.state.config, given), payload)

    @workflow.update
    async def supersede(self, payload: RawValue = NOTHING) -> Outcome:
        """Put another text in the place of an entry: `{"id", "identity", "content", ...}`.

        See `perdure.contract.Supersede`; gives the id of the entry that stands now.
        """
        return await self._updated(take_supersede, payload)

    @supersede.validator
    def _check_supersede(self, payload: RawValue = NOTHING) -> None:
        # At the start of a run the state that was handed on is not there yet.
        ready = self._ready
        self._check(lambda given: check_supersede(self.state, given, ready=ready), payload)

    def _check(self, parse: Callable[[Any], object], payload: RawValue) -> None:
        self._tickets.check_open()
        try:
            parse(plain(payload))
        except ContentError as error:
            raise refusal(str(error)) from None

    # Queries

    @workflow.query
    def context(self, payload: RawValue = NOTHING) -> dict[str, Any]:
        """What the model would be sent now; optional `{"max_tokens"}`."""
        return views.context(self.state, plain(payload))

    @workflow.query
    def context_text(self, payload: RawValue = NOTHING) -> str:
        """The same as readable text, without the system prompt."""
        return context_text(self.state.memory)

    @workflow.query
    def reply(self, payload: RawValue = NOTHING) -> dict[str, Any]:
        """The reply of `{"turn"}`, by default the last."""
        return views.reply(self.state, plain(payload))

    @workflow.query
    def memory(self, payload: RawValue = NOTHING) -> dict[str, Any]:
        """Levels, ranges, token counts and pressure."""
        return views.memory(self.state)

    @workflow.query
    def compactions(self, payload: RawValue = NOTHING) -> list[dict[str, Any]]:
        """The last rows of the ledger."""
        return views.compactions(self.state)

    @workflow.query
    def sessions(self, payload: RawValue = NOTHING) -> list[dict[str, Any]]:
        """The last sessions that ended: what they came to, counts and times."""
        return views.sessions(self.state)

    @workflow.query
    def status(self, payload: RawValue = NOTHING) -> dict[str, Any]:
        """Turn, queue, running step, errors and totals."""
        return views.status(self.state, self._running)

    @workflow.query
    def transcript(self, payload: RawValue = NOTHING) -> list[dict[str, Any]]:
        """The messages that are still in the workflow."""
        return views.transcript(self.state)

    def material_for(self, ref: StepRef | CallRef) -> str:
        """What the query `material` would give for a reference."""
        return material_of(self.state, ref.model_dump(mode="json"))

    @workflow.query
    def material(self, payload: RawValue = NOTHING) -> MaterialPage:
        """For activities: what a reference names; see MaterialQuery."""
        query = MaterialQuery.model_validate(plain(payload))
        held = self._material
        # From the first page on it is one text, however the rest of the state goes on.
        begins = not query.offset
        if held is None or begins or held[0] != query.of or held[1] is not self.state.memory:
            held = (query.of, self.state.memory, material_of(self.state, query.of))
            self._material = held
        page = held[2][query.offset : query.offset + PAGE_CHARS]
        digest = hashlib.sha256(held[2].encode()).hexdigest()
        return MaterialPage(text=page, size=len(held[2]), sha256=digest)
