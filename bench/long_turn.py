"""One turn with 100 tool calls of 5 KB each, in a conversation of 100,000 tokens.

python -m bench.long_turn [--calls N] [--json]

Once with budgets that take in everything, once with the default ones and once with small ones.
Ends with status 1 if a turn does not finish, its history is over 10 MB or grows faster at its end
than at its beginning, or a request breaks a rule of the API.
"""

import argparse
import asyncio
import json
import sys
import time
from typing import Any

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

import worker
from bench.chain import extent
from bench.stage import scripted
from bench.words import passage
from perdure import Conversation, ConversationConfig, MemoryPolicy
from perdure.replay import fetch_chain
from tests.support.answers import Answer, blocks, text
from tests.support.messages_api import Body, MessagesApi, default_rule, is_summary
from tests.support.requests import violations

CALLS = 100
MOST_BYTES = 10_000_000
# How much more the dearer half of a turn may cost than the other one.
LINEAR = 1.5
BATCHES, IN_A_BATCH = 40, 20
WINDOW = 200_000
QUESTION = "Read all the pages, then tell me that you have."
DONE = "I have read them all."
POLICIES = {
    "all of it": MemoryPolicy(message_budget=180_000),
    "default": MemoryPolicy(),
    "small": MemoryPolicy(message_budget=4_000),
}


class Reader:
    """Calls for a page at every step, and says at last that it has read them all."""

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self.read: dict[str, int] = {}

    def rule(self, request: Body) -> Answer:
        """What the model of each conversation says; it is named like the conversation."""
        if is_summary(request):
            return default_rule(request)
        id_ = request["model"]
        number = self.read.setdefault(id_, 0)
        if number == self._calls:
            return text(DONE)
        self.read[id_] = number + 1
        call = {"type": "tool_use", "id": f"c{number}", "name": "read_page"}
        return blocks({**call, "input": {"number": number}})


async def size(client: Client, id: str) -> tuple[int, int, int]:  # noqa: A002
    """Bytes, events and runs of the whole chain."""
    histories, missing = await fetch_chain(client, id)
    assert not missing, missing
    extents = [await extent(client, id, history.run_id) for history in histories]
    return sum(e.bytes for e in extents), sum(e.events for e in extents), len(extents)


async def turn(
    client: Client, api: MessagesApi, reader: Reader, calls: int, name: str
) -> dict[str, Any]:
    """The row of one policy."""
    id_ = name.replace(" ", "-")
    config = ConversationConfig(
        system="You read.",
        model=id_,
        summary_model="summariser",
        policy=POLICIES[name],
        tools=["read_page"],
    )
    conversation = await Conversation.open(client, id_, config)
    for batch in range(BATCHES):
        said = [
            {"role": ("user", "assistant")[n % 2], "content": passage(f"{batch} {n}", 500)}
            for n in range(IN_A_BATCH)
        ]
        await conversation.import_messages(said)
    tokens = (await conversation.status())["raw_tokens"]
    before, began, first = await size(client, id_), time.monotonic(), len(api.requests)
    asking = asyncio.ensure_future(conversation.ask(QUESTION))
    half = before
    while not asking.done():
        await asyncio.wait({asking}, timeout=0.2)
        if half == before and reader.read.get(id_, 0) >= calls // 2:
            half = await size(client, id_)
    reply = await asking
    after = await size(client, id_)
    requests = [r for r in api.requests[first:] if r["model"] == id_]
    return {
        "budgets": name,
        "tokens before": tokens,
        "finished": reply.text == DONE,
        "seconds": round(time.monotonic() - began, 1),
        "MB": round((after[0] - before[0]) / 1e6, 2),
        "events": after[1] - before[1],
        "runs": after[2] - before[2] + 1,
        "second half": round((after[0] - half[0]) / max(1, half[0] - before[0]), 2),
        "compactions": (await conversation.status())["totals"]["compactions"],
        "violations": sum(len(violations(request, WINDOW)) for request in requests),
        "question there": all(QUESTION in str(request["messages"]) for request in requests),
        "replay identical": (await worker.replay(client, id_)).identical,
    }


async def measure(calls: int) -> list[dict[str, Any]]:
    """A row for each policy."""
    async with scripted(tools="bench.page_tools") as (client, api):
        reader = Reader(calls)
        api.rule = reader.rule
        return [await turn(client, api, reader, calls, name) for name in POLICIES]


def is_good(row: dict[str, Any]) -> bool:
    """Whether a row meets every target."""
    promised = row["finished"] and row["question there"] and row["replay identical"]
    small = row["MB"] * 1e6 < MOST_BYTES and row["second half"] < LINEAR
    return bool(promised and small and not row["violations"])


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    rows = await measure(options.calls)
    shown = Table("", *(row["budgets"] for row in rows))
    for name in rows[0]:
        if name != "budgets":
            shown.add_row(name, *(str(row[name]) for row in rows))
    Console().print(shown)
    if options.json:
        print(json.dumps({"rows": rows}))
    if not all(map(is_good, rows)):
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
