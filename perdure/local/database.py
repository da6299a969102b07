"""An embedded PostgreSQL: run by the owner of a data directory, found there by everybody else.

The owner is who holds the directory's lock (see `perdure.local.owner`). Where the server is
stands in PostgreSQL's own note, `postgres/postmaster.pid`, which no crash can leave wrong: it
counts only while that process is alive and serves those files.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from perdure.errors import ServerError
from perdure.local import postgres
from perdure.local.account import Account, account
from perdure.local.temporal import until

FILES = "postgres"
LOG = "postgres.log"
ATTACH_SECONDS = postgres.START_SECONDS + postgres.STOP_SECONDS


@asynccontextmanager
async def local_postgres(data_dir: Path) -> AsyncIterator[str]:
    """Run PostgreSQL on the files in `data_dir` for the duration of the block; gives its URL.

    Only for the owner of `data_dir`. A server that a killed owner has left behind is taken
    over, and stopped at the end of the block like any other. Raises `ServerError`.
    """
    files = _files(data_dir)
    orphan = postgres.postmaster(files)
    if orphan is not None:
        pid = orphan.pid

        def gone() -> bool:
            return not postgres.serves(pid, files)

        if orphan.status != "stopping":
            async with _run(orphan, gone, files):
                yield orphan.url
            return
        await until(gone, postgres.STOP_SECONDS)
    user = await asyncio.to_thread(_prepare, files)
    sockets = postgres.socket_directory(files, user)
    process = postgres.launch(files, sockets, files.with_name(LOG), user)
    server = postgres.Postmaster(process.pid, sockets, "starting")
    async with _run(server, lambda: process.poll() is not None, files):
        yield server.url


async def local_url(data_dir: Path) -> str:
    """The URL of the server that the owner of `data_dir` runs, once it takes connections.

    Raises `ServerError` if there is none after some time, since an owner may be starting it.
    """
    files = _files(data_dir)
    found: postgres.Postmaster | None = None

    def ready() -> bool:
        nonlocal found
        found = postgres.postmaster(files)
        return found is not None and found.status == "ready"

    if not await until(ready, ATTACH_SECONDS) or found is None:
        raise ServerError(
            f"No PostgreSQL runs in {files} after {ATTACH_SECONDS:.0f} s; stop the process that "
            "owns the directory and start it again, or set PERDURE_DATABASE_URL."
        )
    return found.url


@asynccontextmanager
async def _run(
    server: postgres.Postmaster, gone: Callable[[], bool], files: Path
) -> AsyncIterator[None]:
    try:
        await postgres.wait_ready(server.url, gone, files.with_name(LOG))
        yield
    finally:
        await postgres.stop(server.pid, gone)
        if server.sockets != files:
            shutil.rmtree(server.sockets, ignore_errors=True)


def _prepare(files: Path) -> Account:
    user = account(files)
    files.parent.mkdir(parents=True, exist_ok=True)
    user.check_reach(files, "choose another directory with PERDURE_DATA_DIR")
    user.check_reach(postgres.programs(), "do not run perdure as root")
    if not files.exists():
        postgres.initialise(files, user)
    postgres.forget_impostor(files)
    return user


def _files(data_dir: Path) -> Path:
    # Absolute and without links: a server is known by the path in its command line.
    return data_dir.resolve() / FILES
