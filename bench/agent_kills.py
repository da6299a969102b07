"""An agent with tools, approvals and streaming, its worker killed at random moments: all once.

python -m bench.agent_kills [--kills N] [--seed N] [--json]

Bill after bill: the model files it and pays it in parallel, paying waits for an approval, and the
reply is streamed to a viewer. Both tools write to a file under their idempotency key. Meanwhile
the worker gets SIGKILL, at moments that are drawn. Ends with status 1 if a message, a reply or an
effect is missing or there twice, or if a request breaks a rule of the API.
"""

import argparse
import asyncio
import json
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

import worker
from bench.kill_tools import attempts, ledger
from bench.stage import environment, key_for, server
from bench.worker_process import WorkerProcess
from perdure import Conversation, ConversationConfig, MemoryPolicy
from perdure.archive import Archive, Piece
from perdure.contract import AWAITING_APPROVAL
from perdure.errors import NoWorker
from perdure.memory.blocks import block_text, to_text
from perdure.memory.message import Message
from perdure.reply import Reply
from tests.support.answers import Answer, blocks, text
from tests.support.messages_api import Body, MessagesApi, default_rule, is_summary

KILLS = 20
SEED = 8
# A kill hits what follows an answer, within a bill's time, or one in four a worker just started.
AFTER_SECONDS = 2.0
EARLY = 0.25
THINKS_SECONDS = 0.1
PATIENCE_SECONDS = 0.5
HOLDS_SECONDS = 0.4
POLICY = MemoryPolicy(message_budget=3_000, observation_budget=2_000, level_budget=1_000)
_BILL = re.compile(r"bill (\d+)")


def rule(request: Body) -> Answer:
    """Calls for a bill, and after their results a reply whose stream takes a while."""
    if is_summary(request):
        return default_rule(request)
    last = request["messages"][-1]["content"]
    if last[0]["type"] == "tool_result":
        number = _BILL.findall(to_text(last))[-1]
        held = asyncio.Event()
        asyncio.get_running_loop().call_later(HOLDS_SECONDS, held.set)
        return text(reply_to(int(number)), delay=THINKS_SECONDS, hold_at=6, held=held)
    number = int(_BILL.findall(last[-1]["text"])[-1])
    calls = [
        {"type": "tool_use", "id": f"{name}_{number}", "name": name, "input": {"number": number}}
        for name in ("file", "pay")
    ]
    return blocks(*calls, delay=THINKS_SECONDS)


def message_of(number: int) -> str:
    return f"Please file and pay bill {number}."


def reply_to(number: int) -> str:
    return f"All done with bill {number}. " + "It has been filed, and it has been paid. " * 6


