"""A tool call waits for a yes or a no, however long that takes, and holds nothing else up."""

import asyncio
from typing import Any

import pytest

from perdure.contract import AWAITING_APPROVAL, INTERRUPTED
from tests.support.requests import violations
from tests.support.talk import Talk, until
from tests.support.tools import FakeTool, call
from tests.workflows.test_tools import check_requests, results, said

TOOLS = {"tools": ["send", "look"]}


async def waiting(talk: Talk, number: int) -> list[dict[str, Any]]:
    """The calls that wait, as soon as there are so many."""

    async def reached() -> bool:
        return len((await talk.status())["awaiting"]) == number

    await until(reached)
    found: list[dict[str, Any]] = (await talk.status())["awaiting"]
    return found


async def approve(talk: Talk, id_: str, approved: bool = True, **more: Any) -> None:
    await talk.signal("approve", {"tool_use_id": id_, "approved": approved, **more})


@pytest.mark.parametrize("per_run", [None, 1], ids=["one run", "many runs"])
async def test_an_approved_call_is_carried_out_once(talk: Talk, per_run: int | None) -> None:
    talk.script.tools.update(send=FakeTool(approval="ask"), look=FakeTool())
    talk.script.replies.extend([[call("s", "send", to="Ines" * 200), call("l")], "Sent."])
    await talk.start(TOOLS if per_run is None else {**TOOLS, "turns_per_run": per_run})
    receipt = await talk.update("ask", {"content": "Send it.", "id": "m"})
    assert receipt == {"message_id": "m", "turn": 1, "stop_reason": AWAITING_APPROVAL}
    # Asked again with its id it leaves again, and what is sent meanwhile is queued.
    assert await talk.update("ask", {"content": "Send it.", "id": "m"}) == receipt
    await talk.say("And another thing.")
    [shown] = await waiting(talk, 1)
    assert (shown["tool_use_id"], shown["name"]) == ("s", "send")
    assert shown["input"].startswith('{"to":"InesInes')
    assert len(shown["input"]) == 500
    assert shown["since"]
    await talk.queued(1)

    async def carried_out() -> bool:
        return talk.script.called == [("look", {})]

    await until(carried_out)
    assert (await talk.status())["running"] == "approval"
    if per_run is not None:
        # The reply, its call that may run: each has been the end of a run; then it waits.
        await until(lambda: _runs(talk, 3))
    await approve(talk, "s")
    await talk.turns(2)
    assert [name for name, _ in talk.script.called] == ["look", "send"]
    assert await talk.update("ask", {"content": "Send it.", "id": "m"}) == {
        "message_id": "m",
        "turn": 1,
        "reply_seq": 3,
        "stop_reason": "end_turn",
    }
    assert [[r["tool_use_id"] for r in answers] for answers in await results(talk)] == [["s", "l"]]
    assert await talk.errors() == []
    await check_requests(talk)


async def _runs(talk: Talk, number: int) -> bool:
    return bool((await talk.status())["totals"]["runs"] >= number)


async def test_a_denied_call_is_answered_with_the_note(talk: Talk) -> None:
    talk.script.tools["send"] = FakeTool(approval="ask")
    talk.script.replies.extend([[call("a", "send"), call("b", "send")], "Understood."])
    await talk.start(TOOLS)
    await talk.say("Send it.")
    await waiting(talk, 2)
    await approve(talk, "b", approved=False, note="not on a Sunday")
    await waiting(talk, 1)
    await approve(talk, "a", approved=False)
    await talk.turns(1)
    [answers] = await results(talk)
    assert [said(r) for r in answers] == [
        "the user has denied this call",
        "the user has denied this call: not on a Sunday",
    ]
    assert all(r["is_error"] for r in answers)
    assert talk.script.called == []
    assert (await talk.query("reply"))["text"] == "Understood."
    await check_requests(talk)


