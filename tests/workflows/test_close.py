"""The end of a conversation, and what can still be had from it."""

import asyncio
import uuid
from datetime import timedelta

import pytest
from temporalio.client import Client

from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.errors import (
    ConversationClosed,
    ConversationExists,
    ConversationNotFound,
    Refused,
)
from perdure.memory.session import Session
from tests.support.scripted import lasting
from tests.support.talk import Talk, soon, texts
from workflows import ending


async def test_the_result_is_a_summary_of_what_was_still_verbatim(talk: Talk) -> None:
    await talk.start()
    for number in range(5):
        await talk.ask(f"number {number}: " + "word " * 40)
    result = await talk.close()
    assert result["summary"].startswith("[Summary 2")
    assert result["summary"].endswith("Notes on the messages 0 to 9.")
    assert (result["turns"], result["messages"], result["compactions"]) == (5, 10, 1)
    assert await talk.handle.result() == result


async def test_a_short_conversation_is_its_own_summary(talk: Talk) -> None:
    await talk.start()
    await talk.ask("hello")
    assert (await talk.close())["summary"] == "user: hello\n\nassistant: I heard: hello"


async def test_a_conversation_without_messages_can_be_closed(talk: Talk) -> None:
    await talk.start()
    ended = await talk.close()
    assert {name: value for name, value in ended.items() if value} == {}
    assert ended.keys() == Session.model_fields.keys()


async def test_what_was_sent_before_is_served_and_what_comes_later_refused(talk: Talk) -> None:
    await talk.start()
    talk.script.reply_gate.clear()
    await talk.say("one")
    await asyncio.wait_for(talk.script.reply_asked.wait(), 10)
    asking = asyncio.ensure_future(talk.ask("two"))
    await talk.queued(1)
    await talk.say("three")
    await talk.queued(2)
    await talk.signal("close")
    with pytest.raises(Refused, match="the conversation is closing"):
        await talk.ask("four")
    await talk.say("five")
    await talk.signal("close")
    await talk.noted("the conversation is closing and takes no more messages")
    assert (await talk.status())["closing"] is True
    talk.script.reply_gate.set()
    assert (await asking).text == "I heard: two"
    result = await soon(talk.handle.result())
    assert result["turns"] == 3
    asked = [texts(request["messages"])[-1] for request in talk.script.requests]
    assert asked == ["one", "two", "three"]


async def test_a_closed_conversation_says_so_and_still_answers_queries(talk: Talk) -> None:
    await talk.start()
    await talk.ask("hello")
    await talk.close()
    for call in (
        lambda: talk.facade.ask("more"),
        lambda: talk.facade.send("more"),
        lambda: talk.facade.compact(),
        lambda: talk.facade.close(),
        lambda: talk.facade.import_messages([{"role": "user", "content": "more"}]),
    ):
        with pytest.raises(ConversationClosed, match="has ended"):
            await soon(call())
    closed = await Conversation.get(talk.client, talk.id, task_queue=talk.queue)
    assert (await closed.reply()).text == "I heard: hello"
    assert (await closed.context())["turn"] == 1
    assert "user: hello" in await closed.context_text()
    assert (await closed.status())["turn"] == 1
    assert (await closed.memory())["next_seq"] == 2
    assert [m.text async for m in closed.transcript()] == ["hello", "I heard: hello"]


async def test_an_unknown_conversation_is_never_a_blank_one(
    client: Client, offline_worker: None
) -> None:
    id_ = f"nobody-{uuid.uuid4().hex[:8]}"
    with pytest.raises(ConversationNotFound):
        await Conversation.get(client, id_)
    nobody = Conversation(client, id_)
    for call in (
        lambda: nobody.ask("hello"),
        lambda: nobody.send("hello"),
        lambda: nobody.context(),
        lambda: nobody.status(),
        lambda: nobody.reply(),
        lambda: nobody.close(),
        lambda: nobody.compact(),
        lambda: nobody.import_messages([{"role": "user", "content": "hello"}]),
    ):
        with pytest.raises(ConversationNotFound, match=id_):
            await soon(call())


async def test_a_configuration_is_only_for_a_new_conversation(talk: Talk) -> None:
    config = ConversationConfig(title="first")
    await Conversation.open(talk.client, talk.id, config, task_queue=talk.queue)
    assert (await talk.status())["title"] == "first"
    again = await Conversation.open(talk.client, talk.id, task_queue=talk.queue)
    assert (await again.status())["title"] == "first"
    with pytest.raises(ConversationExists, match="runs already"):
        await Conversation.open(talk.client, talk.id, config, task_queue=talk.queue)


async def test_closing_cannot_fail_for_want_of_a_model(talk: Talk) -> None:
    await talk.start()
    for number in range(4):
        await talk.ask(f"number {number}: " + "word " * 40)
    talk.script.summarise = lambda ref, sources: (
        "An extract." if ref.extractive else lasting("no key")
    )
    result = await talk.close()
    assert result["summary"].endswith("An extract.")


async def test_closing_with_no_summary_at_all_still_ends(talk: Talk) -> None:
    await talk.start()
    await talk.ask("number one: " + "word " * 100)
    talk.script.summarise = lambda ref, sources: lasting("everything is broken")
    result = await talk.close()
    assert "number one" in result["summary"]
    assert result["compactions"] == 0


async def test_closing_does_not_wait_for_a_summariser_that_hangs(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "LAST_SUMMARY", timedelta(seconds=0.3))
    await talk.start()
    await talk.ask("number one: " + "word " * 100)
    talk.script.summary_gate.clear()
    result = await talk.close()
    assert "number one" in result["summary"]
    assert result["messages"] == 2
