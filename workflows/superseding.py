"""A text that was made elsewhere, adopted as a compaction in the place of an earlier one."""

from datetime import datetime
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError

from perdure.contract import OUR_IDS, Supersede, Superseded
from perdure.entrance import parse_supersede
from perdure.memory.apply import Compacted
from perdure.memory.blocks import ContentError, upper_estimate
from perdure.memory.observation import Observation, body
from perdure.memory.revise import NoGain, StaleEntry, revise, revised_identity
from perdure.memory.state import Memory
from workflows.archiving import archive, archive_fault
from workflows.inbox import Ticket
from workflows.room import Room
from workflows.state import Control, ConversationState


def take_supersede(state: ConversationState, payload: Any, at: datetime) -> Ticket:
    """Queue it; sent again while it waits, it is the same. Raises ContentError.

    One at a time: its text is carried along until its turn comes.
    """
    asked = check_supersede(state, payload)
    ticket = Ticket(f"{OUR_IDS}supersede-{_identity(asked)}", at)
    waiting = [control for control in state.controls if control.kind == "supersede"]
    if any(control.id == ticket.id for control in waiting):
        return ticket
    if waiting:
        raise ContentError("another text waits to supersede an entry; send it again later")
    if state.closing:
        raise ContentError("the conversation is closing; its memory stays as it is")
    state.controls.append(
        Control(kind="supersede", payload=asked.model_dump(mode="json"), at=at, id=ticket.id)
    )
    return ticket


def check_supersede(state: ConversationState, payload: Any, *, ready: bool = True) -> Supersede:
    """What is asked for, if it can be done now or has been. Raises ContentError.

    Until the state is `ready` only the form of it is looked at.
    """
    asked = parse_supersede(payload)
    if ready and _adopted(state.memory, asked) is None:
        _revised(state.memory, asked, workflow.now())
    return asked


async def supersede(state: ConversationState, room: Room, control: Control) -> Superseded:
    """Put the text in its place, once, and add it to the ledger. Raises ContentError.

    The older text is archived first, since contexts that were sent are rebuilt from it. A
    compaction in flight ends before: it may be made of the entry.
    """
    asked = Supersede.model_validate(control.payload)
    await room.settle()
    if (adopted := _adopted(state.memory, asked)) is not None:
        return Superseded(id=adopted.id)
    _revised(state.memory, asked, control.at)
    end = state.archivable.model_copy(update={"seq": state.archived.seq})
    try:
        await archive(state, end)
    except ActivityError as error:
        raise ContentError(f"{archive_fault(state, error)}; send it again later") from error
    state.archived, state.parent = end, None
    state.memory, entry = _revised(state.memory, asked, workflow.now())
    _remember(state, asked, entry)
    return Superseded(id=entry.id)


def _remember(state: ConversationState, asked: Supersede, entry: Observation) -> None:
    weights = [row.source_tokens for row in state.ledger if row.identity == asked.identity]
    state.remember_compaction(
        entry,
        urgency="background",
        source_tokens=weights[0] if weights else entry.original_tokens,
        ms=asked.ms,
        usage=asked.usage,
    )


def _identity(asked: Supersede) -> str:
    return revised_identity(asked.identity, body(asked.content, asked.facts))


def _adopted(memory: Memory, asked: Supersede) -> Observation | None:
    """The entry that this very text is by now, if it is one."""
    identity = _identity(asked)
    return next((o for o in memory.observations if o.identity == identity), None)


def _revised(memory: Memory, asked: Supersede, at: datetime) -> tuple[Memory, Observation]:
    text = body(asked.content, asked.facts)
    result = Compacted(
        content=asked.content,
        facts=asked.facts,
        tokens=asked.tokens or upper_estimate([{"type": "text", "text": text}]),
        method=asked.method,
        model=asked.model,
        prompt_version=asked.prompt_version,
        identity=_identity(asked),
    )
    try:
        return revise(memory, asked.id, asked.identity, result, at)
    except (StaleEntry, NoGain) as error:
        raise ContentError(str(error)) from None
