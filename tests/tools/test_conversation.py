"""Tools in a real conversation: through the provider, the workflow, the activity and back."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from temporalio.client import Client

from perdure.contract import AWAITING_APPROVAL
from perdure.conversation import Conversation
from perdure.errors import TurnFailed
from perdure.memory.blocks import to_text
from tests.cli.conftest import Cli, cli
from tests.support.answers import Answer, blocks, text, wrong_key
from tests.support.messages_api import MessagesApi
from tests.support.talk import soon
from tests.tools import desk as shop
from tests.tools.conftest import QUEUE
from worker import replay

__all__ = ["cli"]


def calls(*names: str, **given: Mapping[str, object]) -> Answer:
    """A reply that calls each tool, under its name as the id."""
    return blocks(
        {"type": "text", "text": "Let me see."},
        *(
            {"type": "tool_use", "id": f"id_{name}", "name": name, "input": given.get(name, {})}
            for name in names
        ),
    )


def results(api: MessagesApi) -> dict[str, dict[str, Any]]:
    """The results in the last message of the last request, by the names of their tools."""
    content = api.asked[-1]["messages"][-1]["content"]
    return {block["tool_use_id"].removeprefix("id_"): block for block in content}


async def test_parallel_calls_run_side_by_side_and_are_answered_in_call_order(
    api: MessagesApi, desk: Conversation
) -> None:
    first, second = (
        {"type": "tool_use", "id": f"id_{first}", "name": "meet", "input": {"first": first}}
        for first in (True, False)
    )
    api.script(blocks(first, second), text("They have met."))
    reply = await soon(desk.ask("Let them meet."))
    assert reply.text == "They have met."
    asked, answered = api.asked[-2:]
    assert asked["tools"] == answered["tools"]
    names = [each["name"] for each in asked["tools"]]
    assert names == sorted(names)
    assert {"now", "expand", "remember", "meet"} <= set(names)
    content = answered["messages"][-1]["content"]
    assert [to_text(block["content"]) for block in content] == ["first", "second"]


async def test_whatever_a_tool_does_the_model_gets_a_result_and_the_talk_goes_on(
    api: MessagesApi, desk: Conversation, client: Client
) -> None:
    names = ["flaky", "hangs", "breaks", "refuses", "report", "photograph", "dirty", "strange"]
    names += ["measure", "refund", "nothing", "remember", "now"]
    given: dict[str, dict[str, Any]] = {
        "measure": {"text": "x" * 50_000},
        "refund": {"number": "HM", "euros": 0},
        "remember": {"text": "The oven is HM-48213."},
    }
    before = len(shop.effects)
    api.script(calls(*names, **given), text("I have seen it all."))
    assert (await soon(desk.ask("Do everything."))).text == "I have seen it all."

    found = results(api)
    assert list(found) == names
    told = {name: to_text([block]) for name, block in found.items()}
    wrong = {name for name, block in found.items() if block.get("is_error")}
    assert wrong == {"hangs", "breaks", "refuses", "strange", "refund", "nothing"}
    assert told["flaky"] == "[result: 2]"
    assert "took too long" in told["hangs"]
    assert "breaks failed with OSError: the disk is full" in told["breaks"]
    assert told["refuses"] == "[error: the shop is closed]"
    assert told["dirty"] == "[result: a\ufffdb\ufffd]"
    assert "is not JSON" in told["strange"]
    assert told["measure"] == "[result: 50000]"
    assert "refund was not called: the argument euros" in told["refund"]
    assert "there is no tool 'nothing'" in told["nothing"]
    assert len(set(shop.effects[before:])) == 1
    assert len(shop.effects[before:]) == 2

    assert "MARK-START" in told["report"]
    assert "MARK-END" in told["report"]
    assert "MARK-MIDDLE" not in told["report"]
    assert "left out here" in told["report"]
    (picture,) = found["photograph"]["content"]
    assert picture["source"]["media_type"] == "image/png"

    status = await desk.status()
    # The picture weighs 1,000, the report its head and tail; the 50,000 characters are the most.
    assert status["context_tokens"] < 40_000
    assert (await soon(desk.ask("And now?"))).text == "Reply to: And now?"
    sent = json.dumps(api.asked[-1]["messages"][0])
    assert "The oven is HM-48213." in sent
    transcript = [m.text async for m in desk.transcript(expand=True)]
    assert any("MARK-MIDDLE" in message for message in transcript)
    assert (await replay(client, desk.id)).identical


async def test_big_arguments_keep_to_their_calls_when_one_id_comes_twice(
    api: MessagesApi, desk: Conversation
) -> None:
    for size in (50_000, 60_000):
        api.script(calls("measure", measure={"text": "x" * size}))
    api.script(text("Measured twice."))
    assert (await soon(desk.ask("Measure."))).text == "Measured twice."
    sent = [block for message in api.asked[-1]["messages"] for block in message["content"]]
    used = {b["id"]: len(b["input"]["text"]) for b in sent if b["type"] == "tool_use"}
    told = {b["tool_use_id"]: to_text([b]) for b in sent if b["type"] == "tool_result"}
    assert told == {id_: f"[result: {size}]" for id_, size in used.items()}
    assert sorted(used.values()) == [50_000, 60_000]


async def test_the_model_finds_what_was_said_and_summarised(
    api: MessagesApi, desk: Conversation
) -> None:
    told = [
        {"role": role, "content": f"{said} {number}. {'And so on. ' * 60}"}
        for number in range(12)
        for role, said in (("user", "Tray"), ("assistant", "Noted"))
    ]
    told[3]["content"] = "The oven is reserved under HM-48213."
    api.script(calls("recall", recall={"question": "Which oven?"}), text("Nothing yet."))
    await soon(desk.ask("Which oven?"))
    assert "Nothing has left the context yet" in to_text([results(api)["recall"]])

    await desk.configure(policy={"message_budget": 500, "keep_recent": 100})
    await desk.import_messages(told)
    entry = (await desk.memory())["observations"][0]
    api.script(
        calls("recall", "expand", recall={"question": "Which oven?"}, expand={"what": entry["id"]}),
        text("HM-48213."),
    )
    await soon(desk.ask("Which oven did I reserve?"))
    found = {name: to_text([block]) for name, block in results(api).items()}
    assert "The oven is reserved under HM-48213." in found["recall"]
    assert found["expand"].startswith(f"[result: {entry['first_seq']} ")


async def test_a_search_of_the_provider_that_was_given_up_holds_nothing_up(
    api: MessagesApi, desk: Conversation
) -> None:
    """Its call has no result, and the API refuses it as soon as the user has spoken again."""
    query = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    searching = blocks({"type": "text", "text": "I search."}, query, stop_reason="pause_turn")
    api.script(searching.but(usage={"server_tool_use": {"web_search_requests": 1}}), wrong_key())
    with pytest.raises(TurnFailed):
        await soon(desk.ask("Search for ovens."))
    assert api.asked[-1]["messages"][-1]["content"][-1] == query
    assert shop.search.definition in api.asked[-1]["tools"]
    assert (await soon(desk.ask("Never mind."))).text == "Reply to: Never mind."
    sent = [b["type"] for m in api.asked[-1]["messages"] for b in m["content"]]
    assert sent == ["text", "text", "text"]
    totals = (await desk.status())["totals"]["reply_usage"]
    assert totals["searches"] == 1


async def test_a_null_argument_arrives(api: MessagesApi, desk: Conversation) -> None:
    api.script(calls("measure", measure={"text": None}), text("Nothing there."))
    await soon(desk.ask("Measure nothing."))
    assert to_text([results(api)["measure"]]) == "[result: -1]"


async def test_an_approval_is_asked_shown_and_given_from_the_command_line(
    api: MessagesApi, desk: Conversation, cli: Cli
) -> None:
    async def command(*arguments: str) -> Any:
        return await cli(*arguments, PERDURE_TASK_QUEUE=QUEUE)

    one, two = (
        {
            "type": "tool_use",
            "id": f"id_{euros}",
            "name": "refund",
            "input": {"number": "HM-48213", "euros": euros},
        }
        for euros in (20, 30)
    )
    api.script(blocks(one, two), text("One was paid."))
    before = len(shop.effects)
    waiting = await soon(desk.ask("Pay twice."))
    assert (waiting.stop_reason, waiting.text) == (AWAITING_APPROVAL, "")
    assert [call["tool_use_id"] for call in waiting.awaiting] == ["id_20", "id_30"]
    assert json.loads(waiting.awaiting[0]["input"]) == {"number": "HM-48213", "euros": 20}
    assert len(shop.effects) == before

    status, unclear, unknown = await asyncio.gather(
        command("status", desk.id),
        command("approve", desk.id),
        command("approve", desk.id, "id_7"),
    )
    assert "waiting for an approval" in status.text
    assert "id_20" in status.text
    assert unclear.error == "2 tool calls wait; name one of them: id_20 (refund), id_30 (refund)"
    assert "no tool call 'id_7' waits" in unknown.error
    approved = await command("approve", desk.id, "id_20", "--json")
    assert (approved.json["tool_use_id"], approved.json["approved"]) == ("id_20", True)
    denied = await command("approve", desk.id, "--deny", "--note", "once is enough")
    assert denied.text == 'denied refund {"euros":30,"number":"HM-48213"}\n'

    reply = await soon(desk.ask("Pay twice.", id=waiting.message_id))
    assert reply.text == "One was paid."
    content = api.asked[-1]["messages"][-1]["content"]
    assert to_text(content[:1]) == "[result: 20 euros are on their way]"
    assert "denied this call: once is enough" in to_text(content[1:])
    assert len(shop.effects) == before + 1
    assert (await command("approve", desk.id)).error == "no tool call waits for an approval"


async def test_a_tool_that_the_worker_has_not_fails_the_turn_and_names_those_it_has(
    api: MessagesApi, desk: Conversation
) -> None:
    assert (await soon(desk.ask("Hello."))).text == "Reply to: Hello."
    everything = (await desk.status())["context_tokens"]
    await desk.configure(tools=["now", "weather"])
    with pytest.raises(TurnFailed) as failed:
        await soon(desk.ask("How is the weather?"))
    assert "this worker has no tool 'weather'; it has breaks, dirty, expand" in str(failed.value)
    assert str(failed.value) in (await desk.status())["last_error"]["text"]

    await desk.configure(tools=["now"], approvals={"refnd": "ask"})
    with pytest.raises(TurnFailed, match=r"no tool 'refnd'; .* change the conversation's `appr"):
        await soon(desk.ask("Pay it back."))

    await desk.configure(approvals={"refund": "ask"})
    assert (await soon(desk.ask("And now?"))).text == "Reply to: And now?"
    assert [each["name"] for each in api.asked[-1]["tools"]] == ["now"]
    fewer = (await desk.status())["context_tokens"]
    assert 522 < fewer < everything
    await desk.configure(tools=[])
    await soon(desk.ask("Bye."))
    assert "tools" not in api.asked[-1]
    assert (await desk.status())["context_tokens"] < fewer
