"""Chatting at a terminal."""

import asyncio
import os
import pty
import signal

from temporalio.client import Client

from tests.cli.conftest import start


async def test_chat_at_a_terminal(client: Client, offline_worker: None, fresh: str) -> None:
    ours, theirs = pty.openpty()
    env = {"TEMPORAL_ADDRESS": client.service_client.config.target_host, "TERM": "xterm"}
    chatting = await start("chat", fresh, env=env, stream=theirs)
    os.close(theirs)

    async def until(text: str) -> str:
        seen = ""
        while text not in seen:
            seen += (await asyncio.to_thread(os.read, ours, 4096)).decode()
        return seen

    assert f"{fresh} is new" in await until("you> ")
    os.write(ours, b"My dog is called Rex.\n")
    assert "(offline)" in await until("\nyou> ")
    os.write(ours, b"/memory\n")
    assert "0 verbatim" in await until("\nyou> ")
    os.write(ours, b"/nonsense\n")
    assert "there is no /nonsense" in await until("\nyou> ")
    chatting.send_signal(signal.SIGINT)
    assert f"{fresh} stays" in await until("stays")
    assert await chatting.wait() == 0
    os.close(ours)