class Customer:
    """Sends bill after bill until it is told to stop, and watches the replies."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self.sent = 0
        self.approvals = 0
        self.late = 0
        self.heard_wrong: list[str] = []
        self.answered = asyncio.Event()
        self.enough = False
        self.gone = asyncio.Event()

    async def run(self) -> None:
        """Until `enough`; sets `answered` after each bill."""
        while not self.enough:
            self.sent += 1
            await self._bill(self.sent)
            self.answered.set()
        self.gone.set()

    async def _bill(self, number: int) -> None:
        said = message_of(number)
        reply: Reply | None = None
        while reply is None or reply.stop_reason == AWAITING_APPROVAL:
            for call in reply.awaiting if reply else ():
                self.approvals += 1
                await self._conversation.approve(call["tool_use_id"])
            try:
                heard, reply = await self._streamed(said, f"bill-{number}")
            except NoWorker:
                # The next one is on its way, and to ask again with the same id is safe.
                await asyncio.sleep(PATIENCE_SECONDS)
        if heard != reply.text or reply.text != reply_to(number):
            self.heard_wrong.append(f"bill {number}: heard {heard!r}, not {reply.text!r}")

    async def _streamed(self, said: str, id: str) -> tuple[str, Reply]:  # noqa: A002
        """What was heard of the last step, and the reply."""
        heard, reply = "", None
        async for event in self._conversation.stream(said, id=id):
            if isinstance(event, Reply):
                reply = event
            elif isinstance(event, Piece):
                heard = event.text if event.start == 0 else heard + event.text
                self.late += not event.id
        assert reply is not None
        return heard, reply


async def reign_of_terror(
    client: Client, sending: Customer, drawn: random.Random, kills: int, console: Console
) -> None:
    """Kill the worker, start another, and leave the last one until the client has ended."""
    for kill in range(1, kills + 1):
        sending.answered.clear()
        async with WorkerProcess(client, {"PERDURE_MODEL": "scripted"}):
            if drawn.random() >= EARLY:
                await sending.answered.wait()
            await asyncio.sleep(drawn.uniform(0, AFTER_SECONDS))
        console.print(f"kill {kill}, in bill {sending.sent}", highlight=False)
    sending.enough = True
    async with WorkerProcess(client, {"PERDURE_MODEL": "scripted"}):
        await sending.gone.wait()


def once(wanted: Sequence[str], found: Sequence[str]) -> dict[str, int]:
    """How much of what is wanted is missing, and how much is there more often than once."""
    counted = Counter(found)
    return {
        "lost": sum(not counted[each] for each in wanted),
        "doubled": sum(max(0, counted[each] - 1) for each in wanted),
        "strange": sum(counted.values()) - sum(counted[each] for each in wanted),
    }


def found_in(messages: Sequence[Message]) -> dict[str, list[str]]:
    """What the transcript holds of each kind."""
    kinds: dict[str, list[str]] = {"messages": [], "replies": [], "calls": [], "results": []}
    for message in messages:
        for block in message.content:
            if block["type"] == "text":
                kinds["messages" if message.role == "user" else "replies"].append(block["text"])
            elif block["type"] == "tool_use":
                kinds["calls"].append(f"{block['name']} {block['input']['number']}")
            elif block["type"] == "tool_result":
                kinds["results"].append(block_text(block).strip())
    return kinds


async def kill_all(kills: int, seed: int, console: Console) -> dict[str, Any]:
    """The figures of one run."""
    with TemporaryDirectory() as directory:
        variables = {
            "LEDGER": str(Path(directory) / "ledger"),
            "PERDURE_TOOLS": "bench.kill_tools",
        }
        async with server() as client, MessagesApi(rule) as api:
            with environment(**variables), key_for(api):
                url = os.environ["PERDURE_DATABASE_URL"]
                async with await Archive.open(url) as archive:
                    return await _figures(client, archive, api, kills, seed, console)


async def _figures(
    client: Client, archive: Archive, api: MessagesApi, kills: int, seed: int, console: Console
) -> dict[str, Any]:
    config = ConversationConfig(
        system="You keep the books.", policy=POLICY, tools=["file", "pay"], turns_per_run=15
    )
    conversation = await Conversation.open(client, "bills", config, archive=archive)
    sending, began = Customer(conversation), time.monotonic()
    async with asyncio.TaskGroup() as group:
        group.create_task(reign_of_terror(client, sending, random.Random(seed), kills, console))
        group.create_task(sending.run())
    seconds = time.monotonic() - began
    async with WorkerProcess(client, {"PERDURE_MODEL": "scripted"}):
        messages = [message async for message in conversation.transcript()]
        status = await conversation.status()
        await conversation.close()
        identical = (await worker.replay(client, conversation.id)).identical
    numbers = range(1, sending.sent + 1)
    effects = [line.partition(" ")[::2] for line in ledger().read_text().splitlines()]
    done = [f"{name} {number}" for number in numbers for name in ("file", "pay")]
    results = [f"bill {n} is {what}" for n in numbers for what in ("filed", "paid")]
    found = found_in(messages)
    verdicts = {
        "messages": once([message_of(n) for n in numbers], found["messages"]),
        "replies": once([reply_to(n) for n in numbers], found["replies"]),
        "calls": once(done, found["calls"]),
        "results": once(results, found["results"]),
        "effects": once(done, [what for _, what in effects]),
    }
    api.check(window=200_000)
    return {
        "kills": kills,
        "bills": sending.sent,
        "approvals": sending.approvals,
        **{f"{name}: {kind}": n for name, kinds in verdicts.items() for kind, n in kinds.items()},
        "effects": len(effects),
        "attempts": len(attempts().read_text().splitlines()),
        "requests": len(api.requests),
        "replies whose words came, in part, only at the end": sending.late,
        "heard wrong": sending.heard_wrong,
        "runs": status["totals"]["runs"],
        "compactions": status["totals"]["compactions"],
        "errors": [note["text"] for note in status["errors"]],
        "replay identical": identical,
        "seconds": round(seconds),
    }


def is_sound(figures: dict[str, Any]) -> bool:
    """Everything once, and heard as it was said."""
    wrong = [n for name, n in figures.items() if ": " in name and n]
    return not wrong and not figures["heard wrong"] and bool(figures["replay identical"])


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    console = Console()
    figures = await kill_all(options.kills, options.seed, console)
    shown = Table("an agent whose worker is killed", "")
    for name, value in figures.items():
        shown.add_row(name, str(value))
    console.print(shown)
    if options.json:
        print(json.dumps(figures))
    if not is_sound(figures):
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
