"""Approving of a call in a chat, with the offline model and at a terminal."""

import asyncio
import os
import pty
import signal

from temporalio.client import Client

from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from tests.cli.conftest import Cli, cli, fresh, start
from tests.support.answers import text
from tests.support.messages_api import MessagesApi
from tests.support.talk import soon
from tests.tools.conftest import QUEUE

__all__ = ["cli", "fresh"]

CONFIG = '{"tools": ["refund", "now"], "model": "offline"}'
REFUND = 'use refund {"number": "HM-48213", "euros": 20}'


def environment(client: Client) -> dict[str, str]:
    """Variables of a chat at a terminal."""
    return {
        "TEMPORAL_ADDRESS": client.service_client.config.target_host,
        "PERDURE_TASK_QUEUE": QUEUE,
        "TERM": "xterm",
    }


async def read_until(terminal: int, text: str) -> str:
    """What the terminal shows next, up to `text` and what came with it."""
    seen = ""
    while text not in seen:
        seen += (await asyncio.to_thread(os.read, terminal, 4096)).decode()
    return seen


async def test_a_chat_asks_and_a_call_outlives_it(
    client: Client, api: MessagesApi, fresh: str
) -> None:
    env, (ours, theirs) = environment(client), pty.openpty()

    async def say(line: str) -> None:
        await asyncio.to_thread(os.write, ours, f"{line}\n".encode())

    chatting = await start("chat", fresh, "--config", CONFIG, env=env, stream=theirs)
    await read_until(ours, "you> ")
    await say(REFUND)
    assert '"number":"HM-48213"' in await read_until(ours, "may it run?")
    await say("perhaps")
    await read_until(ours, "may it run?")
    await say("y")
    assert "20 euros are on their way" in await read_until(ours, "\nyou> ")
    await say(REFUND)
    await read_until(ours, "may it run?")
    await asyncio.to_thread(os.write, ours, b"\x04")
    assert f"{fresh} stays" in await read_until(ours, "stays")
    assert await chatting.wait() == 0

    again = await start("chat", fresh, env=env, stream=theirs)
    await read_until(ours, "may it run?")
    await say("n")
    assert "the user has denied this call" in await read_until(ours, "\nyou> ")
    await say("/quit")
    assert await again.wait() == 0
    os.close(theirs)
    os.close(ours)


async def test_ctrl_c_stops_a_reply_and_not_the_chat(
    client: Client, api: MessagesApi, fresh: str
) -> None:
    env, (ours, theirs) = environment(client), pty.openpty()

    gate = asyncio.Event()
    api.script(text("Never heard.", delay=gate), text("Here I am."))
    asked = len(api.requests)
    system = '{"system": "You sell bread."}'
    chatting = await start("chat", fresh, "--config", system, env=env, stream=theirs)
    os.close(theirs)
    await read_until(ours, "you> ")
    os.write(ours, b"Tell me a story.\n")
    await soon(api.arrived(asked + 1))
    chatting.send_signal(signal.SIGINT)
    await soon(read_until(ours, "interrupted"))
    await soon(read_until(ours, "you> "))
    gate.set()
    os.write(ours, b"Are you there?\n")
    assert "Here I am." in await soon(read_until(ours, "\nyou> "))
    chatting.send_signal(signal.SIGINT)
    # Between the prompt and readline's wait a signal is seen only with the next key.
    os.write(ours, b"\n")
    assert f"{fresh} stays" in await soon(read_until(ours, "stays"))
    assert await chatting.wait() == 0
    os.close(ours)


async def test_a_call_is_approved_and_a_turn_stopped_from_elsewhere(
    client: Client, api: MessagesApi, cli: Cli, fresh: str
) -> None:
    config = ConversationConfig.model_validate_json(CONFIG)
    conversation = await Conversation.open(client, fresh, config, task_queue=QUEUE)
    asked = await soon(conversation.ask(REFUND))
    assert (await cli("approve", fresh)).text.startswith("approved refund")
    approved = await soon(conversation.ask(REFUND, id=asked.message_id))
    assert "20 euros are on their way" in approved.text

    await soon(conversation.ask(REFUND))
    stopped = await cli("interrupt", fresh)
    assert stopped.text.startswith("turn 2 was interrupted\n")
    assert (await conversation.status())["running"] is None
    nothing = await cli("interrupt", fresh)
    assert nothing.error == f"{fresh} has no turn in progress; there is nothing to interrupt"


async def test_the_commands_that_need_no_conversation(cli: Cli) -> None:
    shown, listed, missing, silly, contrary = await asyncio.gather(
        cli("tools"),
        cli("tools", "--json", PERDURE_TOOLS="tests.tools.desk"),
        cli("tools", PERDURE_TOOLS="no_such_module"),
        cli("approve", "any", "--note", "because"),
        cli("approve", "any", "--deny", "--always"),
    )
    assert "The date and time." in shown.text
    refund = next(each for each in listed.json if each["name"] == "refund")
    assert (refund["approval"], refund["timeout"], refund["attempts"]) == ("ask", 60, 3)
    assert refund["input_schema"]["required"] == ["number", "euros"]
    assert "PERDURE_TOOLS names 'no_such_module', which is neither" in missing.error
    assert silly.error == "--note is for the model when a call is denied; it needs --deny"
    assert "does not go together with --deny" in contrary.error
