"""Rows of the ledger as they are carried: without names, and without what stands elsewhere."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from perdure.contract import LedgerRow, Urgency, Usage
from perdure.memory.observation import Method, Observation

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# The first fields of Usage, which nearly every row has.
_TOKENS = 4


class Row(NamedTuple):
    """A LedgerRow without the observation's text, facts and sources; times are microseconds.

    `usage` has its fields in their order, without the zeros behind the tokens at its end.

    Two hundred of them are most of the state that a continued run is given, twice: with the
    names of their fields they would be two and a half times as large.
    """

    n: int
    turn: int
    urgency: Urgency
    source_tokens: int
    ms: int
    usage: tuple[int, ...] | None
    sha256: str
    id: str
    level: int
    first_seq: int
    last_seq: int
    start: int
    end: int
    created: int
    original_tokens: int
    compressed_tokens: int
    method: Method
    model: str
    prompt_version: str
    identity: str


def _micros(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def _time(micros: int) -> datetime:
    return _EPOCH + micros * _MICROSECOND


def _numbers(usage: Usage) -> tuple[int, ...]:
    numbers = list(usage.booked.values())
    while len(numbers) > _TOKENS and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def packed(row: LedgerRow) -> Row:
    """The row as it is carried."""
    entry, usage = row.observation, row.usage
    return Row(
        n=row.n,
        turn=row.turn,
        urgency=row.urgency,
        source_tokens=row.source_tokens,
        ms=row.ms,
        usage=None if usage is None else _numbers(usage),
        sha256=row.sha256,
        id=entry.id,
        level=entry.level,
        first_seq=entry.first_seq,
        last_seq=entry.last_seq,
        start=_micros(entry.start_time),
        end=_micros(entry.end_time),
        created=_micros(entry.created_at),
        original_tokens=entry.original_tokens,
        compressed_tokens=entry.compressed_tokens,
        method=entry.method,
        model=entry.model,
        prompt_version=entry.prompt_version,
        identity=entry.identity,
    )


def unpacked(row: Row, live: Observation | None) -> LedgerRow:
    """The row with its observation: `live` where the memory still has it, else without text."""
    entry = live or Observation(
        id=row.id,
        level=row.level,
        content="",
        start_time=_time(row.start),
        end_time=_time(row.end),
        first_seq=row.first_seq,
        last_seq=row.last_seq,
        message_count=row.last_seq - row.first_seq + 1,
        original_tokens=row.original_tokens,
        compressed_tokens=row.compressed_tokens,
        created_at=_time(row.created),
        method=row.method,
        model=row.model,
        prompt_version=row.prompt_version,
        identity=row.identity,
    )
    usage = None
    if row.usage is not None:
        usage = Usage(**dict(zip(Usage.model_fields, row.usage, strict=False)))
    return LedgerRow(
        n=row.n,
        turn=row.turn,
        urgency=row.urgency,
        observation=entry,
        sha256=row.sha256,
        source_tokens=row.source_tokens,
        ms=row.ms,
        usage=usage,
    )
