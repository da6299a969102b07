"""The real command line in processes of its own, on the server and worker of the session."""

import asyncio
import json
import os
import re
import sys
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from tests.cli.forked import forked

ROOT = Path(__file__).resolve().parents[2]
# None of the developer's own settings may decide what is tested.
_OURS = re.compile("PERDURE_|TEMPORAL_|ANTHROPIC_|COLUMNS|NO_COLOR|FORCE_COLOR")


@dataclass(frozen=True)
class Result:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line that explains a failure."""
        assert self.code != 0, self
        assert self.err.startswith("perdure: "), self
        assert self.err.count("\n") == 1, self
        assert not self.out, self
        return self.err.removeprefix("perdure: ").strip()

    @property
    def text(self) -> str:
        """The output of a success."""
        assert self.code == 0, self
        return self.out

    @property
    def json(self) -> Any:
        """The one document of a success."""
        return json.loads(self.text)


Cli = Callable[..., Awaitable[Result]]


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command."""
    rest = {name: value for name, value in os.environ.items() if not _OURS.match(name)}
    return {**rest, **ours}


async def start(
    *arguments: str, env: Mapping[str, str], stream: int = asyncio.subprocess.PIPE
) -> asyncio.subprocess.Process:
    """`perdure` with these arguments and, of what concerns it, only these variables.

    From nothing, for what a start, a signal, a terminal or an exit does to it.
    """
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "perdure", *arguments),
        cwd=ROOT,
        env=environment(env),
        stdin=stream,
        stdout=stream,
        stderr=stream,
    )


async def ended(process: asyncio.subprocess.Process, stdin: str = "") -> Result:
    """The result of a command that is given `stdin`."""
    out, err = await process.communicate(stdin.encode())
    assert process.returncode is not None
    return Result(process.returncode, out.decode(), err.decode())


@pytest.fixture
def cli(client: Client, offline_worker: None, tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """Runs a command: `await cli("status", id)`."""
    home = tmp_path_factory.mktemp("home")

    async def run(*arguments: str, stdin: str = "", **env: str) -> Result:
        address = client.service_client.config.target_host
        variables = {"TEMPORAL_ADDRESS": address, "PERDURE_DATA_DIR": str(home)}
        streams = tmp_path_factory.mktemp("command")
        return Result(*await forked(arguments, environment({**variables, **env}), stdin, streams))

    return run


@pytest.fixture
def fresh() -> str:
    """An id that no conversation has."""
    return f"cli-{uuid.uuid4().hex[:8]}"
