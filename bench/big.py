"""What messages that are too big for the history cost in it.

python -m bench.big [--json]

Ends with status 1 when one of them costs over 100 KB, or is neither answered nor refused.
"""

import argparse
import asyncio
import base64
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

from bench.chain import extent
from bench.stage import offline
from perdure import Conversation
from perdure.archive import Archive
from perdure.errors import Refused, TurnFailed

MOST_BYTES = 100_000
MB = 1_000_000


def _text(size: int) -> str:
    line = "The mill at Hallmoor ground 17 sacks of rye before noon. "
    return (line * (size // len(line) + 1))[:size]


def _picture(size: int) -> list[dict[str, Any]]:
    data = base64.b64encode(bytes(i * 37 % 251 for i in range(size))).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}]


async def _outcome(call: Awaitable[object]) -> str:
    try:
        await call
    except (Refused, TurnFailed) as error:
        return f"refused: {error}"
    return "taken"


async def _cost(client: Client, id: str, call: Callable[[], Awaitable[object]]) -> dict[str, Any]:  # noqa: A002
    """What became of a message, and the history bytes of it; none if a new run began."""
    before = await extent(client, id)
    started = time.monotonic()
    outcome = await _outcome(call())
    after = await extent(client, id)
    same = after.run_id == before.run_id
    return {
        "outcome": outcome,
        "history_bytes": after.bytes - before.bytes if same else None,
        "seconds": round(time.monotonic() - started, 2),
    }


async def run(client: Client, archive: Archive) -> list[dict[str, Any]]:
    """A row for each kind of message."""

    async def opened(id: str) -> Conversation:  # noqa: A002
        conversation = await Conversation.open(client, id, archive=archive)
        await conversation.ask("hello")
        return conversation

    big, many = await opened("big"), await opened("many")
    item = [{"role": "user", "content": _text(5 * MB)}]
    cases: dict[str, Callable[[], Awaitable[object]]] = {
        "message of 5 MB": lambda: big.ask(_text(5 * MB)),
        "image of 3 MB": lambda: big.ask(_picture(3 * MB)),
        "import item of 5 MB": lambda: big.import_messages(item),
        "the next message": lambda: big.ask("What did I send?"),
    }
    rows = [{"case": name, **await _cost(client, "big", call)} for name, call in cases.items()]
    each = [
        await _cost(client, "many", lambda n=n: many.ask(f"{n}: {_text(10_000)}"))  # type: ignore[misc]
        for n in range(300)
    ]
    known = [row["history_bytes"] for row in each if row["history_bytes"] is not None]
    refused = [row["outcome"] for row in each if row["outcome"] != "taken"]
    rows.append(
        {
            "case": "300 messages of 10 KB, the dearest",
            "outcome": refused[0] if refused else "taken",
            "history_bytes": max(known),
            "seconds": round(sum(row["seconds"] for row in each), 2),
        }
    )
    return rows


def table(rows: list[dict[str, Any]]) -> Table:
    """The figures for people."""
    shown = Table("case", "outcome", "history bytes", "seconds")
    for row in rows:
        size = row["history_bytes"]
        shown.add_row(
            row["case"],
            row["outcome"],
            "a new run" if size is None else f"{size:,}",
            f"{row['seconds']:.1f}",
        )
    return shown


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    async with (
        offline() as client,
        await Archive.open(os.environ["PERDURE_DATABASE_URL"]) as archive,
    ):
        rows = await run(client, archive)
    Console().print(table(rows))
    if options.json:
        print(json.dumps({"rows": rows}))
    if any((row["history_bytes"] or 0) > MOST_BYTES for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