async def test_a_call_that_nobody_answers_is_denied_after_a_while(talk: Talk) -> None:
    talk.script.tools["send"] = FakeTool(approval="ask")
    talk.script.replies.append([call("a", "send")])
    await talk.start({**TOOLS, "approval_timeout": 1})
    await talk.say("Send it.")
    await talk.turns(1)
    [[answer]] = await results(talk)
    assert "there was no answer in time" in said(answer)
    await approve(talk, "a")
    await talk.noted("signal approve: no tool call 'a' waits for an approval")
    assert talk.script.called == []
    await check_requests(talk)


async def test_an_interrupt_denies_what_waits(talk: Talk) -> None:
    talk.script.tools.update(send=FakeTool(approval="ask"), look=FakeTool())
    talk.script.replies.append([call("a", "send"), call("b")])
    await talk.start({**TOOLS, "turns_per_run": 1})
    await talk.say("Send it.")
    await waiting(talk, 1)
    await talk.signal("interrupt")
    await talk.turns(1)
    [answers] = await results(talk)
    assert said(answers[0]) == "interrupted before the call was carried out"
    assert (await talk.query("reply"))["stop_reason"] == INTERRUPTED
    assert (await talk.ask("go on")).text.endswith("go on")
    await check_requests(talk)


@pytest.mark.parametrize(
    ("approval", "config", "always", "asked"),
    [
        ("ask", {}, False, 2),
        ("ask", {}, True, 1),
        ("remember", {}, False, 1),
        ("always", {"send": "ask"}, False, 2),
        ("ask", {"send": "always"}, False, 0),
        ("remember", {"send": "never"}, False, 0),
    ],
)
async def test_the_policy_of_a_tool_and_the_configuration_say_what_is_asked(
    talk: Talk, approval: Any, config: dict[str, str], always: bool, asked: int
) -> None:
    talk.script.tools["send"] = FakeTool(approval=approval)
    talk.script.replies.extend([[call("a", "send")], [call("b", "send")], "done"])
    per_run = {"turns_per_run": 2} if asked == 1 else {}
    await talk.start({**TOOLS, "approvals": config, **per_run})
    await talk.say("Send both.")
    for id_ in ["a", "b"][:asked]:

        async def waits(id_: str = id_) -> bool:
            return [w["tool_use_id"] for w in (await talk.status())["awaiting"]] == [id_]

        await until(waits)
        await approve(talk, id_, always=always)
    await talk.turns(1)
    never = "never" in config.values()
    assert len(talk.script.called) == (0 if never else 2)
    if never:
        assert "may not be used" in said((await results(talk))[0][0])
    await check_requests(talk)


@pytest.mark.parametrize(("approval", "always"), [("ask", True), ("remember", False)])
async def test_a_yes_that_lasts_is_one_to_all_calls_of_the_tool_that_wait(
    talk: Talk, approval: Any, always: bool
) -> None:
    talk.script.tools.update(send=FakeTool(approval=approval), look=FakeTool(approval="ask"))
    talk.script.replies.append([call("a", "send"), call("l"), call("b", "send")])
    await talk.start(TOOLS)
    await talk.say("Send both.")
    await waiting(talk, 3)
    await approve(talk, "b", always=always)
    [left] = await waiting(talk, 1)
    assert left["tool_use_id"] == "l"
    await approve(talk, "l", approved=False)
    await talk.turns(1)
    assert [name for name, _ in talk.script.called] == ["send", "send"]
    assert await talk.errors() == []


