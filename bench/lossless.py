"""Is anything lost? Ten LoCoMo conversations and 50 airline runs as one, with two murders.

python -m bench.lossless [--json]

In the middle of it the worker and the database are killed (SIGKILL) and started again. Then
every message is compared with its source. Ends with status 1 unless all are equal.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

from bench.data import locomo, locomo_messages, trajectories
from bench.stage import temporal
from bench.worker_process import WorkerProcess
from perdure import Conversation, ConversationConfig, MemoryPolicy
from perdure.archive import Archive
from perdure.contract import ImportedMessage
from perdure.entrance import parse_imported
from perdure.local.database import local_postgres
from perdure.local.postgres import postmaster
from perdure.verifying import compare

ID = "lossless"
POLICY = MemoryPolicy(
    message_budget=8_000, observation_budget=12_000, level_budget=6_000, observe_chunk=4_000
)
QUESTION = "What did we talk about at the very beginning?"
_LOOK_SECONDS = 0.05


def parts() -> list[list[dict[str, Any]]]:
    """The conversations, each with its messages in the form of an import."""
    airline = [t["messages"] for t in trajectories() if t["id"].startswith("tau-airline")]
    assert len(airline) == 50, len(airline)
    return [locomo_messages(sample) for sample in locomo()] + airline


class Servers:
    """A database and a worker that can be killed and started again on the same files."""

    def __init__(self, client: Client, directory: Path) -> None:
        self._client = client
        self._directory = directory
        self._stack = AsyncExitStack()
        self._worker: WorkerProcess | None = None

    async def start(self) -> str:
        """The URL of the database, which has a worker now."""
        url = await self._stack.enter_async_context(local_postgres(self._directory))
        variables = {"PERDURE_MODEL": "offline", "PERDURE_DATABASE_URL": url}
        worker = WorkerProcess(self._client, variables)
        self._worker = await self._stack.enter_async_context(worker)
        return url

    async def kill(self) -> None:
        """SIGKILL for both."""
        assert self._worker is not None
        await self._worker.kill()
        server = postmaster(self._directory / "postgres")
        assert server is not None
        os.kill(server.pid, signal.SIGKILL)
        await self.stop()

    async def stop(self) -> None:
        """Wait until nothing of them is left."""
        await self._stack.aclose()


async def killed_in_the_middle(
    servers: Servers, conversation: Conversation, messages: list[dict[str, Any]]
) -> float:
    """Import while the worker and the database die and come back; gives the seconds it took."""
    started = time.monotonic()
    importing = asyncio.create_task(conversation.import_messages(messages))
    while (await conversation.status())["running"] != "import":
        await asyncio.sleep(_LOOK_SECONDS)
    await servers.kill()
    await servers.start()
    await importing
    return time.monotonic() - started


async def run(client: Client, servers: Servers, console: Console) -> dict[str, Any]:
    """The figures."""
    url = await servers.start()
    given = parts()
    middle = (len(given) - 50) // 2
    source: list[ImportedMessage] = []
    recovery = 0.0
    started = time.monotonic()
    async with await Archive.open(url) as archive:
        conversation = await Conversation.open(
            client, ID, ConversationConfig(policy=POLICY), archive=archive
        )
        for number, messages in enumerate(given):
            if number == middle:
                recovery = await killed_in_the_middle(servers, conversation, messages)
            else:
                await conversation.import_messages(messages)
            source += [parse_imported(message) for message in messages]
            if number % 10 == 9:
                reply = await conversation.ask(QUESTION)
                source.append(parse_imported({"role": "user", "content": QUESTION}))
                source.append(parse_imported({"role": "assistant", "content": reply.content}))
                console.print(f"{number + 1} of {len(given)} conversations", highlight=False)
        seconds = time.monotonic() - started
        verified = await compare(conversation.transcript(expand=True), source)
        past = await conversation.past()
        memory = await conversation.memory()
        rows = await past.rows(limit=100_000)
        archived = await archive.messages(past.key, limit=100_000)
        levels = Counter(str(row.observation.level) for _, row in rows)
        return {
            "conversations": len(given),
            "messages": len(source),
            "in_context": memory["messages"]["count"],
            "in_archive": len(archived),
            "left_the_context": past.tail_seq,
            "equal": verified.equal,
            "different": verified.different,
            "missing": verified.missing,
            "unexpected": verified.extra,
            "differences": verified.differences[:3],
            "raw_tokens": memory["raw_tokens"],
            "context_tokens": memory["context_tokens"],
            "compactions": dict(sorted(levels.items())),
            "seconds": round(seconds, 1),
            "killed_part_seconds": round(recovery, 1),
        }


def table(figures: dict[str, Any]) -> Table:
    """The figures for people."""
    shown = Table(show_header=False)
    for name, value in figures.items():
        text = f"{value:,}" if isinstance(value, int | float) else str(value)
        shown.add_row(name.replace("_", " "), text)
    return shown


def lossless(figures: dict[str, Any]) -> bool:
    """Whether every message is where it should be, as it was."""
    return (
        figures["equal"] == figures["messages"]
        and not figures["unexpected"]
        and figures["in_archive"] >= figures["left_the_context"]
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    console = Console()
    with TemporaryDirectory(prefix="perdure-bench-") as directory:
        # The server may run as another user, who must be able to get there.
        os.chmod(directory, 0o755)  # noqa: PTH101
        async with temporal() as client:
            servers = Servers(client, Path(directory))
            try:
                figures = await run(client, servers, console)
            finally:
                await servers.stop()
    console.print(table(figures))
    if options.json:
        print(json.dumps(figures))
    if not lossless(figures):
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
