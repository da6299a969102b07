import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from perdure.archive import Archive, Batch, ChainKey
from perdure.errors import ServerError
from perdure.local import account, database, postgres
from perdure.local.database import local_postgres, local_url
from tests.archive.samples import messages

OWNER = """
import asyncio, sys
from pathlib import Path
from perdure.local.database import local_postgres

async def main():
    async with local_postgres(Path(sys.argv[1])) as url:
        print(url, flush=True)
        sys.stdin.read()

asyncio.run(main())
"""
"""Runs the server until its stdin closes."""


@contextmanager
def child(*command: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def answers(url: str) -> bool:
    try:
        await (await psycopg.AsyncConnection.connect(url, connect_timeout=2)).close()
    except psycopg.OperationalError:
        return False
    return True


async def test_data_survives_and_nothing_is_left_running(data_dir: Path, key: ChainKey) -> None:
    async with local_postgres(data_dir) as url:
        assert await local_url(data_dir) == url
        server = postgres.postmaster(data_dir / "postgres")
        assert server is not None
        assert os.getsid(server.pid) == server.pid, "a Ctrl-C in the terminal would reach it"
        async with await Archive.open(url) as archive:
            await archive.save(Batch(key, messages=messages(0, 1)))
    assert not postgres.serves(server.pid, data_dir / "postgres")
    assert not await answers(url)
    async with local_postgres(data_dir) as url, await Archive.open(url) as archive:
        assert await archive.messages(key) == messages(0, 1)


async def test_the_server_of_a_killed_owner_is_taken_over_and_stopped(data_dir: Path) -> None:
    with child(sys.executable, "-c", OWNER, str(data_dir)) as owner:
        assert owner.stdout is not None
        url = (await asyncio.to_thread(owner.stdout.readline)).strip()
        assert await answers(url)
        owner.kill()
        owner.wait()
    assert await answers(url)
    async with local_postgres(data_dir) as again:
        assert again == url
        assert await answers(url)
    assert not await answers(url)


async def test_a_pid_that_another_program_has_now_is_no_obstacle(data_dir: Path) -> None:
    async with local_postgres(data_dir):
        note = data_dir / "postgres" / "postmaster.pid"
        text = note.read_text(encoding="utf-8")
    with child("sleep", "60") as stranger:
        note.write_text(text.replace(text.split()[0], str(stranger.pid), 1), encoding="utf-8")
        assert postgres.postmaster(data_dir / "postgres") is None
        async with local_postgres(data_dir) as url:
            assert await answers(url)


async def test_a_killed_server_recovers(data_dir: Path, key: ChainKey) -> None:
    async with local_postgres(data_dir) as url:
        async with await Archive.open(url) as archive:
            await archive.save(Batch(key, messages=messages(0, 1)))
        server = postgres.postmaster(data_dir / "postgres")
        assert server is not None
        os.kill(server.pid, signal.SIGQUIT)
    async with local_postgres(data_dir) as url, await Archive.open(url) as archive:
        assert await archive.messages(key) == messages(0, 1)


async def test_a_directory_that_is_too_deep_for_a_socket(new_dir: Path) -> None:
    deep = new_dir.joinpath(*["a-rather-long-name"] * 6)
    async with local_postgres(deep) as url:
        server = postgres.postmaster(deep / "postgres")
        assert server is not None
        assert server.sockets.parent == Path(tempfile.gettempdir())
        assert await local_url(deep) == url
        assert await answers(url)
    assert not server.sockets.exists()


async def test_an_initialisation_that_was_cut_off_starts_over(new_dir: Path) -> None:
    directory = new_dir / "it's 100% état & co"
    (directory / "postgres.new").mkdir(parents=True)
    (directory / "postgres.new" / "PG_VERSION").write_text("18\n", encoding="utf-8")
    async with local_postgres(directory) as url:
        assert await answers(url)
    assert not (directory / "postgres.new").exists()


async def test_broken_files_are_explained(new_dir: Path) -> None:
    (new_dir / "postgres").mkdir(mode=0o700)
    with pytest.raises(ServerError, match=r"PostgreSQL ended at once; its log says: .*postgres"):
        async with local_postgres(new_dir):
            pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the user")
async def test_a_shut_directory_is_named_and_stays_shut(
    new_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a system without user namespaces."""
    monkeypatch.setattr(account, "_has_namespaces", lambda: False)
    shut = new_dir / "shut"
    shut.mkdir(mode=0o700)
    with pytest.raises(ServerError, match=f"chmod o\\+x {shut}`"):
        async with local_postgres(shut / "state"):
            pass
    assert shut.stat().st_mode & 0o777 == 0o700


async def test_without_the_wheel_the_extra_is_named(
    new_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "WHEEL", "no_such_wheel")
    with pytest.raises(ServerError, match=r"perdure\[local\]"):
        async with local_postgres(new_dir):
            pass


async def test_attaching_to_nothing_is_explained(
    new_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "ATTACH_SECONDS", 0.0)
    with pytest.raises(ServerError, match="No PostgreSQL runs in"):
        await local_url(new_dir)


async def test_attaching_waits_for_an_owner_that_is_starting(data_dir: Path) -> None:
    attaching = asyncio.create_task(local_url(data_dir))
    async with local_postgres(data_dir) as url:
        assert await attaching == url
