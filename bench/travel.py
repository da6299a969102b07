"""Back in time on the demo conversation: is what a model was ever sent rebuilt to the byte?

python -m bench.travel [--json]

The demo is held, its contexts are rebuilt from Temporal's history and from the archive, a fork
goes another way, a worker is killed in the middle of another fork, and at last Temporal loses
everything: a new server stands beside the same archive. Ends with status 1 unless every hash is
the recorded one and the original is what it was.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

import worker
from bench.stage import database, temporal
from perdure import Conversation, ConversationConfig
from perdure.archive import Archive, ChainKey
from perdure.archive.moments import Moment
from perdure.cli.demo.play import POLICY, TURNS_PER_RUN, script
from perdure.settings import Settings
from tests.faults.scenes import forked, stage
from tests.support.recorded import sent_hashes

ID = "demo"
TURNS = (10, 50, 100)
FORK_AT = 50
OTHER_WAY = ("Forget the bakery: I will keep bees.", "What will I keep?")

Rebuilt = Callable[[int], Awaitable[Moment | None]]


async def held(client: Client, archive: Archive) -> Conversation:
    """The demo conversation, all turns of it."""
    told = script()
    config = ConversationConfig(
        system=told.system, title=told.title, policy=POLICY, turns_per_run=TURNS_PER_RUN
    )
    conversation = await Conversation.open(client, ID, config, archive=archive)
    for message in (*told.messages, *(question.question for question in told.questions)):
        await conversation.ask(message)
    return conversation


async def compared(rebuilt: Rebuilt, hashes: dict[int, str]) -> dict[str, Any]:
    """How many contexts have the recorded hash, and the median seconds that one takes."""
    seconds, equal = [], 0
    for turn, sha256 in hashes.items():
        began = time.monotonic()
        found = await rebuilt(turn)
        seconds.append(time.monotonic() - began)
        equal += found is not None and found.context.sha256 == sha256
    return {
        "of": len(hashes),
        "equal": equal,
        "median_ms": round(1_000 * statistics.median(seconds)),
    }


async def other_way(original: Conversation, archive: Archive) -> dict[str, Any]:
    """A fork that is told something else; what it shares, and what became of the original."""
    handle = original._handle.client.get_workflow_handle(ID)
    before = (await handle.describe()).history_length, (await original.context())["sha256"]
    began = time.monotonic()
    fork = await original.fork(FORK_AT)
    seconds = time.monotonic() - began
    chain = (await archive.chains(original._handle.client.namespace, fork.id))[0]
    own = await archive.messages(chain.key, (chain.parent_until_seq or 0) + 1)
    for message in OTHER_WAY:
        reply = await fork.ask(message)
    after = (await handle.describe()).history_length, (await original.context())["sha256"]
    difference = await original.diff(FORK_AT, FORK_AT + 1)
    return {
        "turn": FORK_AT,
        "seconds": round(seconds, 2),
        "messages_shared": (chain.parent_until_seq or 0) + 1,
        "messages_copied": len(own),
        "its_last_turn": reply.turn,
        "it_says": reply.text,
        "same_at_the_fork": (await fork.moment(FORK_AT)).context
        == (await original.moment(FORK_AT)).context,
        "another_way_after": (await fork.moment(FORK_AT + 2)).context
        != (await original.moment(FORK_AT + 2)).context,
        "original_events": [before[0], after[0]],
        "original_untouched": before == after,
        "next_turn_of_the_original": {
            "messages_new": sum(s.last_seq - s.first_seq + 1 for s in difference.messages_new),
            "tokens": [difference.tokens_before, difference.tokens_after],
        },
    }


async def lost(archive: Archive, hashes: dict[int, str]) -> dict[str, Any]:
    """The same contexts, beside a Temporal that has never heard of the conversation."""
    async with temporal() as client, worker.running(client, Settings(model="offline")):
        conversation = Conversation(client, ID, archive=archive)
        key = ChainKey(
            client.namespace, ID, (await archive.chains(client.namespace, ID))[0].key.chain
        )
        archived = (await archive.marks(key)).seq
        # In turn n the model was sent the messages before 2n - 1.
        kept = {turn: sha256 for turn, sha256 in hashes.items() if 2 * turn - 1 <= archived}
        found = await compared(conversation.moment, kept)
        fork = await conversation.fork(FORK_AT, "found-again")
        reply = await fork.ask(OTHER_WAY[0])
        return {**found, "messages_archived": archived, "fork_goes_on_with_turn": reply.turn}


async def run(console: Console) -> dict[str, Any]:
    """The figures."""
    async with database() as url, await Archive.open(url) as archive:
        async with temporal() as client:
            async with worker.running(client, Settings(model="offline")):
                began = time.monotonic()
                conversation = await held(client, archive)
                console.print(f"held in {time.monotonic() - began:.0f} s", highlight=False)
                hashes = await sent_hashes(client, ID)

                async def replayed(turn: int) -> Moment | None:
                    return await worker.sent(client, ID, turn)

                named = {turn: hashes[turn] for turn in TURNS}
                figures: dict[str, Any] = {
                    "turns": len(hashes),
                    "hashes": {turn: sha256[:12] for turn, sha256 in named.items()},
                    "from the history": await compared(replayed, named),
                    "from the archive": await compared(conversation.moment, hashes),
                    "fork": await other_way(conversation, archive),
                }
            async with stage(client, url) as on:
                figures["fork, worker killed: seconds"] = round(await forked(on), 1)
        figures["without Temporal's history"] = await lost(archive, hashes)
    return figures


def right(figures: dict[str, Any]) -> bool:
    """Whether every context was rebuilt, and the fork has changed nothing but itself."""
    compared = [f for name, f in figures.items() if name.startswith(("from", "without"))]
    fork = figures["fork"]
    return (
        all(f["equal"] == f["of"] > 0 for f in compared)
        and figures["without Temporal's history"]["of"] >= max(TURNS)
        and not fork["messages_copied"]
        and fork["same_at_the_fork"]
        and fork["another_way_after"]
        and fork["original_untouched"]
    )


def table(figures: dict[str, Any]) -> Table:
    """The figures for people."""
    shown = Table(show_header=False)
    for name, value in figures.items():
        if isinstance(value, dict):
            for inner, figure in value.items():
                shown.add_row(name, str(inner).replace("_", " "), str(figure))
        else:
            shown.add_row(name, "", str(value))
    return shown


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    console = Console()
    figures = await run(console)
    console.print(table(figures))
    if options.json:
        print(json.dumps(figures))
    if not right(figures):
        sys.exit(1)


if __name__ == "__main__":
    asyncio.run(main())