async def test_a_new_rule_is_taken_while_a_call_waits_and_forgets_what_was_remembered(
    talk: Talk,
) -> None:
    talk.script.tools["send"] = FakeTool(approval="remember")
    talk.script.replies.extend([[call("a", "send")], [call("b", "send")], "done"])
    await talk.start(TOOLS)
    await talk.say("Send both.")
    await waiting(talk, 1)
    await approve(talk, "a")
    await talk.turns(1)
    talk.script.replies.extend([[call("c", "send")], "done"])
    await talk.update("configure", {"approvals": {"send": "ask"}})
    await talk.say("One more.")
    await waiting(talk, 1)
    changed = await talk.update("configure", {"approvals": {"send": "never"}})
    assert changed["approvals"] == {"send": "never"}
    # The rule is for the calls to come.
    await approve(talk, "c")
    await talk.turns(2)
    assert len(talk.script.called) == 3


async def test_messages_and_a_compaction_while_a_call_waits(talk: Talk) -> None:
    """O4: the cut never passes an open call, and nothing that was said meanwhile is lost."""
    talk.script.tools["send"] = FakeTool(approval="ask")
    await talk.start({**TOOLS, "policy": {"message_budget": 400, "observe_chunk": 200}})
    for number in range(4):
        await talk.ask(f"before {number}: " + "word " * 60)
    talk.script.replies.append([call("a", "send")])
    await talk.say("Send it.")
    await waiting(talk, 1)
    await talk.signal("compact")
    for number in range(5):
        await talk.say(f"meanwhile {number}: " + "word " * 60)
    await talk.queued(5)
    await approve(talk, "a")
    await talk.turns(10)
    step = next(r for r in talk.script.requests if "tool_result" in str(r))
    assert "found {}" in str(step["messages"][-1])
    asked = [str(r["messages"][-1]) for r in talk.script.requests]
    for number in range(5):
        assert sum(f"meanwhile {number}" in text for text in asked) == 1
    await check_requests(talk)


WRONG: list[tuple[Any, str]] = [
    (None, "approve takes an object"),
    ("a", "approve takes an object"),
    ({}, "approve tool_use_id: field required"),
    ({"tool_use_id": "a"}, "approve approved: field required"),
    ({"tool_use_id": "a", "approved": "yes"}, "approve approved: input should be a valid boolean"),
    ({"tool_use_id": 5, "approved": True}, "approve tool_use_id: input should be a valid string"),
    ({"tool_use_id": "a", "approved": True, "why": ""}, "approve has no field 'why'"),
    ({"tool_use_id": "a", "approved": False, "note": "x" * 10_001}, "approve note: string should"),
    ({"tool_use_id": "b", "approved": True}, "no tool call 'b' waits for an approval"),
]


async def test_an_approval_that_is_wrong_is_noted(talk: Talk) -> None:
    talk.script.tools["send"] = FakeTool(approval="ask")
    talk.script.replies.append([call("a", "send")])
    await talk.start(TOOLS)
    # Before the call exists.
    await approve(talk, "a")
    await talk.noted("no tool call 'a' waits for an approval; `status` lists those")
    await talk.say("Send it.")
    await waiting(talk, 1)
    for payload, words in WRONG:
        await talk.signal("approve", payload)
        await talk.noted(f"signal approve: {words}")
    assert talk.script.called == []
    await approve(talk, "a", approved=False)
    await approve(talk, "a")
    await talk.turns(1)
    assert talk.script.called == []
    for request in talk.script.requests:
        assert violations({"system": "-", "messages": request["messages"]}) == []


async def test_a_yes_to_one_call_starts_it_while_another_runs(talk: Talk) -> None:
    gate = asyncio.Event()

    async def slow(given: dict[str, Any]) -> str:
        await gate.wait()
        return "slow"

    async def sent(given: dict[str, Any]) -> str:
        gate.set()
        return "sent"

    talk.script.tools.update(send=FakeTool(sent, approval="ask"), look=FakeTool(slow))
    talk.script.replies.append([call("a"), call("b", "send")])
    await talk.start(TOOLS)
    assert (await talk.update("ask", "Both."))["stop_reason"] == AWAITING_APPROVAL
    await approve(talk, "b")
    await talk.turns(1)
    [answers] = await results(talk)
    assert [said(r) for r in answers] == ["slow", "sent"]
