"""Saving a batch: once for every key, whatever is retried."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import AsyncConnection

from perdure.archive.lineage import Segment, Span, own_line
from perdure.archive.records import Batch, ChainKey
from perdure.archive.rows import (
    Row,
    event_row,
    ledger_row,
    message_row,
    observation_row,
    reply_row,
)
from perdure.errors import ArchiveConflict, ArchiveError

_SHARED = """
from unnest(%(chains)s::bigint[], %(firsts)s::bigint[], %(lasts)s::bigint[])
    as s (chain_id, first, last)
"""


@dataclass(frozen=True)
class Log:
    """A numbered kind of record: `known` reads the hashes under given numbers, by segment."""

    noun: str
    known: LiteralString
    insert: LiteralString


MESSAGES = Log(
    "message",
    f"select t.seq, t.sha256 {_SHARED} join perdure.messages t on t.chain_id = s.chain_id "
    "and t.seq between s.first and s.last where t.seq = any(%(keys)s::bigint[])",
    "insert into perdure.messages (chain_id, seq, sha256, role, content, at, tokens, pinned, "
    "failed, text, terms) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
)
LEDGER = Log(
    "ledger row",
    f"select t.n, t.sha256 {_SHARED} join perdure.ledger t on t.chain_id = s.chain_id "
    "and t.n between s.first and s.last where t.n = any(%(keys)s::bigint[])",
    "insert into perdure.ledger (chain_id, n, sha256, observation_id, entry) "
    "values (%s, %s, %s, %s, %s)",
)
REPLIES = Log(
    "reply",
    f"select t.turn, t.sha256 {_SHARED} join perdure.replies t on t.chain_id = s.chain_id "
    "and t.turn between s.first and s.last where t.turn = any(%(keys)s::bigint[])",
    "insert into perdure.replies (chain_id, turn, sha256, reply) values (%s, %s, %s, %s)",
)
EVENTS = Log(
    "event",
    f"select t.n, t.sha256 {_SHARED} join perdure.events t on t.chain_id = s.chain_id "
    "and t.n between s.first and s.last where t.n = any(%(keys)s::bigint[])",
    "insert into perdure.events (chain_id, n, sha256, turn, event) values (%s, %s, %s, %s, %s)",
)
_OBSERVATION_HASHES = (
    f"select t.chain_id, t.id, t.sha256 {_SHARED} join perdure.observations t "
    "on t.chain_id = s.chain_id and t.last_seq <= s.last where t.id = any(%(keys)s)"
)
_INSERT_OBSERVATION: LiteralString = (
    "insert into perdure.observations (chain_id, id, sha256, level, content, facts, start_time, "
    "end_time, first_seq, last_seq, message_count, original_tokens, compressed_tokens, "
    "created_at, sources, method, model, prompt_version, identity) values "
    "(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)


async def save(connection: AsyncConnection, batch: Batch) -> None:
    """Save `batch` in one transaction; see `Archive.save`."""
    key = batch.key
    messages = _by_key("message", [message_row(m) for m in batch.messages], key)
    entries = _by_key("observation", [observation_row(o) for o in batch.observations], key)
    ledger = {n: ledger_row(n, row) for n, row in batch.ledger.items()}
    replies = {turn: reply_row(turn, reply) for turn, reply in batch.replies.items()}
    events = {event.n: event_row(event) for event in batch.events}
    async with connection.transaction():
        line = await own_line(connection, key)
        await _save_log(connection, key, MESSAGES, messages, [(s, s.seqs) for s in line])
        await _save_observations(connection, key, entries, line)
        await _save_log(connection, key, LEDGER, ledger, [(s, s.rows) for s in line])
        await _save_log(connection, key, REPLIES, replies, [(s, s.turns) for s in line])
        await _save_log(connection, key, EVENTS, events, [(s, s.events) for s in line])


def _by_key(noun: str, rows: Sequence[Row], key: ChainKey) -> dict[Any, Row]:
    found: dict[Any, Row] = {}
    for row in rows:
        if found.setdefault(row.key, row).sha256 != row.sha256:
            raise _conflict(key, noun, row.key, "twice in one batch, with different content")
    return found


async def _save_log(
    connection: AsyncConnection,
    key: ChainKey,
    log: Log,
    rows: Mapping[int, Row],
    line: Sequence[tuple[Segment, Span]],
) -> None:
    if not rows:
        return
    marks = {
        "keys": list(rows),
        "chains": [segment.chain_id for segment, _ in line],
        "firsts": [span.first for _, span in line],
        "lasts": [span.last for _, span in line],
    }
    known: dict[int, str] = dict(await (await connection.execute(log.known, marks)).fetchall())
    fresh = _fresh(key, log.noun, rows, known)
    own, span = line[0]
    if missing := [row.key for row in fresh if int(row.key) < span.first]:
        raise ArchiveError(
            f"{_name(key)} shares everything up to {log.noun} {span.first - 1} with its parent, "
            f"and {log.noun} {missing[0]} is missing there."
        )
    await _insert(connection, log.insert, own, fresh)


async def _save_observations(
    connection: AsyncConnection, key: ChainKey, rows: Mapping[str, Row], line: Sequence[Segment]
) -> None:
    if not rows:
        return
    marks = {
        "keys": list(rows),
        "chains": [s.chain_id for s in line],
        "firsts": [s.seqs.first for s in line],
        "lasts": [s.seqs.last for s in line],
    }
    found = await (await connection.execute(_OBSERVATION_HASHES, marks)).fetchall()
    own = line[0]
    known = {id_: sha256 for chain_id, id_, sha256 in found if chain_id == own.chain_id}
    # An ancestor's entry of the same range may differ: the fork compacts for itself.
    shared = {(id_, sha256) for chain_id, id_, sha256 in found if chain_id != own.chain_id}
    new = {k: row for k, row in rows.items() if (k, row.sha256) not in shared}
    await _insert(connection, _INSERT_OBSERVATION, own, _fresh(key, "observation", new, known))


def _fresh(
    key: ChainKey, noun: str, rows: Mapping[Any, Row], known: Mapping[Any, str]
) -> list[Row]:
    fresh = []
    for k in sorted(rows):
        row = rows[k]
        if k not in known:
            fresh.append(row)
        elif known[k] != row.sha256:
            raise _conflict(key, noun, k, "with different content")
    return fresh


async def _insert(
    connection: AsyncConnection, statement: LiteralString, own: Segment, rows: Sequence[Row]
) -> None:
    async with connection.cursor() as cursor:
        await cursor.executemany(
            statement, [(own.chain_id, row.key, row.sha256, *row.values) for row in rows]
        )


def _name(key: ChainKey) -> str:
    return f"Conversation {key.conversation} ({key.namespace}, chain {key.chain})"


def _conflict(key: ChainKey, noun: str, k: int | str, what: str) -> ArchiveConflict:
    return ArchiveConflict(f"{_name(key)} has {noun} {k} {what}.", noun=noun, key=k)
