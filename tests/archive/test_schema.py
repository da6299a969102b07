import asyncio
from urllib.parse import urlsplit

import psycopg
import pytest

from perdure.archive import Archive, Batch, ChainKey, schema
from perdure.archive.schema import migrations
from perdure.errors import ArchiveTooNew, ArchiveUnavailable, SettingsError
from tests.archive.samples import messages


async def execute(url: str, statement: str) -> list[tuple[object, ...]]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        cursor = await connection.execute(statement.encode())
        return await cursor.fetchall() if cursor.description else []


def test_versions_have_no_gap() -> None:
    assert [version for version, _, _ in migrations()] == list(range(1, len(migrations()) + 1))


async def test_many_may_migrate_at_once(database_url: str) -> None:
    archives = [await Archive.open(database_url) for _ in range(6)]
    await asyncio.gather(*(archive.migrate() for archive in archives for _ in range(2)))
    await asyncio.gather(*(archive.close() for archive in archives))
    applied = await execute(database_url, "select version from perdure.migrations")
    assert applied == [(version,) for version, _, _ in migrations()]


async def test_the_first_use_migrates(database_url: str, key: ChainKey) -> None:
    async with await Archive.open(database_url) as archive:
        await archive.save(Batch(key, messages=messages(0, 1)))
        assert await archive.messages(key) == messages(0, 1)


async def test_a_migration_that_hangs_elsewhere_is_waited_for_so_long(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "LOCK_SECONDS", 0.1)
    async with (
        await psycopg.AsyncConnection.connect(database_url) as other,
        await Archive.open(database_url) as archive,
    ):
        await other.execute("select pg_advisory_xact_lock(%s::bigint)", [schema.LOCK])
        with pytest.raises(ArchiveUnavailable, match="lock timeout"):
            await archive.migrate()
        await other.rollback()
        await archive.migrate()


async def test_a_newer_schema_is_left_alone(database_url: str, key: ChainKey) -> None:
    async with await Archive.open(database_url) as archive:
        await archive.migrate()
    await execute(database_url, "insert into perdure.migrations values (9000, '9000_later.sql')")
    async with await Archive.open(database_url) as archive:
        with pytest.raises(ArchiveTooNew, match=r"version 9000 .* upgrade perdure"):
            await archive.migrate()
        with pytest.raises(ArchiveTooNew):
            await archive.messages(key)


async def test_a_database_that_is_not_utf8_is_refused(server_url: str, database_url: str) -> None:
    name = urlsplit(database_url).path[1:] + "_latin"
    await execute(
        server_url,
        f"create database {name} template template0 encoding LATIN1 "
        "locale_provider libc locale 'C'",
    )
    async with await Archive.open(urlsplit(server_url)._replace(path=f"/{name}").geturl()) as it:
        with pytest.raises(SettingsError, match="LATIN1"):
            await it.migrate()
