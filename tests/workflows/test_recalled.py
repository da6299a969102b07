"""Excerpts before a reply, where the policy wants them: sent, and kept nowhere."""

import uuid
from collections.abc import AsyncIterator
from typing import cast

import pytest
import pytest_asyncio
from temporalio.client import Client

import worker
from activities.recalling import FRAME_TOKENS, OPENING, Background, background
from bench.stage import key_for
from perdure.archive import Archive
from perdure.conversation import Conversation
from perdure.errors import ArchiveUnavailable
from perdure.memory.project import Context
from perdure.recall.ask import LEAST_TOKENS
from perdure.settings import Settings
from tests.support.answers import text
from tests.support.messages_api import Body, MessagesApi, is_summary
from tests.support.recorded import check_contexts
from tests.support.scripted import Script
from tests.support.talk import Talk

QUEUE = "recalled"
POLICY = {
    "message_budget": 1_000,
    "keep_recent": 100,
    "keep_recent_messages": 2,
    "recall_share": 0.3,
}
WORDS = {"type": "text", "text": "Which code has the garden gate?"}
TOLD = "The code of the garden gate is QX-4711, and Ines has the key."


@pytest_asyncio.fixture(loop_scope="session")
async def talk(client: Client, server_url: str) -> AsyncIterator[tuple[Talk, MessagesApi]]:
    settings = Settings(model="scripted", database_url=server_url, task_queue=QUEUE)
    async with MessagesApi() as api, await Archive.open(server_url) as archive:
        with key_for(api):
            async with worker.running(client, settings):
                talk = Talk(client, f"recalled-{uuid.uuid4().hex[:8]}", QUEUE, Script())
                talk.facade = Conversation(client, talk.id, QUEUE, archive)
                yield talk, api
                await talk.end()
                api.check()
                await talk.check_sound()


def blocks(request: Body) -> list[str]:
    """The texts of the last message of a request."""
    return [block["text"] for block in request["messages"][-1]["content"]]


async def test_excerpts_stand_behind_the_last_message_of_the_request_only(
    client: Client, talk: tuple[Talk, MessagesApi]
) -> None:
    said, api = talk
    await said.start({"system": "Be brief.", "policy": POLICY})
    await said.ask("Nothing has been said yet, so nothing is recalled.")
    assert len(blocks(api.asked[-1])) == 1
    messages = [{"role": "user", "content": TOLD}, {"role": "assistant", "content": "Noted."}]
    for number in range(12):
        messages.append({"role": "user", "content": f"{number}: We walked along the river. " * 6})
        messages.append({"role": "assistant", "content": "And talked about boats. " * 6})
    await said.facade.import_messages(messages)
    api.requests.clear()
    api.script(text("QX-4711."))

    await said.ask("Which code has the garden gate?")
    [request] = [r for r in api.requests if not is_summary(r)]
    *_, question, recalled = blocks(request)
    assert question == "Which code has the garden gate?"
    assert recalled.startswith(OPENING)
    assert TOLD in recalled
    # The mark of the cache stands before it: the next request has other excerpts.
    *_, marked, last = request["messages"][-1]["content"]
    assert "cache_control" in marked
    assert "cache_control" not in last
    # It is nowhere but in that request.
    assert OPENING not in await said.query("context_text")
    assert OPENING not in str([m.model_dump() async for m in said.facade.transcript()])
    assert OPENING not in str((await said.facade.context(at=2))["messages"])
    assert await check_contexts(said.facade, client) == 2
    assert (await said.status())["totals"]["reply_usage"]["input"] > 0

    await said.update("configure", {"policy": {"recall_share": None}})
    await said.ask("And which code has the garden gate?")
    assert blocks(api.asked[-1])[-1] == "And which code has the garden gate?"


async def test_what_does_not_fit_the_window_is_not_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("activities.recalling.recall")
    archive = cast("Archive", None)
    wanted = {"tokens": 10_000, "before": 7, "chain": "any"}
    asked = Context(system="", messages=[{"role": "user", "content": [WORDS]}], tokens=1)
    least = LEAST_TOKENS + FRAME_TOKENS
    assert await background(archive, wanted, asked, least - 1) == Background()
    assert await background(archive, wanted | {"before": 0}, asked, 500) == Background()
    silent = asked.model_copy(update={"messages": []})
    assert await background(archive, wanted, silent, 500) == Background()


async def test_without_the_archive_the_reply_goes_on(
    talk: tuple[Talk, MessagesApi], monkeypatch: pytest.MonkeyPatch
) -> None:
    said, api = talk

    async def away(*_: object, **__: object) -> None:
        raise ArchiveUnavailable("The archive's database is away.")

    monkeypatch.setattr("activities.recalling.recall", away)
    await said.start({"system": "Be brief.", "policy": POLICY})
    await said.facade.import_messages([{"role": "user", "content": TOLD * 40}] * 4)
    await said.ask("Which code has the garden gate?")
    assert blocks(api.asked[-1])[-1] == "Which code has the garden gate?"
