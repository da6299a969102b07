"""The archive, as everybody else sees it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Self

from psycopg import AsyncConnection

from perdure.archive import blobs, chains, pieces, reading, removal, schema, searching, writing
from perdure.archive.candidates import Filters, Matches
from perdure.archive.database import Database
from perdure.archive.records import Batch, Blob, Chain, ChainKey, Piece, Removed
from perdure.contract import LedgerRow, Marks
from perdure.memory.event import Event
from perdure.memory.message import Message
from perdure.memory.observation import Observation


class Archive:
    """Originals in PostgreSQL: what left the context, word for word, and what stands for it.

        async with await Archive.open(settings.database_url) as archive:
            await archive.save(Batch(key, messages=messages, observations=[entry]))

    Every method may raise `ArchiveUnavailable`, a few seconds after the database has stopped
    answering; the same call works again when it is back. A wrong URL, password or database name
    is a `SettingsError`. The schema is made, or brought up to date, at the first use;
    `migrate` does it at once.

    Reads resolve through parents: a fork gives its parents' past as its own. Of a chain that
    the archive does not know, everything is empty. Times come back in UTC.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._current = False

    @classmethod
    async def open(cls, url: str, direct_url: str | None = None) -> Self:
        """An archive in the database of a PostgreSQL URL, which need not run yet.

        `direct_url` reaches the same database without a pooler that would not let a session
        listen; only `pieces` uses it. Raises `SettingsError` when a URL cannot be read.
        """
        database = Database(url, direct_url)
        await database.open()
        return cls(database)

    async def close(self) -> None:
        """Close the connections."""
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def migrate(self) -> None:
        """Bring the schema up to date; safe for any number of processes at once.

        Raises `ArchiveTooNew` when a newer perdure has made it.
        """
        async with self._database.single() as connection:
            await schema.migrate(connection)
        self._current = True

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection]:
        if not self._current:
            await self.migrate()
        async with self._database.connection() as connection:
            yield connection

    async def save(self, batch: Batch) -> None:
        """Save everything in `batch`, or nothing; repeat it as often as needed.

        What is there already with the same content is skipped (a message's counts and marks
        stay as they were saved first). Other content under the same key raises
        `ArchiveConflict`, which after a reset says where to `fork`. An observation may differ
        from a parent's of the same id, and then stands before it. Text that PostgreSQL cannot
        hold and times without an offset raise `ArchiveError`.
        """
        async with self._connection() as connection:
            await writing.save(connection, batch)

    async def messages(
        self, key: ChainKey, first_seq: int = 0, last_seq: int | None = None, *, limit: int = 500
    ) -> list[Message]:
        """At most `limit` messages of `first_seq..last_seq`, both included, in order."""
        async with self._connection() as connection:
            return await reading.messages(connection, key, first_seq, last_seq, limit)

    async def messages_at(self, key: ChainKey, seqs: Sequence[int]) -> list[Message]:
        """The messages with these seqs, as far as they are there, in order."""
        async with self._connection() as connection:
            return await reading.messages_at(connection, key, seqs)

    async def search(
        self,
        key: ChainKey,
        terms: Sequence[str],
        filters: Filters | None = None,
        *,
        before: int | None = None,
    ) -> Matches:
        """Messages with a seq under `before` that hold one of `terms`, and those around them.

        Only candidates: the 100 whose terms are rarest, not yet ranked. The messages around
        them need not fit the filters. A question counts with its first 32 terms.
        """
        async with self._connection() as connection:
            return await searching.search(connection, key, terms, filters or Filters(), before)

    async def mentions(
        self,
        key: ChainKey,
        words: Mapping[str, str],
        *,
        before: int | None = None,
        limit: int = 40,
    ) -> dict[str, list[tuple[str, str]]]:
        """Of each word, role and text of a few messages that hold it as it is.

        `words` come with the term that each makes, texts are cut after 500 characters.
        """
        async with self._connection() as connection:
            return await searching.mentions(connection, key, words, before, limit)

    async def observation(self, key: ChainKey, id_: str) -> Observation | None:
        """One observation or reflection, or none."""
        async with self._connection() as connection:
            return await reading.observation(connection, key, id_)

    async def observations(self, key: ChainKey) -> list[Observation]:
        """All of them that were ever made, by level, then by what they cover."""
        async with self._connection() as connection:
            return await reading.observations(connection, key)

    async def ledger(
        self, key: ChainKey, before: int | None = None, *, limit: int = 200
    ) -> list[tuple[int, LedgerRow]]:
        """The last `limit` rows with a number under `before` (none: the newest), ascending.

        A row has its summary's text again if the observation is in the archive.
        """
        async with self._connection() as connection:
            return await reading.ledger(connection, key, before, limit)

    async def reply(self, key: ChainKey, turn: int) -> dict[str, Any] | None:
        """The reply of a turn as it was saved, keys sorted and nulls left out, or none."""
        async with self._connection() as connection:
            return await reading.reply(connection, key, turn)

    async def replies(
        self, key: ChainKey, first_turn: int = 0, *, limit: int = 500
    ) -> list[tuple[int, dict[str, Any]]]:
        """At most `limit` replies from `first_turn` on, each with its turn, in order."""
        async with self._connection() as connection:
            return await reading.replies(connection, key, first_turn, limit)

    async def events(
        self, key: ChainKey, before: int | None = None, *, turns: bool = True
    ) -> list[Event]:
        """All events with a number under `before` (none: all), in order; without `turns` only
        those that changed the context.
        """
        async with self._connection() as connection:
            return await reading.events(connection, key, before, turns)

    async def turned(self, key: ChainKey, turn: int) -> Event | None:
        """The event that ended a turn, or none."""
        async with self._connection() as connection:
            return await reading.turned(connection, key, turn)

    async def marks(self, key: ChainKey) -> Marks:
        """How far a chain stands in the archive: one past the last number of each kind."""
        async with self._connection() as connection:
            return await chains.marks(connection, key)

    async def chains(self, namespace: str, conversation: str) -> list[Chain]:
        """Every life of a conversation, oldest first."""
        async with self._connection() as connection:
            return await chains.chains(connection, namespace, conversation)

    async def latest_chain(
        self, namespace: str, conversation: str, *, closed: bool = False
    ) -> Chain | None:
        """The chain that began last; with `closed` the one that was closed last."""
        async with self._connection() as connection:
            return await chains.latest_chain(connection, namespace, conversation, closed=closed)

    async def close_chain(self, key: ChainKey, snapshot: str) -> None:
        """Note that a chain has ended; `snapshot` is its memory as JSON, to start again from.

        Closing again with the same snapshot does nothing, with another raises
        `ArchiveConflict`. Save the messages that are still in the memory first: they become
        the past of the next chain.
        """
        async with self._connection() as connection:
            await chains.close_chain(connection, key, snapshot)

    async def snapshot(self, key: ChainKey) -> str | None:
        """The snapshot that a chain was closed with, or none."""
        async with self._connection() as connection:
            return await chains.snapshot(connection, key)

    async def fork(
        self,
        parent: ChainKey,
        child: ChainKey,
        *,
        until_seq: int | None = None,
        until_turn: int | None = None,
        until_row: int | None = None,
        until_event: int | None = None,
    ) -> Chain:
        """Make `child` a chain that shares the past of `parent` without copying it.

        It shares messages up to `until_seq`, replies up to `until_turn`, ledger rows and their
        observations up to `until_row`, events up to `until_event`: all included, none meaning
        everything. Only what is in
        the archive by now is shared - the marks of the answer say how much that is - so the
        child saves for itself what only its memory holds. Parent and child may be chains of one
        conversation (a reset, a closed one that starts again) or of two; the child's
        conversation is linked to all blobs of the parent's. Repeating it gives the chain that
        was made first; a chain that is there and has another parent is an `ArchiveConflict`.
        """
        async with self._connection() as connection:
            return await chains.fork(
                connection, parent, child, until_seq, until_turn, until_row, until_event
            )

    async def put_blob(
        self, namespace: str, conversation: str, data: bytes, media_type: str
    ) -> Blob:
        """Store bytes under their SHA-256, for one conversation, if they are not there yet.

        The same bytes are stored once for all, with the media type that they first came with.
        """
        async with self._connection() as connection:
            return await blobs.put_blob(connection, namespace, conversation, data, media_type)

    async def get_blob(self, sha256: str) -> Blob | None:
        """The bytes with this hash (hex), or none."""
        async with self._connection() as connection:
            return await blobs.get_blob(connection, sha256)

    async def put_piece(self, namespace: str, conversation: str, piece: Piece) -> None:
        """Show a part of a reply to whoever watches; earlier turns' are removed."""
        async with self._connection() as connection:
            await pieces.put(connection, namespace, conversation, piece)

    async def pieces(
        self, namespace: str, conversation: str, ended: asyncio.Future[Any] | None = None
    ) -> AsyncGenerator[Piece, None]:
        """What is left of the last turn's pieces, and then every new one as it comes.

        Ends with the last one that was there when `ended` was done.
        """
        if not self._current:
            await self.migrate()
        async with (
            self._database.single(direct=True) as connection,
            aclosing(pieces.watched(connection, namespace, conversation, ended)) as found,
        ):
            async for piece in found:
                yield piece

    async def delete(self, namespace: str, conversation: str) -> Removed:
        """Remove every chain of a conversation, and the blobs that only it needed.

        Raises `ArchiveShared`, naming the forks, while a chain of another conversation shares
        its past: a deletion that left that past readable would not be one.
        """
        async with self._connection() as connection:
            return await removal.delete(connection, namespace, conversation)
