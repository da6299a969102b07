"""How long a conversation is without an answer when its worker goes away in a model call.

python -m bench.faults [--json]

Ends with status 1 when a scene takes longer than it may.
"""

import argparse
import asyncio
import json
import os
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.stage import server
from tests.faults import scenes

HEARTBEAT = 10.0
SCENES = {
    "killed": (scenes.killed, HEARTBEAT + 5.0),
    "stopped": (scenes.stopped, 25.0),
    "interrupted": (scenes.interrupted, 3.0),
    "replaced by another version": (scenes.replaced, HEARTBEAT + 5.0),
}


async def play() -> list[dict[str, Any]]:
    """A row for each scene."""
    rows = []
    async with server() as client:
        for name, (scene, limit) in SCENES.items():
            async with scenes.stage(client, os.environ["PERDURE_DATABASE_URL"]) as stage:
                seconds = round(await scene(stage), 2)
            rows.append({"scene": name, "seconds": seconds, "limit": limit})
    return rows


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    rows = await play()
    shown = Table("scene", "seconds", "at most")
    for row in rows:
        shown.add_row(row["scene"], f"{row['seconds']:.1f}", f"{row['limit']:.0f}")
    Console().print(shown)
    if options.json:
        print(json.dumps({"rows": rows}))
    if any(row["seconds"] > row["limit"] for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
