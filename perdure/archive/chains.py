"""The chains of a conversation: listed, closed, and continued by another one."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import LiteralString

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from perdure.archive.lineage import END, Segment, Span, own_line, read_line
from perdure.archive.records import Chain, ChainKey
from perdure.archive.storable import refuse_unstorable
from perdure.contract import Marks
from perdure.errors import ArchiveConflict, ArchiveError

_CHAINS = """
select c.namespace, c.conversation, c.chain, c.created_at, c.closed_at,
    p.namespace, p.conversation, p.chain,
    c.parent_until_seq, c.parent_until_turn, c.parent_until_row, c.parent_until_event
from perdure.chains c left join perdure.chains p on p.id = c.parent_id
where c.namespace = %s and c.conversation = %s
"""
_SNAPSHOT = """
select snapshot from perdure.chains where namespace = %s and conversation = %s and chain = %s
"""
_CLOSE = """
update perdure.chains set closed_at = now(), snapshot = %s where id = %s and closed_at is null
"""
_FORK = """
insert into perdure.chains (namespace, conversation, chain,
    parent_id, parent_until_seq, parent_until_turn, parent_until_row, parent_until_event)
values (%s, %s, %s, %s, %s, %s, %s, %s)
on conflict (namespace, conversation, chain) do nothing
"""
_SHARE_BLOBS = """
insert into perdure.blob_links (namespace, conversation, sha256)
select %s, %s, sha256 from perdure.blob_links where namespace = %s and conversation = %s
order by sha256 on conflict do nothing
"""
_LAST_SEQ = "select max(seq) from perdure.messages where chain_id = %s and seq between %s and %s"
_LAST_TURN = "select max(turn) from perdure.replies where chain_id = %s and turn between %s and %s"
_LAST_ROW = "select max(n) from perdure.ledger where chain_id = %s and n between %s and %s"
_LAST_EVENT = "select max(n) from perdure.events where chain_id = %s and n between %s and %s"


async def chains(connection: AsyncConnection, namespace: str, conversation: str) -> list[Chain]:
    """See `Archive.chains`."""
    cursor = await connection.execute(f"{_CHAINS} order by c.id", [namespace, conversation])
    return [_chain(row) for row in await cursor.fetchall()]


async def latest_chain(
    connection: AsyncConnection, namespace: str, conversation: str, *, closed: bool
) -> Chain | None:
    """See `Archive.latest_chain`."""
    query: LiteralString = f"{_CHAINS} order by c.id desc limit 1"
    if closed:
        query = (
            f"{_CHAINS} and c.closed_at is not null order by c.closed_at desc, c.id desc limit 1"
        )
    cursor = await connection.execute(query, [namespace, conversation])
    row = await cursor.fetchone()
    return _chain(row) if row else None


def _chain(row: TupleRow) -> Chain:
    namespace, conversation, chain, created_at, closed_at, *rest = row
    parent_namespace, parent_conversation, parent_chain, *marks = rest
    return Chain(
        ChainKey(namespace, conversation, chain),
        created_at.astimezone(UTC),
        closed_at.astimezone(UTC) if isinstance(closed_at, datetime) else None,
        ChainKey(parent_namespace, parent_conversation, parent_chain) if parent_chain else None,
        *marks,
    )


async def snapshot(connection: AsyncConnection, key: ChainKey) -> str | None:
    """See `Archive.snapshot`."""
    cursor = await connection.execute(_SNAPSHOT, [key.namespace, key.conversation, key.chain])
    row = await cursor.fetchone()
    text: str | None = row[0] if row else None
    return text


async def close_chain(connection: AsyncConnection, key: ChainKey, text: str) -> None:
    """See `Archive.close_chain`."""
    refuse_unstorable(text, "The snapshot of a chain")
    async with connection.transaction():
        own = (await own_line(connection, key))[0]
        await connection.execute(_CLOSE, [text, own.chain_id])
        if await snapshot(connection, key) != text:
            raise ArchiveConflict(
                f"Chain {key.chain} of conversation {key.conversation} was closed before, with "
                "another memory.",
                noun="chain",
                key=key.chain,
            )


async def fork(
    connection: AsyncConnection,
    parent: ChainKey,
    child: ChainKey,
    until_seq: int | None,
    until_turn: int | None,
    until_row: int | None,
    until_event: int | None,
) -> Chain:
    """See `Archive.fork`."""
    if parent == child:
        raise ArchiveError(f"Chain {child.chain} cannot be a fork of itself.")
    async with connection.transaction():
        # The parent gets its row even with nothing saved, so that a retry finds the same fork.
        line = await own_line(connection, parent)
        marks = [
            await _mark(connection, _LAST_SEQ, [(s, s.seqs) for s in line], until_seq),
            await _mark(connection, _LAST_TURN, [(s, s.turns) for s in line], until_turn),
            await _mark(connection, _LAST_ROW, [(s, s.rows) for s in line], until_row),
            await _mark(connection, _LAST_EVENT, [(s, s.events) for s in line], until_event),
        ]
        where = [child.namespace, child.conversation]
        values = [*where, child.chain, line[0].chain_id, *marks]
        await connection.execute(_FORK, values)
        await connection.execute(_SHARE_BLOBS, [*where, parent.namespace, parent.conversation])
        found = await connection.execute(f"{_CHAINS} and c.chain = %s", [*where, child.chain])
        row = await found.fetchone()
        if row is None:
            raise ArchiveError(f"Chain {child.chain} was deleted while it was forked.")
        chain = _chain(row)
        if chain.parent != parent:
            raise ArchiveConflict(
                f"Conversation {child.conversation} has a chain {child.chain} already, which is "
                f"not a fork of {parent.conversation}.",
                noun="chain",
                key=child.chain,
            )
    return chain


async def marks(connection: AsyncConnection, key: ChainKey) -> Marks:
    """See `Archive.marks`."""
    line = await read_line(connection, key)
    return Marks(
        seq=1 + await _mark(connection, _LAST_SEQ, [(s, s.seqs) for s in line], None),
        row=1 + await _mark(connection, _LAST_ROW, [(s, s.rows) for s in line], None),
        turn=1 + await _mark(connection, _LAST_TURN, [(s, s.turns) for s in line], None),
        event=1 + await _mark(connection, _LAST_EVENT, [(s, s.events) for s in line], None),
    )


async def _mark(
    connection: AsyncConnection,
    query: LiteralString,
    line: Sequence[tuple[Segment, Span]],
    until: int | None,
) -> int:
    """The last archived number up to `until`, or -1."""
    for segment, (first, last) in line:
        upper = min(last, END if until is None else until)
        row = await (await connection.execute(query, [segment.chain_id, first, upper])).fetchone()
        if row and row[0] is not None:
            return int(row[0])
    return -1
