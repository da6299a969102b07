import asyncio
import os
import signal
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest

from perdure.archive import Archive, Batch, ChainKey, database
from perdure.errors import ArchiveError, ArchiveUnavailable, PerdureError, SettingsError
from perdure.local.database import local_postgres
from perdure.local.postgres import postmaster
from tests.archive.samples import messages

SECRET = "s3cr3t"
A_FEW_SECONDS = database.POOL_SECONDS + database.CONNECT_SECONDS


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "CHECK_SECONDS", 0.5)
    monkeypatch.setattr(database, "POOL_SECONDS", 1.5)
    monkeypatch.setattr(database, "CONNECT_SECONDS", 2)


async def test_a_stopped_database_is_unavailable_and_comes_back_by_itself(
    data_dir: Path, key: ChainKey, impatient: None
) -> None:
    async with local_postgres(data_dir) as url:
        archive = await Archive.open(url)
        await archive.save(Batch(key, messages=messages(0, 1)))
    started = time.monotonic()
    with pytest.raises(ArchiveUnavailable, match="nothing listens on its socket"):
        await archive.save(Batch(key, messages=messages(2, 3)))
    assert time.monotonic() - started < A_FEW_SECONDS
    async with local_postgres(data_dir) as again:
        assert again == url
        await archive.save(Batch(key, messages=messages(2, 3)))
        assert await archive.messages(key) == messages(0, 3)
        await archive.close()


async def test_an_archive_opens_before_its_database(data_dir: Path, key: ChainKey) -> None:
    async with local_postgres(data_dir) as url:
        pass
    async with await Archive.open(url) as archive:
        with pytest.raises(ArchiveUnavailable):
            await archive.migrate()
        async with local_postgres(data_dir):
            await archive.save(Batch(key, messages=messages(0, 1)))


async def test_lost_connections_are_replaced(archive: Archive, key: ChainKey) -> None:
    await asyncio.gather(*(archive.save(Batch(key, messages=messages(n, n))) for n in range(8)))
    async with archive._database.single() as connection:
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where pid <> pg_backend_pid() and backend_type = 'client backend'"
        )
    assert await archive.messages(key) == messages(0, 7)


async def test_a_frozen_database_is_unavailable_too(
    data_dir: Path, key: ChainKey, impatient: None
) -> None:
    async with local_postgres(data_dir) as url, await Archive.open(url) as archive:
        await archive.migrate()
        async with archive._database.connection() as connection:
            backend = connection.info.backend_pid
        server = postmaster(data_dir / "postgres")
        assert server is not None
        frozen = [server.pid, backend]
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            started = time.monotonic()
            with pytest.raises(ArchiveUnavailable, match="no answer"):
                await archive.messages(key)
            assert time.monotonic() - started < A_FEW_SECONDS
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
        assert await archive.messages(key) == []


async def test_work_in_a_freezing_database_ends(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WORK_SECONDS", 0.2)
    with pytest.raises(ArchiveUnavailable):
        async with archive._database.connection() as connection:
            await connection.execute("select pg_sleep(20)")


async def test_a_refusal_of_the_database_is_an_error_of_the_archive(archive: Archive) -> None:
    with pytest.raises(ArchiveError, match="refused: relation"):
        async with archive._database.connection() as connection:
            await connection.execute("select * from perdure.nothing")


@pytest.mark.parametrize(
    ("url", "kind", "says"),
    [
        (f"postgresql://u:{SECRET}@127.0.0.1:1/d", ArchiveUnavailable, "127.0.0.1:1/d"),
        (f"postgresql://u:{SECRET}@127.0.0.1:1/d", ArchiveUnavailable, "connection refused"),
        (f"postgresql://u:{SECRET}@nowhere.invalid/d", ArchiveUnavailable, "unknown host"),
        (f"postgresql://u:{SECRET}@127.0.0.1:1/d?x=1", SettingsError, "cannot be read"),
        (f"postgresql://u:a@{SECRET}@127.0.0.1:1/d", SettingsError, "percent-encoded"),
        (f"postgresql://u:%{SECRET}@127.0.0.1:1/d", SettingsError, "percent-encoded"),
        (f"postgresql://u:a:{SECRET}@h:{SECRET}/d", SettingsError, "percent-encoded"),
    ],
)
async def test_an_unusable_url_is_explained_without_its_password(
    url: str, kind: type[PerdureError], says: str
) -> None:
    with pytest.raises(kind, match=says) as caught:
        async with await Archive.open(url) as archive:
            await archive.migrate()
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_wrong_user_password_and_database_are_told_apart(
    server_url: str, data_dir: Path
) -> None:
    async def refusal(url: str) -> str:
        async with await Archive.open(url) as archive:
            with pytest.raises(SettingsError) as caught:
                await archive.migrate()
        return str(caught.value)

    place = urlsplit(server_url)
    nobody = place._replace(netloc=f"nobody:{SECRET}@").geturl()
    assert "refused the user or the password" in await refusal(nobody)
    nothing = place._replace(netloc=f"postgres:{SECRET}@", path="/nothing").geturl()
    assert "has no database 'nothing'" in await refusal(nothing)

    async with local_postgres(data_dir) as url:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("alter role postgres password 'right'")
        access = data_dir / "postgres" / "pg_hba.conf"
        access.write_text("local all all scram-sha-256\n", encoding="utf-8")
        server = postmaster(data_dir / "postgres")
        assert server is not None
        os.kill(server.pid, signal.SIGHUP)
        with_password = f"postgresql://postgres:right@/postgres?host={quote(str(server.sockets))}"
        async with await Archive.open(with_password) as archive:
            await archive.migrate()
        said = await refusal(with_password.replace("right", SECRET))
        assert "refused the user or the password" in said
        assert SECRET not in said
        access.write_text("local all all trust\n", encoding="utf-8")
        os.kill(server.pid, signal.SIGHUP)
