"""Messages, observations and ledger rows to archive."""

from datetime import UTC, datetime, timedelta
from typing import Any

from perdure.contract import LedgerRow, Usage
from perdure.memory.event import Event, TurnEnd
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.state import Pin
from perdure.memory.wire import sha256

START = datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=UTC)


def message(seq: int, text: str | None = None, **fields: Any) -> Message:
    content = [{"type": "text", "text": f"message {seq}" if text is None else text}]
    values: dict[str, Any] = {
        "seq": seq,
        "role": "assistant" if seq % 2 else "user",
        "content": content,
        "at": START + timedelta(minutes=seq),
    }
    return Message(**values | fields)


def messages(first: int, last: int) -> list[Message]:
    return [message(seq) for seq in range(first, last + 1)]


def observation(first: int, last: int, content: str = "They talked.", **fields: Any) -> Observation:
    values: dict[str, Any] = {
        "id": f"L1.{first}-{last}",
        "level": 1,
        "content": content,
        "start_time": START + timedelta(minutes=first),
        "end_time": START + timedelta(minutes=last),
        "first_seq": first,
        "last_seq": last,
        "message_count": last - first + 1,
        "original_tokens": 500,
        "compressed_tokens": 100,
        "created_at": START + timedelta(minutes=last + 5),
        "method": "extractive",
        "model": "offline",
        "prompt_version": "1",
        "identity": "c0ffee",
    }
    return Observation(**values | fields)


def event(n: int, turn: int | None = None, *, row: int = 0) -> Event:
    """A note that was pinned, or the end of a turn."""
    if turn is not None:
        return Event(n=n, row=row, turned=TurnEnd(turn=turn, seq=2 * turn))
    return Event(n=n, row=row, noted=Pin(text=f"note {n}", at=START, tokens=3))


def row(entry: Observation, turn: int) -> LedgerRow:
    return LedgerRow(
        n=0,
        turn=turn,
        urgency="background",
        observation=entry,
        sha256=sha256(entry.body),
        source_tokens=500,
        ms=12,
        usage=Usage(input=500, output=100),
    )
