"""A worker in a process of its own, which can be killed.

python -m bench.worker_process [--opening TEXT]

This is `perdure worker`; with `--opening` it stands for another version, whose contexts differ.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from types import TracebackType
from typing import Self

from temporalio.client import Client

from perdure import cli
from perdure.memory import project

READY = "working on"
_PATIENCE = 60.0


class WorkerProcess:
    """A running worker; killed at the end of the block if it still is one.

    `variables` are added to its environment: the model, the key, the task queue.
    """

    def __init__(self, client: Client, variables: dict[str, str], opening: str = "") -> None:
        self._variables = {
            **variables,
            "TEMPORAL_ADDRESS": client.service_client.config.target_host,
            "TEMPORAL_NAMESPACE": client.namespace,
        }
        self._arguments = ["--opening", opening] if opening else []
        self._process: asyncio.subprocess.Process | None = None
        self._said: deque[str] = deque(maxlen=50)
        self._listening: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bench.worker_process", *self._arguments),
            env={**os.environ, **self._variables},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        ready = asyncio.Event()
        self._listening = asyncio.create_task(self._listen(self._process, ready))
        try:
            async with asyncio.timeout(_PATIENCE):
                await ready.wait()
        except TimeoutError:
            await self.kill()
        if self._process.returncode is not None:
            raise RuntimeError("the worker did not start:\n" + "".join(self._said))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.kill()
        if self._listening is not None:
            await self._listening

    async def _listen(self, process: asyncio.subprocess.Process, ready: asyncio.Event) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            self._said.append(line.decode(errors="replace"))
            if READY in self._said[-1]:
                ready.set()
        await process.wait()
        ready.set()

    def stop(self) -> None:
        """SIGTERM: it finishes what it is doing."""
        assert self._process is not None
        self._process.terminate()

    async def ended(self) -> int:
        """Its exit status, as soon as it has one."""
        assert self._process is not None
        return await self._process.wait()

    async def kill(self) -> None:
        """SIGKILL, for it and the processes that it has started."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--opening", default=project.OPENING, help="how the memory begins")
    # The name is read anew for each context.
    project.OPENING = parser.parse_args().opening
    sys.argv[1:] = ["worker"]
    cli.main()


if __name__ == "__main__":
    main()
