"""Big contents by their hash, each stored once for all conversations."""

import asyncio
import hashlib

from psycopg import AsyncConnection

from perdure.archive.records import Blob
from perdure.archive.storable import refuse_unstorable

# The update changes nothing: it locks the row against a deletion that runs at the same time.
_STORE = """
insert into perdure.blobs (sha256, media_type, size, data) values (%s, %s, %s, %s)
on conflict (sha256) do update set size = excluded.size
returning media_type
"""
_LINK = """
insert into perdure.blob_links (namespace, conversation, sha256) values (%s, %s, %s)
on conflict do nothing
"""
_READ = "select media_type, data from perdure.blobs where sha256 = %s"


async def put_blob(
    connection: AsyncConnection, namespace: str, conversation: str, data: bytes, media_type: str
) -> Blob:
    """See `Archive.put_blob`."""
    refuse_unstorable([namespace, conversation, media_type], "A blob")
    digest = await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())
    async with connection.transaction():
        cursor = await connection.execute(_STORE, [digest, media_type, len(data), data])
        row = await cursor.fetchone()
        await connection.execute(_LINK, [namespace, conversation, digest])
    return Blob(digest, row[0] if row else media_type, data)


async def get_blob(connection: AsyncConnection, sha256: str) -> Blob | None:
    """See `Archive.get_blob`."""
    cursor = await connection.execute(_READ, [sha256])
    row = await cursor.fetchone()
    return Blob(sha256, row[0], bytes(row[1])) if row else None
