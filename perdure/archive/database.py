"""Connections to the archive's database: pooled, bounded in time, and back by themselves."""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import psycopg
from psycopg import AsyncConnection
from psycopg.errors import QueryCanceled, ReadOnlySqlTransaction
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from perdure.archive.target import Target, cannot_connect, parse, unavailable
from perdure.errors import ArchiveError, PerdureError

POOL_SIZE = 8
CONNECT_SECONDS = 3
CHECK_SECONDS = 2.0
POOL_SECONDS = 4.0
"""How long a caller waits for a usable connection before the database counts as down."""
STATEMENT_SECONDS = 30
WORK_SECONDS = 60.0
"""How long a caller may use a connection: several statements, each within its own limit."""


class Database:
    """A pool that needs no running database until it is used.

    Every failure comes out of `connection` as an `ArchiveError` (or as a `SettingsError`, where
    the URL is to blame), with one sentence that never shows the password.
    """

    def __init__(self, url: str, direct_url: str | None = None) -> None:
        self.target = parse(url)
        self._direct = parse(direct_url, "PERDURE_STREAM_URL") if direct_url else self.target
        self._pool = AsyncConnectionPool(
            self.target.url,
            open=False,
            min_size=0,
            max_size=POOL_SIZE,
            timeout=POOL_SECONDS,
            # A waiting caller gets a few attempts; the next caller starts with a fresh one
            # instead of inheriting a long pause from the time the database was down.
            reconnect_timeout=POOL_SECONDS - 1,
            kwargs={"autocommit": True, "connect_timeout": CONNECT_SECONDS},
            configure=_configure,
        )

    async def open(self) -> None:
        """Start the pool, without a connection."""
        await self._pool.open()

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection]:
        """A connection in autocommit mode; ask it for a `transaction()` where one is needed."""
        try:
            connection = await self._usable()
        except PoolTimeout:
            raise await self._why() from None
        try:
            with _deadline(connection, WORK_SECONDS):
                yield connection
        except psycopg.Error as error:
            raise _translated(self.target, error) from error
        finally:
            await self._pool.putconn(connection)

    @asynccontextmanager
    async def single(self, *, direct: bool = False) -> AsyncIterator[AsyncConnection]:
        """The same outside the pool and without a limit on the work, for changes of the schema.

        It also tells at once, and exactly, why the database cannot be reached. `direct` is for a
        session that listens, past a pooler.
        """
        target = self._direct if direct else self.target
        connection = await self._connect(target)
        try:
            async with connection:
                yield connection
        except psycopg.Error as error:
            raise _translated(target, error) from error

    async def _usable(self) -> AsyncConnection:
        # Not by the pool's own check, which pauses after every connection that it finds dead:
        # all of them are, once the database was started again.
        end = time.monotonic() + POOL_SECONDS
        while True:
            connection = await self._pool.getconn(end - time.monotonic())
            try:
                with _deadline(connection, CHECK_SECONDS):
                    await connection.execute("")
            except psycopg.Error:
                await self._pool.putconn(connection)
            except BaseException:
                await self._pool.putconn(connection)
                raise
            else:
                return connection

    async def _connect(self, target: Target) -> AsyncConnection:
        try:
            return await AsyncConnection.connect(
                target.url, autocommit=True, connect_timeout=CONNECT_SECONDS
            )
        except psycopg.Error as error:
            raise cannot_connect(target, error) from error

    async def _why(self) -> PerdureError:
        try:
            await (await self._connect(self.target)).close()
        except PerdureError as error:
            return error
        return unavailable(self.target, f"{POOL_SIZE} connections are all busy")


async def _configure(connection: AsyncConnection) -> None:
    # As a statement: some poolers refuse it among the options of a new connection.
    await connection.execute(f"set statement_timeout = '{STATEMENT_SECONDS}s'")


@contextmanager
def _deadline(connection: AsyncConnection, seconds: float) -> Iterator[None]:
    # A cancelled psycopg call first asks the server to stop the statement, which a frozen
    # server never does. A connection that is cut fails at once, whatever the server does.
    cut = asyncio.get_running_loop().call_later(seconds, _cut, connection)
    try:
        yield
    finally:
        cut.cancel()


def _cut(connection: AsyncConnection) -> None:
    if not connection.closed:
        with socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)


def _translated(target: Target, error: psycopg.Error) -> ArchiveError:
    said = str(error).partition("\n")[0]
    if isinstance(error, QueryCanceled):
        return unavailable(target, f"a statement was stopped: {said}")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return unavailable(target, said or "the connection was lost")
    if isinstance(error, ReadOnlySqlTransaction):
        return unavailable(target, "it only reads at present")
    return ArchiveError(f"The archive's database at {target.name} refused: {said}.")
