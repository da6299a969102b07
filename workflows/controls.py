"""What is done at a turn boundary because somebody asked for it."""

from contextlib import suppress
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError

from perdure.contract import CompactRequest, ConversationConfig, ImportBatch, ImportReceipt
from perdure.entrance import reconfigured
from perdure.memory.blocks import ContentError, upper_estimate
from perdure.memory.groups import pairing_fault
from perdure.memory.pinning import pin_fault, unpin_fault
from perdure.memory.plan import next_compaction
from perdure.memory.session import Session
from perdure.memory.state import append, mark, pin, unpin
from workflows.archiving import archive_at_last, claimed
from workflows.ending import end_session
from workflows.inbox import Outcome
from workflows.room import Room
from workflows.state import Control, ConversationState
from workflows.steps import count_from
from workflows.superseding import supersede
from workflows.views import budgets
from workflows.zone import look_up


async def obey(state: ConversationState, room: Room, control: Control) -> Outcome | None:
    """Do what a control asks for; all kinds but `close`. Raises ContentError."""
    if control.kind == "import":
        return await take_in_batch(state, room, control)
    if control.kind == "configure":
        return await configure(state, control.payload)
    if control.kind == "supersede":
        return await supersede(state, room, control)
    if control.kind == "pin":
        pin_down(state, control)
    elif control.kind == "unpin":
        take_back(state, control.payload)
    elif control.kind == "compact":
        await compact_now(state, room, CompactRequest.model_validate(control.payload))
    return None


async def configure(state: ConversationState, payload: Any) -> ConversationConfig:
    """Change the configuration; a new system prompt and other tools are counted again.

    Raises ContentError, with nothing changed, when its time zone is none.
    """
    name = reconfigured(state.config, payload).policy.timezone
    if name != state.config.policy.timezone:
        with suppress(ActivityError):
            state.zone = await look_up(name)
    before, state.config = state.config, reconfigured(state.config, payload)
    if (state.config.system, state.config.tools) != (before.system, before.tools):
        state.system_tokens = None
    # A yes that was to be remembered holds until its tool's rule changes.
    old, new = before.approvals, state.config.approvals
    state.approved = [name for name in state.approved if old.get(name) == new.get(name)]
    state.record(config=state.config.model_dump(mode="json", exclude_defaults=True))
    return state.config


def pin_down(state: ConversationState, control: Control) -> None:
    """Pin a message of the tail, or a note.

    Raises ContentError if the message has left, or when too much is pinned already.
    """
    wanted, policy = control.payload, budgets(state)
    found = next((m for m in state.memory.messages if m.seq == wanted and not m.pinned), None)
    if isinstance(wanted, str):
        tokens = upper_estimate([{"type": "text", "text": wanted}])
        if fault := pin_fault(state.memory, policy, tokens, wanted):
            raise ContentError(fault)
        before, state.memory = state.memory, pin(state.memory, wanted, control.at, tokens)
        if state.memory is not before:
            state.record(noted=state.memory.pins[-1])
    elif found is not None and (fault := pin_fault(state.memory, policy, found.weight)):
        raise ContentError(fault)
    elif any(m.seq == wanted for m in state.memory.messages):
        state.memory = mark(state.memory, wanted, pinned=True)
        state.record(pinned=wanted)
    else:
        raise ContentError(f"message {wanted} is not word for word in the context")


def take_back(state: ConversationState, what: int | str) -> None:
    """Unpin a message or a note. What is not pinned is noted, under the signal's name."""
    open_seq = state.turn.seq if state.turn else None
    before, state.memory = state.memory, unpin(state.memory, what, open_seq=open_seq)
    if state.memory is before:
        state.note(workflow.now(), f"signal pin: {unpin_fault(before, what)}")
        return
    state.record_passing(before)
    state.record(taken_back=what)


async def take_in_batch(state: ConversationState, room: Room, control: Control) -> ImportReceipt:
    """Append an imported batch, count it, and compact until it is within the budgets.

    Raises ContentError, with nothing taken in, when a tool call and its result do not stand
    in two messages that follow each other.
    """
    batch = ImportBatch.model_validate(control.payload)
    if fault := pairing_fault(batch.messages):
        raise ContentError(fault)
    state.controls.insert(0, control)
    try:
        contents = await claimed(control.id or "", [item.content for item in batch.messages])
    finally:
        state.controls.pop(0)
    first = state.memory.next_seq
    for item, content in zip(batch.messages, contents, strict=True):
        state.memory = append(state.memory, item.role, content, item.at or control.at)
    await count_from(state, first)
    await room.make(wait_for_all=True)
    return ImportReceipt(first_seq=first, last_seq=first + len(batch.messages) - 1)


async def compact_now(state: ConversationState, room: Room, asked: CompactRequest) -> None:
    """Compact the messages before the tail, whatever they weigh; or all, to end a session.

    Messages go on beside a compaction.
    """
    await room.settle()
    if asked.session:
        await end_session(state, room)
        return
    plan = next_compaction(state.memory, budgets(state), now=True)
    if plan is None:
        state.note(workflow.now(), "compact: there is nothing before the newest messages")
        return
    await room.begin(plan, asked.instructions)


async def close_down(state: ConversationState, room: Room) -> Session:
    """End the last session, which is the result of the workflow, and close the archive."""
    ended = await end_session(state, room)
    await archive_at_last(state)
    return ended
