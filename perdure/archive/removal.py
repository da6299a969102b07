"""Deleting a conversation, and what nobody else needs of it."""

from typing import LiteralString

from psycopg import AsyncConnection

from perdure.archive.pieces import REMOVE as _PIECES
from perdure.archive.records import Removed
from perdure.errors import ArchiveShared

_CHAINS = """
select id from perdure.chains where namespace = %s and conversation = %s order by id for update
"""
_FORKS = """
select distinct namespace, conversation from perdure.chains
where parent_id = any(%s) and id <> all(%s)
    and greatest(parent_until_seq, parent_until_turn, parent_until_row, parent_until_event) >= 0
order by namespace, conversation limit 3
"""
_DETACH = """
update perdure.chains set parent_id = null, parent_until_seq = null, parent_until_turn = null,
    parent_until_row = null, parent_until_event = null
where parent_id = any(%s) and id <> all(%s)
"""
_MESSAGES = "delete from perdure.messages where chain_id = any(%s)"
_OBSERVATIONS = "delete from perdure.observations where chain_id = any(%s)"
_LEDGER = "delete from perdure.ledger where chain_id = any(%s)"
_REPLIES = "delete from perdure.replies where chain_id = any(%s)"
_EVENTS = "delete from perdure.events where chain_id = any(%s)"
_CHAIN_ROWS = "delete from perdure.chains where id = any(%s)"
# Locked in one order before anybody looks at their links: who stores the same bytes for
# another conversation at this moment waits, or has already linked them.
_BLOBS = """
select b.sha256 from perdure.blobs b join perdure.blob_links l using (sha256)
where l.namespace = %s and l.conversation = %s order by b.sha256 for update of b
"""
_LINKS = "delete from perdure.blob_links where namespace = %s and conversation = %s"
_UNLINKED = """
delete from perdure.blobs b where b.sha256 = any(%s)
    and not exists (select from perdure.blob_links l where l.sha256 = b.sha256)
"""


async def delete(connection: AsyncConnection, namespace: str, conversation: str) -> Removed:
    """See `Archive.delete`."""
    async with connection.transaction():
        where = [namespace, conversation]
        cursor = await connection.execute(_CHAINS, where)
        ids = [row[0] for row in await cursor.fetchall()]
        await _refuse_forks(connection, conversation, ids)

        async def removed(statement: LiteralString) -> int:
            return (await connection.execute(statement, [ids])).rowcount

        messages = await removed(_MESSAGES)
        observations = await removed(_OBSERVATIONS)
        ledger_rows = await removed(_LEDGER)
        replies = await removed(_REPLIES)
        events = await removed(_EVENTS)
        chains = await removed(_CHAIN_ROWS)
        cursor = await connection.execute(_BLOBS, where)
        linked = [row[0] for row in await cursor.fetchall()]
        await connection.execute(_LINKS, where)
        await connection.execute(_PIECES, where)
        blobs = (await connection.execute(_UNLINKED, [linked])).rowcount
    return Removed(chains, messages, observations, ledger_rows, replies, events, blobs)


async def _refuse_forks(connection: AsyncConnection, conversation: str, ids: list[int]) -> None:
    cursor = await connection.execute(_FORKS, [ids, ids])
    forks = [f"{name} ({namespace})" for namespace, name in await cursor.fetchall()]
    if forks:
        raise ArchiveShared(
            f"Conversation {conversation} shares its past with its fork {', '.join(forks)}; delete "
            "the fork first."
        )
    await connection.execute(_DETACH, [ids, ids])
