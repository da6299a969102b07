"""Reading what was saved, through the parents of a chain."""

import json
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import TupleRow, dict_row

from perdure.archive.lineage import END, Segment, Span, read_line
from perdure.archive.records import ChainKey
from perdure.contract import LedgerRow
from perdure.memory.event import Event
from perdure.memory.message import Message
from perdure.memory.observation import Observation

_MESSAGES = """
select seq, role, content, at, tokens, pinned, failed from perdure.messages
where chain_id = %s and seq between %s and %s order by seq limit %s
"""
_MESSAGES_AT = """
select seq, role, content, at, tokens, pinned, failed from perdure.messages
where chain_id = %s and seq between %s and %s and seq = any(%s) order by seq
"""
_FIELDS = """
o.id, o.level, o.content, o.facts, o.start_time, o.end_time, o.first_seq, o.last_seq,
o.message_count, o.original_tokens, o.compressed_tokens, o.created_at, o.sources, o.method, o.model,
o.prompt_version, o.identity
"""
# Of an ancestor's entries those count which it had made when this chain left it.
_OBSERVATIONS = f"""
select {_FIELDS} from perdure.observations o
where o.chain_id = %(chain)s and o.last_seq <= %(last_seq)s and not exists (
    select from perdure.ledger l where l.chain_id = o.chain_id and l.observation_id = o.id
        and l.n > %(last_row)s)
"""
_OBSERVATION = f"{_OBSERVATIONS} and o.id = %(id)s"
_LEDGER = """
select l.n, l.entry, o.content, o.facts from perdure.ledger l
left join perdure.observations o on o.chain_id = l.chain_id and o.id = l.observation_id
where l.chain_id = %s and l.n between %s and %s order by l.n desc limit %s
"""
_REPLIES = """
select turn, reply from perdure.replies
where chain_id = %s and turn between %s and %s order by turn limit %s
"""
_REPLY = "select reply from perdure.replies where chain_id = %s and turn = %s"

_EVENTS = """
select event from perdure.events
where chain_id = %s and n between %s and %s and (turn is null or %s) order by n
"""
_TURN = "select event from perdure.events where chain_id = %s and turn = %s and n <= %s"


def within(span: Span, first: int, last: int) -> Span:
    """The part of a span that lies in `first..last`."""
    return Span(max(span.first, first), min(span.last, last))


async def messages(
    connection: AsyncConnection, key: ChainKey, first_seq: int, last_seq: int | None, limit: int
) -> list[Message]:
    """See `Archive.messages`."""
    found: list[Message] = []
    for segment in reversed(await read_line(connection, key)):
        first, last = within(segment.seqs, first_seq, END if last_seq is None else last_seq)
        if first <= last and len(found) < limit:
            cursor = await connection.execute(
                _MESSAGES, [segment.chain_id, first, last, limit - len(found)]
            )
            found += [_message(row) for row in await cursor.fetchall()]
    return found


async def messages_at(
    connection: AsyncConnection, key: ChainKey, seqs: Sequence[int]
) -> list[Message]:
    """See `Archive.messages_at`."""
    found: list[Message] = []
    for segment in reversed(await read_line(connection, key)):
        marks = [segment.chain_id, *segment.seqs, list(seqs)]
        cursor = await connection.execute(_MESSAGES_AT, marks)
        found += [_message(row) for row in await cursor.fetchall()]
    return found


def _message(row: TupleRow) -> Message:
    seq, role, content, at, tokens, pinned, failed = row
    return Message(
        seq=seq,
        role=role,
        content=json.loads(content),
        at=at.astimezone(UTC),
        tokens=tokens,
        pinned=pinned,
        failed=failed,
    )


async def observations(connection: AsyncConnection, key: ChainKey) -> list[Observation]:
    """See `Archive.observations`."""
    found: dict[str, Observation] = {}
    for segment in await read_line(connection, key):
        for entry in await _entries(connection, segment):
            found.setdefault(entry.id, entry)
    return sorted(found.values(), key=lambda o: (o.level, o.first_seq, o.created_at, o.id))


async def observation(connection: AsyncConnection, key: ChainKey, id_: str) -> Observation | None:
    """See `Archive.observation`."""
    for segment in await read_line(connection, key):
        if entries := await _entries(connection, segment, id_):
            return entries[0]
    return None


async def _entries(
    connection: AsyncConnection, segment: Segment, id_: str | None = None
) -> Sequence[Observation]:
    marks = {
        "chain": segment.chain_id,
        "last_seq": segment.seqs.last,
        "last_row": segment.rows.last,
        "id": id_,
    }
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_OBSERVATIONS if id_ is None else _OBSERVATION, marks)
        return [_observation(row) for row in await cursor.fetchall()]


def _observation(row: dict[str, Any]) -> Observation:
    times = {name: row[name].astimezone(UTC) for name in ("start_time", "end_time", "created_at")}
    return Observation.model_validate(row | times)


async def ledger(
    connection: AsyncConnection, key: ChainKey, before: int | None, limit: int
) -> list[tuple[int, LedgerRow]]:
    """See `Archive.ledger`."""
    found: list[tuple[int, LedgerRow]] = []
    for segment in await read_line(connection, key):
        first, last = within(segment.rows, 0, END if before is None else before - 1)
        if first <= last and len(found) < limit:
            cursor = await connection.execute(
                _LEDGER, [segment.chain_id, first, last, limit - len(found)]
            )
            found += [
                (n, _row(entry, text, facts)) for n, entry, text, facts in await cursor.fetchall()
            ]
    return found[::-1]


def _row(entry: str, content: str | None, facts: list[str] | None) -> LedgerRow:
    fields = json.loads(entry)
    fields["observation"] |= {"content": content or "", "facts": facts or []}
    return LedgerRow.model_validate(fields)


async def reply(connection: AsyncConnection, key: ChainKey, turn: int) -> dict[str, Any] | None:
    """See `Archive.reply`."""
    for segment in await read_line(connection, key):
        if segment.turns.first <= turn <= segment.turns.last:
            cursor = await connection.execute(_REPLY, [segment.chain_id, turn])
            if row := await cursor.fetchone():
                found: dict[str, Any] = json.loads(row[0])
                return found
    return None


async def replies(
    connection: AsyncConnection, key: ChainKey, first: int, limit: int
) -> list[tuple[int, dict[str, Any]]]:
    """See `Archive.replies`."""
    found: list[tuple[int, dict[str, Any]]] = []
    for segment in reversed(await read_line(connection, key)):
        start, end = within(segment.turns, first, END)
        if start <= end and len(found) < limit:
            cursor = await connection.execute(
                _REPLIES, [segment.chain_id, start, end, limit - len(found)]
            )
            found += [(turn, json.loads(text)) for turn, text in await cursor.fetchall()]
    return found


async def events(
    connection: AsyncConnection, key: ChainKey, before: int | None, turns: bool
) -> list[Event]:
    """See `Archive.events`."""
    found: list[Event] = []
    for segment in reversed(await read_line(connection, key)):
        first, last = within(segment.events, 0, END if before is None else before - 1)
        if first <= last:
            cursor = await connection.execute(_EVENTS, [segment.chain_id, first, last, turns])
            found += [Event.model_validate_json(text) for (text,) in await cursor.fetchall()]
    return found


async def turned(connection: AsyncConnection, key: ChainKey, turn: int) -> Event | None:
    """See `Archive.turned`."""
    for segment in await read_line(connection, key):
        cursor = await connection.execute(_TURN, [segment.chain_id, turn, segment.events.last])
        if row := await cursor.fetchone():
            return Event.model_validate_json(row[0])
    return None
