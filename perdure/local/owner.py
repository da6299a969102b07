"""Who owns a data directory: one process runs its server, the others attach to it.

`lock` is held (flock) by the owner for as long as it lives; `server.json` says where its
server is. The kernel drops the lock of a process that was killed, the record stays: that is how
the next owner finds the orphaned server and stops it.
"""

import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from perdure.errors import ServerError
from perdure.local import temporal

LOCK = "lock"
RECORD = "server.json"
ATTACH_SECONDS = temporal.STOP_SECONDS + temporal.START_SECONDS + 5
"""How long to wait for another owner: it may first stop an orphan, then start its server."""

_held: set[int] = set()


def _drop_inherited_locks() -> None:
    while _held:
        os.close(_held.pop())


# A forked pool worker shares the lock and would keep it after its parent was killed.
os.register_at_fork(after_in_child=_drop_inherited_locks)


class ServerRecord(BaseModel):
    """The content of `server.json`; while `started` is none the server cannot be used."""

    model_config = ConfigDict(frozen=True)

    owner_pid: int
    temporal_pid: int | None = None
    address: str = ""
    ui: str = ""
    started: datetime | None = None


def running(data_dir: Path) -> ServerRecord | None:
    """The record of the server that runs on `data_dir`, or none."""
    home = _home(data_dir)
    record = _read(home)
    usable = record is not None and record.started is not None and _temporal_lives(record, home)
    return record if usable else None


@asynccontextmanager
async def embedded(
    data_dir: Path, *, port: int, namespace: str | None
) -> AsyncIterator[tuple[ServerRecord, bool]]:
    """The server of `data_dir`, and whether this block owns it: started it and will stop it.

    `port` and `namespace` count for the owner only. Raises `ServerError`.
    """
    home = _home(data_dir)
    claim = await _claim(home)
    if isinstance(claim, ServerRecord):
        yield claim, False
        return
    with _locked(claim):
        await _stop_orphan(home)
        try:
            async with _serve(home, port=port, namespace=namespace) as record:
                yield record, True
        finally:
            (home / RECORD).unlink(missing_ok=True)


@asynccontextmanager
async def _serve(home: Path, *, port: int, namespace: str | None) -> AsyncIterator[ServerRecord]:
    server = temporal.launch(home, port=port, namespace=namespace)
    record = ServerRecord(
        owner_pid=os.getpid(),
        temporal_pid=server.process.pid,
        address=server.address,
        ui=server.ui,
    )
    try:
        _write(home, record)
        await temporal.wait_ready(server)
        started = record.model_copy(update={"started": datetime.now(UTC)})
        _write(home, started)
        yield started
    finally:
        with suppress(OSError):
            _write(home, record)
        await temporal.stop(server.process.pid, server.exited)


async def _stop_orphan(home: Path) -> None:
    orphan = _read(home)
    pid = orphan.temporal_pid if orphan is not None else None
    # Written first, so that nobody attaches to what is about to be stopped.
    _write(home, ServerRecord(owner_pid=os.getpid(), temporal_pid=pid))
    if pid is not None:
        await temporal.stop(pid, lambda: not temporal.serves(pid, home))


def _home(data_dir: Path) -> Path:
    # Absolute and without links: a server is known by the path in its command line.
    return data_dir.resolve()


async def _claim(home: Path) -> int | ServerRecord:
    """The lock's descriptor if it is ours now, else the record of the live owner."""
    claim: int | ServerRecord | None = None

    def claimed() -> bool:
        nonlocal claim
        claim = _try_lock(home)
        if claim is None:
            record = _read(home)
            if record is not None and record.started is not None and _lives(record.owner_pid):
                claim = record
        return claim is not None

    await temporal.until(claimed, ATTACH_SECONDS)
    if claim is None:
        raise ServerError(
            f"Another process has held {home / LOCK} for {ATTACH_SECONDS:.0f} s without a running "
            "server; stop that process, or choose another directory with PERDURE_DATA_DIR."
        )
    return claim


def _try_lock(home: Path) -> int | None:
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = os.open(home / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ServerError(
            f"The data directory {home} cannot be used ({error.strerror}); "
            "choose another with PERDURE_DATA_DIR."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    _held.add(lock)
    return lock


@contextmanager
def _locked(lock: int) -> Iterator[None]:
    try:
        yield
    finally:
        if lock in _held:
            _held.remove(lock)
            os.close(lock)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _temporal_lives(record: ServerRecord, home: Path) -> bool:
    return record.temporal_pid is not None and temporal.serves(record.temporal_pid, home)


def _read(home: Path) -> ServerRecord | None:
    try:
        return ServerRecord.model_validate_json((home / RECORD).read_bytes())
    except (OSError, ValidationError):
        return None


def _write(home: Path, record: ServerRecord) -> None:
    # Replaced in one step: a reader sees the old record or the new one, never half of one.
    draft = home / f"{RECORD}.new"
    draft.write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")
    draft.replace(home / RECORD)
