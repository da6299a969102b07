"""Many clients at once while the worker is killed: nothing lost, doubled or out of order.

python -m bench.storm [--json]

10 clients send 500 messages to one conversation, as signals and with `ask`, some of them twice
with the same id. It continues as new every 20 turns and compacts, and its worker is killed by
SIGKILL five times. Ends with status 1 if a message is lost or doubled, or a client's order is
not kept.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import Any

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

from bench.stage import server
from bench.worker_process import WorkerProcess
from perdure import Conversation, ConversationConfig, MemoryPolicy
from perdure.errors import ArchiveMissing, Refused
from perdure.memory.blocks import to_text
from perdure.replay import fetch_chain

CLIENTS = 10
MESSAGES = 50
TURNS_PER_RUN = 20
KILLS = 5
# A message at rest stays verbatim for more turns than a run has, so that one of the carried
# states shows it; the budgets make the conversation compact all the same.
POLICY = MemoryPolicy(
    message_budget=8_000,
    keep_recent=4_000,
    observation_budget=1_000,
    level_budget=500,
    observe_chunk=2_000,
)
ENVIRONMENT = {"PERDURE_MODEL": "offline"}


class Progress:
    """How many messages the clients have brought in."""

    def __init__(self) -> None:
        self.done = 0
        self._changed = asyncio.Condition()

    async def one_more(self) -> None:
        """Count one."""
        async with self._changed:
            self.done += 1
            self._changed.notify_all()

    async def reaches(self, number: int) -> None:
        """Wait until there are so many."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.done >= number)


async def speak(conversation: Conversation, client: int, progress: Progress) -> Counter[str]:
    """One client: message after message, each way at random; counts what it has sent."""
    drawn = random.Random(client)
    sent: Counter[str] = Counter()
    for number in range(MESSAGES):
        name = f"client {client} message {number}"
        said = f"This is {name}, and it is about lot {drawn.randrange(10_000)}."
        way = drawn.choice(["signal", "ask"])
        twice = drawn.random() < 0.2
        calls = [way, drawn.choice(["signal", "ask"])] if twice else [way]
        outcomes = await asyncio.gather(*(bring(conversation, call, name, said) for call in calls))
        if twice and drawn.random() < 0.5:
            calls.append("signal")
            await bring(conversation, "signal", name, said)
        sent.update(calls)
        sent["reply gone"] += sum(not found for found in outcomes)
        sent["duplicate"] += len(calls) - 1
        await progress.one_more()
    return sent


async def bring(conversation: Conversation, way: str, name: str, said: str) -> bool:
    """Send one; False when the reply could not be read, having been let go by then.

    A message that really was refused turns up among the lost.
    """
    try:
        if way == "signal":
            await conversation.send(said, id=name)
        else:
            await conversation.ask(said, id=name)
    except (Refused, ArchiveMissing):
        return False
    return True


async def reign_of_terror(
    client: Client, progress: Progress, last: AsyncExitStack, console: Console
) -> None:
    """Keep a worker running and kill it at even distances; the last one lives on in `last`."""
    total = CLIENTS * MESSAGES
    for kill in range(1, KILLS + 1):
        async with WorkerProcess(client, ENVIRONMENT):
            await progress.reaches(total * kill // (KILLS + 1))
        console.print(f"killed after {progress.done} messages", highlight=False)
    await last.enter_async_context(WorkerProcess(client, ENVIRONMENT))


async def served(client: Client, id: str) -> list[dict[str, Any]]:  # noqa: A002
    """Every message of the conversation, by its place, from the states its runs carried."""
    histories, missing = await fetch_chain(client, id)
    assert not missing, missing
    found: dict[int, dict[str, Any]] = {}
    for history in histories:
        started = history.events[0].workflow_execution_started_event_attributes
        given = json.loads(started.input.payloads[0].data)
        if "carried" in given:
            found |= {m["seq"]: m for m in given["carried"]["memory"]["messages"]}
    async for message in Conversation(client, id).transcript():
        found[message.seq] = message.model_dump(mode="json")
    assert sorted(found) == list(range(len(found))), "a message was compacted unseen"
    return [found[seq] for seq in sorted(found)]


def verdict(texts: Iterable[str]) -> dict[str, int]:
    """What became of the messages of all clients."""
    numbers: dict[int, list[int]] = {client: [] for client in range(CLIENTS)}
    for said in texts:
        words = said.split()
        if words[:3] == ["This", "is", "client"]:
            numbers[int(words[3])].append(int(words[5].strip(",")))
    lost = sum(MESSAGES - len(set(found)) for found in numbers.values())
    doubled = sum(len(found) - len(set(found)) for found in numbers.values())
    disordered = sum(found != sorted(found) for found in numbers.values())
    return {"lost": lost, "doubled": doubled, "clients_out_of_order": disordered}


async def storm(console: Console) -> dict[str, Any]:
    """The figures of one storm."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(server())
        config = ConversationConfig(
            system="You take note.", policy=POLICY, turns_per_run=TURNS_PER_RUN
        )
        conversation = await Conversation.open(client, "storm", config)
        progress = Progress()
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            group.create_task(reign_of_terror(client, progress, stack, console))
            clients = [
                group.create_task(speak(conversation, number, progress))
                for number in range(CLIENTS)
            ]
        sent = sum((speaking.result() for speaking in clients), Counter[str]())
        await conversation.ask("That was the last message.")
        seconds = time.monotonic() - began
        messages = await served(client, conversation.id)
        status = await conversation.status()
        said = [to_text(m["content"]) for m in messages if m["role"] == "user"]
        return {
            "clients": CLIENTS,
            "messages": CLIENTS * MESSAGES,
            "sent": dict(sent),
            "kills": KILLS,
            **verdict(said),
            "replies": sum(m["role"] == "assistant" for m in messages),
            "turns": status["turn"],
            "runs": status["totals"]["runs"],
            "compactions": status["totals"]["compactions"],
            "errors": [note["text"] for note in status["errors"]],
            "seconds": round(seconds, 1),
        }


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    console = Console()
    figures = await storm(console)
    shown = Table("storm", "")
    for name, value in figures.items():
        shown.add_row(name, str(value))
    console.print(shown)
    if options.json:
        print(json.dumps(figures))
    if figures["lost"] or figures["doubled"] or figures["clients_out_of_order"]:
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
