"""A turn with tools: every call gets its one result, whatever becomes of it."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from perdure.contract import INTERRUPTED, STEP_LIMIT, ReplyResult, ToolCall
from perdure.memory.blocks import Block
from perdure.memory.groups import pairing_fault
from perdure.memory.message import Message
from perdure.memory.state import Memory, append
from tests.support.requests import violations
from tests.support.talk import Talk, texts
from tests.support.tools import FakeTool, call
from workflows.calls import without_open_calls
from workflows.turn import FRUITLESS

TOOLS = {"tools": ["look"]}


async def check_requests(talk: Talk) -> None:
    """Every request that was made, and the next one, keep the rules of the API."""
    for request in talk.script.requests:
        assert violations({"system": "-", "messages": request["messages"]}) == []
    await talk.check_context()
    await talk.check_tiling()


async def results(talk: Talk) -> list[list[Block]]:
    """The tool results of each message that has some."""
    found = [m["content"] for m in await talk.query("transcript") if m["role"] == "user"]
    kept = [[b for b in content if b["type"] == "tool_result"] for content in found]
    return [content for content in kept if content]


def said(result: Block) -> str:
    text: str = result["content"][0]["text"]
    return text


async def test_a_call_is_carried_out_and_its_result_answered(talk: Talk) -> None:
    talk.script.tools["look"] = FakeTool()
    talk.script.replies.extend([[call("a", page=3)], "It is there."])
    await talk.start(TOOLS)
    receipt = await talk.update("ask", "Where is it?")
    assert receipt == {"message_id": "#1", "turn": 1, "reply_seq": 3, "stop_reason": "end_turn"}
    assert (await talk.query("reply"))["text"] == "It is there."
    assert talk.script.called == [("look", {"page": 3})]
    [[result]] = await results(talk)
    assert result == {
        "type": "tool_result",
        "tool_use_id": "a",
        "content": [{"type": "text", "text": "found {'page': 3}"}],
    }
    assert (await talk.status())["totals"]["reply_usage"]["output"] == 20
    await check_requests(talk)


@pytest.mark.parametrize("number", [5, 30])
async def test_parallel_calls_that_end_in_reverse_are_answered_in_one_message_in_call_order(
    talk: Talk, number: int
) -> None:
    """O3."""
    started: list[int] = []
    ended: list[int] = []
    gates = [asyncio.Event() for _ in range(number + 1)]

    async def reversed_(given: dict[str, Any]) -> str:
        n = given["n"]
        started.append(n)
        if len(started) == number:
            gates[number].set()
        await gates[n + 1].wait()
        ended.append(n)
        gates[n].set()
        return f"result {n} " + "x" * (5_000 if n == 0 else 200)

    talk.script.tools["look"] = FakeTool(reversed_)
    talk.script.replies.append([call(f"c{n}", n=n) for n in range(number)])
    await talk.start({**TOOLS, "policy": {"message_budget": 1_500, "observe_chunk": 500}})
    await talk.ask("Look everywhere.")
    assert ended == list(reversed(range(number)))
    [answers] = await results(talk)
    assert [r["tool_use_id"] for r in answers] == [f"c{n}" for n in range(number)]
    assert [said(r).split()[1] for r in answers] == [str(n) for n in range(number)]
    for n in range(4):
        await talk.ask(f"number {n}: " + "word " * 100)
    await check_requests(talk)


async def test_calls_that_fail_in_every_way_get_an_error_and_the_others_their_result(
    talk: Talk,
) -> None:
    """O2."""

    async def failing(given: dict[str, Any]) -> str:
        raise ApplicationError(f"no page {given['n']}\0", non_retryable=True)

    async def hanging(given: dict[str, Any]) -> str:
        await asyncio.Event().wait()
        return "never"

    talk.script.tools.update(
        look=FakeTool(), fail=FakeTool(failing), hang=FakeTool(hanging, timeout_s=1)
    )
    calls = [call("a"), call("b", "fail", n=7), call("c", "hang"), call("d", "what")]
    talk.script.replies.append([{"type": "text", "text": "Let me see."}, *calls])
    await talk.start({"tools": ["look", "fail", "hang"]})
    reply = await talk.ask("hello")
    assert reply.stop_reason == "end_turn"
    [answers] = await results(talk)
    assert [r.get("is_error", False) for r in answers] == [False, True, True, True]
    assert said(answers[1]) == "the tool failed: no page 7\ufffd"
    assert said(answers[2]).startswith("the tool took too long and was given up")
    assert said(answers[3]) == "there is no tool 'what'"
    for _ in range(2):
        await talk.ask("go on")
    await check_requests(talk)


async def test_a_call_that_fails_is_tried_again_as_often_as_its_tool_says(talk: Talk) -> None:
    tries: list[int] = []

    async def twice(given: dict[str, Any]) -> str:
        tries.append(1)
        if len(tries) < 2:
            raise ConnectionError("the line is busy")
        return "at last"

    talk.script.tools["look"] = FakeTool(twice, attempts=2)
    talk.script.replies.append([call("a")])
    await talk.start(TOOLS)
    assert "at last" in (await talk.ask("hello")).text


async def test_two_calls_with_one_id_are_two_calls(talk: Talk) -> None:
    talk.script.tools["look"] = FakeTool()
    talk.script.replies.extend([[call("a", n=1), call("a", n=2)], [call("a", n=3)], "done"])
    await talk.start(TOOLS)
    assert (await talk.ask("hello")).text == "done"
    assert [[r["tool_use_id"] for r in answers] for answers in await results(talk)] == [
        ["a", "a-2"],
        ["a-3"],
    ]
    assert [given["n"] for _, given in sorted(talk.script.called, key=str)] == [1, 2, 3]
    await check_requests(talk)


async def test_a_reply_that_tells_nothing_of_its_calls_has_none_carried_out(talk: Talk) -> None:
    """As from a worker of an earlier version."""
    talk.script.tools["look"] = FakeTool()
    blind = ReplyResult(content=[call("a"), call("b")], calls=[ToolCall(id="b")])
    talk.script.replies.extend([blind, ReplyResult(content=[call("c")]), "done"])
    await talk.start(TOOLS)
    assert (await talk.ask("hello")).text == "done"
    assert talk.script.called == []
    assert all("there is no tool 'look'" in said(r) for [r, *_] in await results(talk))
    await check_requests(talk)


async def test_a_model_that_only_calls_what_does_not_exist_is_stopped(talk: Talk) -> None:
    talk.script.replies.extend([call(f"c{n}")] for n in range(FRUITLESS + 5))
    await talk.start()
    assert (await talk.ask("hello")).stop_reason == STEP_LIMIT
    assert len(talk.script.requests) == FRUITLESS
    talk.script.replies.clear()
    assert (await talk.ask("and now?")).text.endswith("and now?")
    await check_requests(talk)


async def test_an_interrupt_stops_parallel_tools_at_once(talk: Talk) -> None:
    begun = asyncio.Semaphore(0)

    async def hanging(given: dict[str, Any]) -> str:
        begun.release()
        await asyncio.Event().wait()
        return "never"

    talk.script.tools.update(look=FakeTool(), hang=FakeTool(hanging))
    talk.script.replies.append([call("a"), call("b", "hang"), call("c", "hang")])
    await talk.start({"tools": ["look", "hang"]})
    asking = asyncio.ensure_future(talk.update("ask", "hello"))
    for _ in range(2):
        await asyncio.wait_for(begun.acquire(), 20)
    await talk.signal("interrupt")
    assert await asking == {
        "message_id": "#1",
        "turn": 1,
        "reply_seq": 1,
        "stop_reason": INTERRUPTED,
    }
    [answers] = await results(talk)
    assert [said(r).startswith(INTERRUPTED) for r in answers[1:]] == [True, True]
    assert (await talk.ask("go on")).text.endswith("go on")
    assert len(talk.script.requests) == 2
    await check_requests(talk)


async def test_messages_that_arrive_during_a_call_wait_for_their_turn(talk: Talk) -> None:
    """O4."""
    gate, begun = asyncio.Event(), asyncio.Event()

    async def slow(given: dict[str, Any]) -> str:
        begun.set()
        await gate.wait()
        return "here at last"

    talk.script.tools["look"] = FakeTool(slow)
    talk.script.replies.append([call("a")])
    await talk.start({**TOOLS, "policy": {"message_budget": 400, "observe_chunk": 200}})
    await talk.say("Look for it.")
    await asyncio.wait_for(begun.wait(), 20)
    for number in range(6):
        await talk.say(f"number {number}: " + "word " * 60)
    await talk.queued(6)
    gate.set()
    await talk.turns(7)
    assert "here at last" in str(talk.script.requests[1]["messages"][-1])
    assert "number" not in str(talk.script.requests[1])
    assert (await talk.status())["totals"]["compactions"] >= 1
    await check_requests(talk)


async def test_messages_join_the_next_step_if_they_may(talk: Talk) -> None:
    gate, begun = asyncio.Event(), asyncio.Event()

    async def slow(given: dict[str, Any]) -> str:
        begun.set()
        await gate.wait()
        return "found"

    talk.script.tools["look"] = FakeTool(slow)
    talk.script.replies.extend([[call("a"), call("b")], "Both, then."])
    await talk.start({**TOOLS, "steering": "next_step", "turns_per_run": 1})
    await talk.say("Look for the key.")
    await asyncio.wait_for(begun.wait(), 20)
    asking = asyncio.ensure_future(talk.ask("And for the lamp.", id="lamp"))
    await talk.queued(1)
    gate.set()
    reply = await asking
    assert (reply.text, reply.turn) == ("Both, then.", 1)
    last = talk.script.requests[-1]["messages"][-1]["content"]
    assert [b["type"] for b in last] == ["tool_result", "tool_result", "text"]
    assert len(talk.script.requests) == 2
    # It counts once, and is known by its id.
    assert (await talk.ask("And for the lamp.", id="lamp")).turn == 1
    assert (await talk.ask("thanks")).turn == 2
    await check_requests(talk)


async def test_a_paused_reply_is_sent_back_unchanged_and_goes_on(talk: Talk) -> None:
    """O22."""
    search: Block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    answer: Block = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    first: list[Block] = [{"type": "text", "text": "Searching. "}, search]
    talk.script.replies.append(ReplyResult(content=first, stop_reason="pause_turn"))
    talk.script.replies.append([answer, {"type": "text", "text": "Here it is."}])
    await talk.start()
    reply = await talk.ask("Search for it.")
    assert (reply.text.splitlines()[-1], reply.stop_reason) == ("Here it is.", "end_turn")
    assert talk.script.requests[1]["messages"][-1] == {"role": "assistant", "content": first}
    await talk.ask("thanks")
    merged = talk.script.requests[2]["messages"][1]["content"]
    assert merged == [*first, answer, {"type": "text", "text": "Here it is."}]


async def test_a_reply_that_pauses_for_ever_and_unknown_ends_are_shown_as_they_are(
    talk: Talk,
) -> None:
    paused = ReplyResult(content=[{"type": "text", "text": "one more"}], stop_reason="pause_turn")
    talk.script.replies.extend([paused] * (FRUITLESS + 1))
    await talk.start(TOOLS)
    assert (await talk.ask("hello")).stop_reason == "pause_turn"
    assert len(talk.script.requests) == FRUITLESS + 1
    for reason in ("refusal", "model_context_window_exceeded", "something_new"):
        ended = ReplyResult(
            content=[call(f"c-{reason}")], calls=[ToolCall(id=f"c-{reason}")], stop_reason=reason
        )
        talk.script.replies.append(ended)
        assert (await talk.ask(f"until {reason}")).stop_reason == reason
    assert talk.script.called == []
    assert (await talk.ask("go on")).text.endswith("go on")
    await talk.check_context()


async def test_a_turn_that_the_model_refuses_leaves_the_context_whole(talk: Talk) -> None:
    """With it in the context the API refuses whatever comes next."""
    talk.script.tools["look"] = FakeTool()
    await talk.start({**TOOLS, "turns_per_run": 2})
    await talk.ask("Good day.")
    refused = ReplyResult(content=[{"type": "text", "text": "How"}], stop_reason="refusal")
    talk.script.replies.extend([[call("a")], refused])
    reply = await talk.ask("Look at this.")
    assert (reply.stop_reason, reply.text) == ("refusal", "How")
    await talk.noted("the model refused turn 2, which left the context")
    assert (await talk.ask("Something else.")).text.endswith("Something else.")
    assert texts(talk.script.requests[-1]["messages"])[-1] == "Something else."
    assert "Look at this." not in str(talk.script.requests[-1])
    assert "Good day." in str(talk.script.requests[-1])
    assert "Look at this." in await talk.user_texts()
    await check_requests(talk)
    await talk.check_sound()


async def test_a_reply_that_says_nothing_to_its_results_says_nothing(talk: Talk) -> None:
    talk.script.tools["look"] = FakeTool()
    first: list[Block] = [{"type": "text", "text": "Let me see."}, call("a")]
    talk.script.replies.extend([first, ReplyResult(content=[])])
    await talk.start(TOOLS)
    reply = await talk.ask("hello")
    assert (reply.stop_reason, reply.text, reply.content) == ("end_turn", "", [])
    assert (await talk.ask("go on")).text.endswith("go on")
    await check_requests(talk)


async def test_a_call_that_the_reply_limit_has_cut_off_is_not_carried_out(talk: Talk) -> None:
    talk.script.tools["look"] = FakeTool()
    cut = ReplyResult(
        content=[call("a", n=1), call("b")],
        calls=[ToolCall(id="a"), ToolCall(id="b")],
        stop_reason="max_tokens",
    )
    talk.script.replies.extend([cut, "done"])
    await talk.start(TOOLS)
    assert (await talk.ask("hello")).text == "done"
    [answers] = await results(talk)
    assert "cut off" in said(answers[1])
    assert talk.script.called == [("look", {"n": 1})]
    await check_requests(talk)


async def test_a_long_turn_is_compacted_while_it_lasts(talk: Talk) -> None:
    """O1, O10: its question stays, its newest step stays whole, over several runs."""

    async def big(given: dict[str, Any]) -> str:
        return f"page {given['n']}: " + "word " * 400

    talk.script.tools["look"] = FakeTool(big)
    policy = {
        "message_budget": 3_000,
        "observe_chunk": 1_000,
        "context_window": 8_000,
        "reserve_output": 1_000,
    }
    await talk.start({**TOOLS, "policy": policy, "turns_per_run": 20})
    await talk.ask("We talk. " + "word " * 300)
    talk.script.replies.extend([call(f"c{n}", n=n)] for n in range(30))
    reply = await talk.ask("Read all pages and name the last.")
    assert reply.text.startswith("I heard:")
    status = await talk.status()
    assert status["totals"]["compactions"] >= 4
    assert status["totals"]["failed_compactions"] == 0
    for number, request in enumerate(talk.script.requests[1:]):
        assert "Read all pages" in str(request["messages"]), number
        messages = [
            Message(seq=n, at="2026-01-01T00:00:00Z", **m)
            for n, m in enumerate(request["messages"])
        ]
        assert pairing_fault(messages) is None
        if number:
            assert f"page {number - 1}: word word" in str(request["messages"][-1])
    assert len(talk.script.called) == 30
    # The question was pinned for as long as the turn lasted.
    assert "[Pinned" not in await talk.query("context_text")
    await talk.ask("thanks")
    assert "[Pinned" not in "\n".join(texts(talk.script.requests[-1]["messages"]))
    assert all(
        violations({"system": "-", "messages": r["messages"]}, 7_500) == []
        for r in talk.script.requests
    )
    await talk.check_tiling()


async def test_a_state_too_big_to_be_handed_on_waits_until_it_is_smaller(talk: Talk) -> None:
    """O9: two megabytes of results in one step are more than a payload may have."""

    async def big(given: dict[str, Any]) -> str:
        return "x" * 220_000

    talk.script.tools["look"] = FakeTool(big)
    talk.script.replies.append([call(f"c{n}") for n in range(10)])
    await talk.start({**TOOLS, "turns_per_run": 1})
    await talk.ask("Read everything.")
    runs = (await talk.status())["totals"]["runs"]
    await talk.ask("And now?")
    assert (await talk.ask("Once more.")).text.endswith("Once more.")
    assert (await talk.status())["totals"]["runs"] > runs
    assert await talk.task_failures() == []
    await check_requests(talk)


async def test_results_that_do_not_fit_the_window_are_shortened(talk: Talk) -> None:
    async def big(given: dict[str, Any]) -> str:
        return f"page {given['n']}: " + "word " * (900 if given["n"] else 20)

    talk.script.tools["look"] = FakeTool(big)
    policy = {"message_budget": 1_000, "context_window": 4_000, "reserve_output": 1_000}
    await talk.start({**TOOLS, "policy": policy})
    talk.script.replies.append([call(f"c{n}", n=n) for n in range(6)])
    assert (await talk.ask("Read them.")).stop_reason == "end_turn"
    last = talk.script.requests[-1]["messages"][-1]["content"]
    assert [b["tool_use_id"] for b in last] == [f"c{n}" for n in range(6)]
    assert "page 0: word" in str(last[0])
    assert "left out here and whole in the record as message 2" in str(last[1])
    await check_requests(talk)
    assert (
        violations({"system": "-", "messages": talk.script.requests[-1]["messages"]}, 3_000) == []
    )


def test_a_conversation_that_was_saved_during_a_call_goes_on_without_it() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    memory = append(Memory(), "user", [{"type": "text", "text": "Look."}], at)
    memory = append(memory, "assistant", [call("a"), call("b")], at)
    closed = without_open_calls(memory, at)
    assert pairing_fault(closed.messages) is None
    assert [r["is_error"] for r in closed.messages[-1].content] == [True, True]
    assert without_open_calls(closed, at) is closed
    assert without_open_calls(Memory(), at) == Memory()
