"""How a chain shares the past of its parents: read through, never copied."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from psycopg import AsyncConnection

from perdure.archive.records import ChainKey

END = 2**63 - 1
"""PostgreSQL's largest bigint: no upper bound."""

_OWN = """
insert into perdure.chains (namespace, conversation, chain) values (%s, %s, %s)
on conflict (namespace, conversation, chain) do update set created_at = chains.created_at
"""
# The update changes nothing: it locks the row, so that writers of one chain take turns.

_LINE = """
with recursive line as (
    select id, parent_id, parent_until_seq, parent_until_turn, parent_until_row,
        parent_until_event, 0 as depth
    from perdure.chains where namespace = %s and conversation = %s and chain = %s
    union all
    select c.id, c.parent_id, c.parent_until_seq, c.parent_until_turn, c.parent_until_row,
        c.parent_until_event, line.depth + 1
    from line join perdure.chains c on c.id = line.parent_id
)
select id, parent_until_seq, parent_until_turn, parent_until_row, parent_until_event
from line order by depth
"""

Link = tuple[int, int | None, int | None, int | None, int | None]
"""A chain's number, and how much of its parent's messages, turns, rows and events it shares."""


class Span(NamedTuple):
    """A range, both ends included; empty when `last` is smaller."""

    first: int
    last: int


@dataclass(frozen=True)
class Segment:
    """The part of one chain's records that belongs to a conversation."""

    chain_id: int
    seqs: Span
    turns: Span
    rows: Span
    events: Span


def segments(line: Sequence[Link]) -> list[Segment]:
    """A chain's segments, its own first and its oldest ancestor's last, from such a line.

    The spans of one kind tile `0..END`: every record of a conversation stands in one place.
    """
    found = []
    ends = [END, END, END, END]
    for chain_id, *marks in line:
        spans = [
            Span(0 if mark is None else mark + 1, end)
            for mark, end in zip(marks, ends, strict=True)
        ]
        found.append(Segment(chain_id, *spans))
        ends = [
            min(end, -1 if mark is None else mark) for mark, end in zip(marks, ends, strict=True)
        ]
    return found


async def read_line(connection: AsyncConnection, key: ChainKey) -> list[Segment]:
    """The segments of a chain; none when the archive does not know it."""
    cursor = await connection.execute(_LINE, [key.namespace, key.conversation, key.chain])
    return segments(await cursor.fetchall())


async def own_line(connection: AsyncConnection, key: ChainKey) -> list[Segment]:
    """The same for a writer: the chain exists from now on, and is ours until the commit."""
    await connection.execute(_OWN, [key.namespace, key.conversation, key.chain])
    return await read_line(connection, key)
