"""Words of a reply on their way to whoever watches, while the model still speaks."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import class_row

from perdure.archive.records import Piece

# A watcher that has missed a notification looks again after so long.
LOOK_SECONDS = 5.0
# The first piece of a turn takes the place of what was left of another.
_PUT = """
with gone as (
    delete from perdure.pieces where %(start)s = 0
        and namespace = %(namespace)s and conversation = %(conversation)s and turn <> %(turn)s
), piece as (
    insert into perdure.pieces
        (namespace, conversation, message_id, turn, step, attempt, start, text)
    values (%(namespace)s, %(conversation)s, %(message_id)s, %(turn)s, %(step)s, %(attempt)s,
        %(start)s, %(text)s)
    returning id
)
select pg_notify(%(channel)s, '') from piece
"""
_AFTER = """
select id, message_id, turn, step, attempt, start, text from perdure.pieces
where namespace = %s and conversation = %s and id > %s order by id
"""
REMOVE = "delete from perdure.pieces where namespace = %s and conversation = %s"


def channel(namespace: str, conversation: str) -> str:
    """The name under which PostgreSQL tells of new pieces: short, and safe to quote."""
    digest = hashlib.sha256(f"{namespace}\n{conversation}".encode()).hexdigest()
    return f"perdure_{digest[:32]}"


async def put(connection: AsyncConnection, namespace: str, conversation: str, piece: Piece) -> None:
    """See `Archive.put_piece`."""
    values = {
        "namespace": namespace,
        "conversation": conversation,
        "channel": channel(namespace, conversation),
        **piece.model_dump(exclude={"id"}),
    }
    await connection.execute(_PUT, values)


async def watched(
    connection: AsyncConnection,
    namespace: str,
    conversation: str,
    ended: asyncio.Future[Any] | None,
) -> AsyncGenerator[Piece, None]:
    """See `Archive.pieces`; `connection` must be a session of its own."""
    await connection.execute(f'listen "{channel(namespace, conversation)}"'.encode())
    last, over = 0, False
    while not over:
        # Looked at before the pieces are: what stood there at the end is then among them.
        over = ended is not None and ended.done()
        async with connection.cursor(row_factory=class_row(Piece)) as cursor:
            await cursor.execute(_AFTER, [namespace, conversation, last])
            found = await cursor.fetchall()
        for piece in found:
            last = piece.id
            yield piece
        if not over:
            await _news(connection, ended)


async def _news(connection: AsyncConnection, ended: asyncio.Future[Any] | None) -> None:
    """Return when there may be a new piece, or when it has ended."""
    told = asyncio.ensure_future(_told(connection))
    try:
        await asyncio.wait([told, *([ended] if ended else [])], return_when="FIRST_COMPLETED")
    finally:
        told.cancel()
        await asyncio.wait([told])
    if not told.cancelled():
        told.result()


async def _told(connection: AsyncConnection) -> None:
    async for _ in connection.notifies(timeout=LOOK_SECONDS, stop_after=1):
        pass
