"""A conversation whose summariser fails in every known way, through the real client.

python -m bench.failing_summariser [--turns N] [--json]

Ends with status 1 when a turn is not answered, a fact of the first turns is lost, the
summariser is called more often than CALLS_A_TURN, or does not get its chance when it works again.
"""

import argparse
import asyncio
import json
import logging
import os
import sys
import time
from dataclasses import asdict

from bench.stage import server
from tests.faults.summariser import FACTS, Figures, play

TURNS = 200
BUDGET = 2_000
# Longer than a turn waits for a summary.
SLOW = 7.0
CALLS_A_TURN = 2.0


def is_good(figures: Figures) -> bool:
    return (
        figures.answered == figures.turns
        and figures.in_record == len(FACTS)
        and figures.called <= CALLS_A_TURN * figures.turns
        and figures.recovered_after is not None
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    # Every failure would be told with its traceback.
    logging.disable(logging.WARNING)
    started = time.monotonic()
    async with server() as client:
        url = os.environ["PERDURE_DATABASE_URL"]
        figures, api = await play(client, url, options.turns, tokens=BUDGET, slow=SLOW)
    api.check()
    print(
        f"{figures.answered} of {figures.turns} turns answered in {figures.runs} runs, "
        f"{time.monotonic() - started:.0f} s\n"
        f"{figures.called} calls of the summariser, {figures.called / figures.turns:.2f} a turn: "
        + ", ".join(f"{name} {number}" for name, number in figures.calls.items())
        + f"\n{figures.failed_compactions} compactions put off, "
        f"{figures.extractive} entries made without a model\n"
        f"{figures.in_context} of {len(FACTS)} facts of the first turns in the context, "
        f"{figures.in_record} word for word in the record\n"
        f"{figures.looks} looks at the conversation, each at a whole state\n"
        f"a summary {figures.recovered_after} turns after the summariser works again"
    )
    if options.json:
        print(json.dumps(asdict(figures)))
    if not is_good(figures):
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
