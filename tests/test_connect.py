import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perdure.connect import Servers, connect, servers
from perdure.errors import ServerError, SettingsError, TemporalUnreachable
from perdure.local.owner import ServerRecord
from perdure.local.temporal import HOST, UI_PORT_DISTANCE, serves, until
from perdure.settings import Settings

OWNER = """
import asyncio, os, sys
from pathlib import Path
from perdure.connect import servers
from perdure.settings import Settings

async def main():
    async with servers(Settings(data_dir=Path(sys.argv[1])), port=0) as temporal:
        print(temporal.owns, temporal.address, flush=True)
        if "fork" in sys.argv:
            child = os.fork()
            if child == 0:
                os.read(0, 1)
                os._exit(0)
        sys.stdin.read()

asyncio.run(main())
"""
"""Holds `servers()` until its stdin closes; with `fork`, so does a child that it forked."""


@pytest.fixture(autouse=True)
def no_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [n for n in os.environ if n.startswith("TEMPORAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(tmp_path / "temporal.toml"))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "state")


@contextmanager
def other_process(settings: Settings, *extra: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(settings.data_dir), *extra],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.communicate()


async def said(process: subprocess.Popen[str]) -> tuple[bool, str]:
    """Whether the process owns the server, and the address."""
    assert process.stdout is not None
    owns, address = (await asyncio.to_thread(process.stdout.readline)).split()
    return owns == "True", address


def record(settings: Settings) -> ServerRecord:
    text = (settings.data_dir / "server.json").read_text(encoding="utf-8")
    return ServerRecord.model_validate_json(text)


def temporal_pid(settings: Settings) -> int:
    pid = record(settings).temporal_pid
    assert pid is not None
    return pid


@contextmanager
def taken_port(port: int = 0) -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind((HOST, port))
        listener.listen()
        yield listener.getsockname()[1]


def unused_port() -> int:
    with taken_port() as port:
        return port


async def test_owner_serves_then_cleans_up_and_state_survives(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "talks")
    async with servers(settings, port=0) as temporal:
        assert temporal.owns
        assert not temporal.worker_running
        assert record(settings).owner_pid == os.getpid()
        assert record(settings).address == temporal.address
        pid = temporal_pid(settings)
        assert os.getsid(pid) == pid, "a Ctrl-C in the terminal would reach the server"
        client = await connect(settings)
        await client.start_workflow("Talk", id="kept", task_queue="none")

    assert not serves(pid, settings.data_dir)
    assert not (settings.data_dir / "server.json").exists()

    async with servers(settings, port=0):
        client = await connect(settings)
        assert (await client.get_workflow_handle("kept").describe()).id == "kept"


async def test_others_attach_and_leave_the_server_alone(settings: Settings) -> None:
    with other_process(settings) as owner:
        assert (await said(owner))[0]
        async with servers(settings, port=0) as temporal:
            assert not temporal.owns
            assert temporal.worker_running
            assert temporal.address == record(settings).address
            assert temporal.ui == record(settings).ui
        client = await connect(settings)
        assert await client.service_client.check_health()


async def test_of_two_starting_at_once_one_owns(settings: Settings) -> None:
    with other_process(settings) as one, other_process(settings) as two:
        answers = await asyncio.gather(said(one), said(two))
    assert sorted(owns for owns, _ in answers) == [False, True]
    assert len({address for _, address in answers}) == 1


async def test_orphan_of_a_killed_owner_is_replaced_once(settings: Settings) -> None:
    with other_process(settings, "fork") as owner:
        await said(owner)
        orphan = temporal_pid(settings)
        owner.kill()
        await asyncio.to_thread(owner.wait)
        assert serves(orphan, settings.data_dir)

        with other_process(settings) as one, other_process(settings) as two:
            answers = await asyncio.gather(said(one), said(two))
            assert not serves(orphan, settings.data_dir)
            assert serves(temporal_pid(settings), settings.data_dir)
    assert sorted(owns for owns, _ in answers) == [False, True]
    assert len({address for _, address in answers}) == 1


async def test_cancelled_start_leaves_nothing_behind(settings: Settings) -> None:
    async def run() -> None:
        async with servers(settings, port=0):
            await asyncio.Event().wait()

    starting = asyncio.create_task(run())
    server_json = settings.data_dir / "server.json"

    def launched() -> bool:
        return server_json.exists() and record(settings).temporal_pid is not None

    assert await until(launched, 10)
    pid = temporal_pid(settings)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not serves(pid, settings.data_dir)
    assert not server_json.exists()


async def test_taken_port_is_refused_and_taken_ui_port_avoided(settings: Settings) -> None:
    with taken_port() as ui_port:
        port = ui_port - UI_PORT_DISTANCE
        refused = pytest.raises(ServerError, match=rf"Port {port} .*TEMPORAL_ADDRESS")
        with taken_port(port), refused:
            async with servers(settings, port=port):
                pass
        async with servers(settings, port=port) as temporal:
            assert temporal.owns
            assert temporal.ui is not None
            assert temporal.ui.startswith("http://")
            assert not temporal.ui.endswith(f":{ui_port}")


async def test_server_that_dies_shows_its_log(settings: Settings) -> None:
    settings.data_dir.mkdir()
    (settings.data_dir / "temporal.db").write_text("not a database " * 100, encoding="utf-8")
    with pytest.raises(ServerError, match=r"ended with status 1: .*not a database"):
        async with servers(settings, port=0):
            pass


async def test_no_binary_names_the_extra(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerError, match=r"perdure\[local\]"):
        async with servers(settings, port=0):
            pass


async def test_unusable_data_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ServerError, match="PERDURE_DATA_DIR"):
        async with servers(Settings(data_dir=tmp_path / "file" / "state"), port=0):
            pass


async def test_given_address_embeds_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    profile = tmp_path / "temporal.toml"
    profile.write_text('[profile.default]\naddress = "temporal.example:7233"\n', encoding="utf-8")
    async with servers(settings) as temporal:
        assert temporal == Servers("temporal.example:7233", owns=False)
    monkeypatch.setenv("TEMPORAL_ADDRESS", "other.example:7233")
    async with servers(settings) as temporal:
        assert temporal.address == "other.example:7233"
        assert temporal.worker_running
    assert not settings.data_dir.exists()


async def test_refused_address(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"127.0.0.1:{unused_port()}"
    monkeypatch.setenv("TEMPORAL_ADDRESS", address)
    with pytest.raises(TemporalUnreachable, match=rf"{address} \(connection refused\); check"):
        await connect(settings)


async def test_silent_address_is_given_up_in_time(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with taken_port() as port:
        monkeypatch.setenv("TEMPORAL_ADDRESS", f"127.0.0.1:{port}")
        began = time.monotonic()
        with pytest.raises(TemporalUnreachable, match="no answer"):
            await connect(settings)
    assert time.monotonic() - began < 5


async def test_nothing_running_says_how_to_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.connect.DEFAULT_PORT", unused_port())
    with pytest.raises(TemporalUnreachable, match="perdure serve"):
        await connect(settings)


@pytest.mark.parametrize(
    "address", ["temporal", "http://temporal:7233", "a b:7233", ":7233", "h:0", "h:65536", "h:x"]
)
async def test_wrong_address_is_explained(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", address)
    with pytest.raises(SettingsError, match="it must be host:port"):
        await connect(settings)


async def test_broken_profile_is_explained(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "temporal.toml").write_text("[[[", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"Temporal's configuration .* TOML"):
        async with servers(settings, port=0):
            pass
    (tmp_path / "temporal.toml").unlink()
    monkeypatch.setenv("TEMPORAL_ADDRESS", "localhost:7233")
    monkeypatch.setenv("TEMPORAL_TLS_CLIENT_CERT_PATH", str(tmp_path / "missing.pem"))
    with pytest.raises(SettingsError, match=r"missing\.pem cannot be read"):
        await connect(settings)
