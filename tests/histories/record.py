"""Records the histories that are replayed in CI anew: `python -m tests.histories.record`.

Do so when a change of the workflow is meant to break the replay of conversations that run, and
say in the change that it does.
"""

import asyncio
import json
import shutil
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.testing import WorkflowEnvironment

import worker
from perdure.archive import Archive
from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.errors import TurnFailed
from perdure.local.database import local_postgres
from perdure.memory.policy import MemoryPolicy
from perdure.replay import fetch_chain
from perdure.settings import Settings
from tests.support.directories import passable_directory
from tests.support.scripted import QUEUE, Scripted, serving
from tests.support.tools import FakeTool, call

HERE = Path(__file__).parent
TEMPORAL = Path(sys.executable).parent / "temporal"
MACHINE = ("identity", "stackTrace", "binaryChecksum")
Story = Callable[[Client, str], Awaitable[Conversation]]
# The offline model calls no tools, so a story with tools has a model that answers by script.
SCRIPTED = Scripted()


async def plain(client: Client, id_: str) -> Conversation:
    """Two questions, a signal, a refused message."""
    conversation = await Conversation.open(client, id_, ConversationConfig(system="Be brief."))
    await conversation.ask("My sister Hanna works at the harbour office in Lisbon.", id="first")
    await conversation.send("She likes the sea.")
    await client.get_workflow_handle(id_).signal("user_message", " ")
    await conversation.ask("Where does Hanna work?")
    return conversation


async def compacted(client: Client, id_: str) -> Conversation:
    """Observations and reflections, in the background, before a reply, and on demand."""
    policy = MemoryPolicy(message_budget=600, observation_budget=250, observe_chunk=300)
    conversation = await Conversation.open(client, id_, ConversationConfig(policy=policy))
    spoken = [
        {
            "role": ("user", "assistant")[number % 2],
            "content": f"Note {number}: the crate {number * 7} holds {number + 3} kg of tea, "
            f"came by the ship Orion on March {number % 28 + 1} and is meant for Mr. Adler.",
            "at": f"2026-{number // 28 + 1:02}-{number % 28 + 1:02}T09:00:00Z",
        }
        for number in range(48)
    ]
    await conversation.import_messages(spoken, id="crates")
    for number in range(6):
        await conversation.ask(
            f"Crate {number + 900} arrived in Antwerp today with {number + 40} kg of coffee "
            "from Santos, and the customs officer, Ms. Vermeer, wants the papers by Friday. " * 2
        )
    await conversation.compact("Keep the names.")
    await conversation.ask("Who wants the papers?")
    return conversation


async def continued(client: Client, id_: str) -> Conversation:
    """Three runs and more, the last of them closed."""
    policy = MemoryPolicy(message_budget=300, observe_chunk=200)
    config = ConversationConfig(policy=policy, turns_per_run=3)
    conversation = await Conversation.open(client, id_, config)
    for number in range(7):
        await conversation.ask(
            f"Day {number}: we walked {number + 11} km to the village of Alba {number}, where the "
            f"inn is called The {number} Lanterns and breakfast is served at seven. We met Ines, "
            f"who paints boats, and her {number + 2} dogs, and it rained until noon.",
            id=f"day {number}",
        )
    await conversation.ask("Where is breakfast served?")
    await conversation.close()
    return conversation


async def failed(client: Client, id_: str) -> Conversation:
    """A turn without a key for its model, and a message that is too long for the window."""
    policy = MemoryPolicy(message_budget=500, context_window=1_000, reserve_output=200)
    config = ConversationConfig(policy=policy, model="no-such-model")
    conversation = await Conversation.open(client, id_, config)
    for text in ("Is anybody there?", None):
        if text is None:
            await conversation.configure(model="offline")
            text = "word " * 1_000
        try:
            await conversation.ask(text)
        except TurnFailed:
            continue
        raise AssertionError("the turn should have failed")
    await conversation.ask("My train leaves at 07:45.")
    return conversation


async def tools(client: Client, id_: str) -> Conversation:
    """Tools side by side, one that fails, compaction within a turn, approvals over several runs."""

    async def look(given: dict[str, Any]) -> str:
        if given["crate"] == 5:
            raise ConnectionError("crate 5 is locked")
        return f"Crate {given['crate']} holds {given['crate'] + 3} kg of tea. " * 12

    script = SCRIPTED.script(id_)
    script.tools.update(look=FakeTool(look), send=FakeTool(approval="ask"))
    policy = MemoryPolicy(message_budget=800, observe_chunk=400)
    config = ConversationConfig(policy=policy, tools=["look", "send"], turns_per_run=7)
    conversation = await Conversation.open(client, id_, config, task_queue=QUEUE)
    await conversation.ask("Which crates are there?")
    script.replies.extend([call(f"c{n}", crate=n), call(f"d{n}", crate=n + 1)] for n in range(6))
    await conversation.ask("Look into the first seven.")
    for number, approved in enumerate((True, False)):
        script.replies.extend([[call(f"s{number}", "send", to="Ms. Vermeer")], "Noted."])
        await conversation.send(f"Send letter {number}.", id=f"letter {number}")
        while not (await conversation.status())["awaiting"]:
            await asyncio.sleep(0.1)
        verdict = {"tool_use_id": f"s{number}", "approved": approved, "note": "not on a Sunday"}
        await client.get_workflow_handle(id_).signal("approve", verdict)
        await conversation.ask("Has it gone out?")
    return conversation


STORIES: dict[str, Story] = {
    "plain": plain,
    "compacted": compacted,
    "continued": continued,
    "failed": failed,
    "tools": tools,
}


def load(name: str) -> list[WorkflowHistory]:
    """The recorded runs of a story, oldest first."""
    runs = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return [WorkflowHistory.from_json(f"recorded-{name}", run) for run in runs]


def without_traces(value: Any) -> Any:
    """A history as JSON without the names of machines and their directories."""
    if isinstance(value, dict):
        return {k: without_traces(v) for k, v in value.items() if k not in MACHINE}
    if isinstance(value, list):
        return [without_traces(v) for v in value]
    # The names of sticky task queues begin with the worker's process and machine.
    return value.replace(socket.gethostname(), "worker") if isinstance(value, str) else value


def save(name: str, histories: list[WorkflowHistory]) -> int:
    """Write the runs of a story; gives the bytes that they take."""
    runs = [without_traces(json.loads(history.to_json())) for history in histories]
    text = json.dumps(runs, separators=(",", ":"), ensure_ascii=False)
    (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return len(text)


async def main() -> None:
    """Record every story, or those that are named on the command line."""
    wanted = sys.argv[1:] or list(STORIES)
    directory = passable_directory()
    async with (
        await WorkflowEnvironment.start_local(
            dev_server_existing_path=str(TEMPORAL),
            dev_server_log_level="error",
            data_converter=pydantic_data_converter,
        ) as environment,
        local_postgres(directory) as url,
        worker.running(environment.client, Settings(model="offline", database_url=url)),
        await Archive.open(url) as archive,
        serving(environment.client, SCRIPTED, archive, QUEUE),
    ):
        for name in wanted:
            id_ = f"recorded-{name}"
            await STORIES[name](environment.client, id_)
            histories, _ = await fetch_chain(environment.client, id_)
            report = await worker.replay(environment.client, id_)
            size = save(name, histories)
            print(f"{name}: {size:,} bytes, {report.model_dump_json()}")
    shutil.rmtree(directory)


if __name__ == "__main__":
    asyncio.run(main())
