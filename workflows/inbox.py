"""What a handler may do: check a payload, know its id, put it in its queue."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from perdure.contract import OUR_IDS, ConversationConfig, ImportReceipt, Receipt, Superseded
from perdure.entrance import (
    parse_batch,
    parse_compact,
    parse_pin,
    parse_user_message,
    reconfigured,
)
from perdure.memory.blocks import ContentError
from perdure.memory.wire import sha256
from workflows.state import Control, ConversationState, Imported, Kind, Known, Queued, Turned

Outcome = Receipt | ImportReceipt | ConversationConfig | Superseded


@dataclass
class Ticket:
    """Where a waiting update finds how its payload ended.

    One that is `endless` waits for that however long it takes: its result has no word for later.
    """

    id: str
    since: datetime
    receipt: Outcome | None = None
    refusal: str | None = None
    endless: bool = False


def _digest(value: Any) -> str:
    return sha256(value)[:16]


def _outcome(message_id: str, known: Known) -> Outcome | None:
    if isinstance(known.outcome, Imported):
        return ImportReceipt(**known.outcome._asdict())
    if known.outcome is not None:
        return Receipt(message_id=message_id, **known.outcome._asdict())
    return None


def settle(state: ConversationState, message_id: str, outcome: Outcome) -> None:
    """Note how what was accepted under an id has ended."""
    known = state.known.get(message_id)
    if known is None or isinstance(outcome, ConversationConfig | Superseded):
        return
    ended: Turned | Imported
    if isinstance(outcome, ImportReceipt):
        ended = Imported(outcome.first_seq, outcome.last_seq)
    else:
        ended = Turned(outcome.turn, outcome.reply_seq, outcome.stop_reason, outcome.error)
    state.known[message_id] = known._replace(outcome=ended)


def _known(state: ConversationState, message_id: str, digest: str) -> Known | None:
    known = state.known.get(message_id)
    if known is not None and known.digest != digest:
        raise ContentError(f"the id {message_id!r} was used before with other content")
    return known


def take_message(state: ConversationState, payload: Any, at: datetime) -> Ticket:
    """Queue a user message once; gives the ticket under which its turn will end.

    Raises ContentError when the payload is not a message, its id stands for another one, or
    the conversation is closing.
    """
    message = parse_user_message(payload)
    if message.id is not None:
        known = _known(state, message.id, _digest(message.content))
        if known is not None:
            return Ticket(message.id, at, receipt=_outcome(message.id, known))
    if state.closing:
        raise ContentError("the conversation is closing and takes no more messages")
    state.totals.messages_in += 1
    message_id = message.id or f"{OUR_IDS}{state.totals.messages_in}"
    state.remember_id(message_id, Known(digest=_digest(message.content)))
    state.inbox.append(Queued(id=message_id, content=message.content, at=at, pinned=message.pinned))
    return Ticket(message_id, at)


def take_batch(state: ConversationState, payload: Any, at: datetime) -> Ticket:
    """Queue an import once. Raises ContentError like `take_message`."""
    batch = parse_batch(payload)
    digest = _digest(batch.model_dump(mode="json")["messages"])
    if batch.id is not None:
        known = _known(state, batch.id, digest)
        if known is not None:
            return Ticket(batch.id, at, receipt=_outcome(batch.id, known), endless=True)
    if state.closing:
        raise ContentError("the conversation is closing and takes no more messages")
    state.totals.messages_in += len(batch.messages)
    batch_id = batch.id or f"{OUR_IDS}{state.totals.messages_in}"
    state.remember_id(batch_id, Known(digest=digest))
    state.controls.append(
        Control(kind="import", payload=batch.model_dump(mode="json"), at=at, id=batch_id)
    )
    return Ticket(batch_id, at, endless=True)


def take_compact(state: ConversationState, payload: Any, at: datetime) -> None:
    """Queue a compaction that was asked for."""
    asked = parse_compact(payload).model_dump(mode="json")
    state.controls.append(Control(kind="compact", payload=asked, at=at))


def take_pin(state: ConversationState, payload: Any, at: datetime) -> None:
    """Queue a pin, or that one is taken back."""
    asked = parse_pin(payload)
    kind: Kind = "pin" if asked.pinned else "unpin"
    state.controls.append(Control(kind=kind, payload=asked.what, at=at))


def take_configure(state: ConversationState, payload: Any, at: datetime) -> Ticket:
    """Queue a change of the configuration, checked against the present one."""
    reconfigured(state.config, payload)
    state.totals.changes += 1
    change_id = f"{OUR_IDS}change-{state.totals.changes}"
    state.controls.append(Control(kind="configure", payload=payload, at=at, id=change_id))
    return Ticket(change_id, at, endless=True)


def take_close(state: ConversationState, payload: Any, at: datetime) -> None:
    """Queue the end; what was accepted before it is served first."""
    if payload not in (None, {}, ""):
        raise ContentError("close takes no argument")
    if not state.closing:
        state.closing = True
        state.controls.append(Control(kind="close", payload=None, at=at))
