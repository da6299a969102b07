"""A failed turn is not a failed conversation."""

import asyncio

import pytest

from perdure.contract import ReplyResult
from perdure.errors import TurnFailed
from perdure.memory.blocks import Block
from tests.support.requests import violations
from tests.support.scripted import lasting, passing, refused
from tests.support.talk import Talk, texts

SMALL = {"message_budget": 500, "observe_chunk": 200}


async def test_a_failed_turn_is_recorded_and_the_next_one_served(talk: Talk) -> None:
    await talk.start()
    talk.script.replies.append(lasting("the key is wrong"))
    with pytest.raises(TurnFailed, match="the key is wrong"):
        await talk.ask("hello")
    status = await talk.status()
    assert status["last_error"]["text"] == "turn 1 failed: the key is wrong"
    assert status["totals"]["failed_turns"] == 1
    assert status["running"] is None
    # The message can still be answered, so it stays in the context.
    await talk.ask("are you there?")
    assert texts(talk.script.requests[-1]["messages"]) == ["hello", "are you there?"]
    assert len(talk.script.requests[-1]["messages"]) == 1
    await talk.check_context()


async def test_a_signal_whose_turn_fails_does_not_hold_up_the_next(talk: Talk) -> None:
    await talk.start()
    talk.script.replies.extend([lasting("no"), lasting("no"), "at last"])
    for number in range(3):
        await talk.say(f"message {number}")
    await talk.turns(3)
    assert (await talk.query("reply"))["text"] == "at last"
    assert (await talk.status())["totals"]["failed_turns"] == 2


async def test_a_failure_that_passes_is_tried_again(talk: Talk) -> None:
    await talk.start()
    talk.script.replies.extend([passing("overloaded"), passing("rate limited"), "here I am"])
    assert (await talk.ask("hello")).text == "here I am"
    assert await talk.errors() == []
    assert len(talk.script.requests) == 3
    assert await talk.user_texts() == ["hello"]


async def test_a_refused_message_leaves_the_context_and_stays_in_the_log(talk: Talk) -> None:
    await talk.start()
    await talk.ask("before")
    talk.script.replies.append(refused("messages.3: bad picture"))
    with pytest.raises(TurnFailed, match="bad picture"):
        await talk.ask("poison")
    await talk.ask("after")
    assert "poison" not in texts(talk.script.requests[-1]["messages"])
    assert not violations({"system": "-", "messages": talk.script.requests[-1]["messages"]})
    assert "poison" not in await talk.query("context_text")
    transcript = await talk.query("transcript")
    assert [m["text"] for m in transcript if m["failed"]] == ["poison"]
    await talk.check_tiling()


async def test_a_refused_message_never_comes_back(talk: Talk) -> None:
    """Not through a compaction, not even when it was to be pinned, and not at the close."""
    await talk.start({"policy": {**SMALL, "keep_recent": 0, "keep_recent_messages": 0}})
    talk.script.replies.append(refused("bad"))
    with pytest.raises(TurnFailed):
        await talk.ask("poison and pinned", pinned=True)
    assert "poison" not in (await talk.query("context_text"))
    for number in range(10):
        await talk.ask(f"number {number}: " + "word " * 50)
    assert (await talk.status())["totals"]["compactions"] >= 1
    assert "poison" not in await talk.query("context_text")
    assert "poison" not in str(talk.script.requests[1:])


async def test_a_refused_message_is_not_in_the_last_summary(talk: Talk) -> None:
    await talk.start()
    talk.script.replies.append(refused("bad"))
    with pytest.raises(TurnFailed):
        await talk.ask("poison")
    await talk.ask("hello")
    assert "poison" not in (await talk.close())["summary"]


async def test_a_stale_step_is_taken_anew_once(talk: Talk) -> None:
    await talk.start()
    talk.script.replies.extend([ReplyResult(status="stale"), "now it is right"])
    assert (await talk.ask("hello")).text == "now it is right"
    assert len(talk.script.requests) == 2
    assert talk.script.requests[0] == talk.script.requests[1]


async def test_a_step_that_stays_stale_fails_the_turn_and_not_the_conversation(
    talk: Talk,
) -> None:
    await talk.start()
    talk.script.replies.extend(ReplyResult(status="stale") for _ in range(4))
    with pytest.raises(TurnFailed, match="the context kept changing"):
        await talk.ask("hello")
    assert (await talk.ask("again")).turn == 2


async def test_a_request_over_the_window_is_compacted_and_sent_again(talk: Talk) -> None:
    window = {"context_window": 2_000, "reserve_output": 500, "message_budget": 1_400}
    await talk.start({"policy": {**window, "keep_recent": 100, "observe_at": 1.0}})
    for number in range(3):
        await talk.ask(f"number {number}: " + "word " * 120)
    talk.script.replies.append(ReplyResult(status="over_window", counts={6: 900}, system_tokens=1))
    await talk.ask("word " * 100)
    rows = await talk.query("compactions")
    assert [row["urgency"] for row in rows][:1] == ["emergency"]
    assert talk.script.parts[0].extractive
    assert len(talk.script.requests) == 5
    assert len(str(talk.script.requests[-1])) < len(str(talk.script.requests[-2]))
    await talk.check_tiling()


async def test_a_request_over_the_window_for_good_is_refused(talk: Talk) -> None:
    window = {"context_window": 2_000, "reserve_output": 500, "message_budget": 1_000}
    await talk.start({"policy": window})
    talk.script.replies.append(
        ReplyResult(status="over_window", counts={0: 9_000}, system_tokens=1)
    )
    with pytest.raises(TurnFailed, match="the window takes 1,500"):
        await talk.ask("word " * 100)
    assert (await talk.ask("hello")).turn == 2
    assert texts(talk.script.requests[-1]["messages"]) == ["hello"]


EMPTY: list[list[Block]] = [
    [],
    [{"type": "text", "text": ""}],
    [{"type": "text", "text": "\n"}],
]


async def test_an_empty_reply_never_reaches_a_request(talk: Talk) -> None:
    """O6."""
    await talk.start()
    talk.script.replies.extend(EMPTY)
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    talk.script.replies.append([{"type": "text", "text": ""}, call])
    for number in range(6):
        receipt = await talk.update("ask", f"message {number}")
        assert ("reply_seq" in receipt) is (number >= len(EMPTY))
        reply = await talk.query("reply")
        assert reply["turn"] == number + 1
        assert all(block.get("text") != "" for block in reply["content"])
        await talk.check_context()
    for request in talk.script.requests:
        assert not violations({"system": "-", "messages": request["messages"]})
    assert await talk.user_texts() == [
        *(f"message {n}" for n in range(4)),
        "[error: there is no tool 'look']",
        "message 4",
        "message 5",
    ]


async def test_a_reply_that_ends_in_white_space_is_kept_as_it_was(talk: Talk) -> None:
    await talk.start()
    talk.script.replies.append("so it is. \n")
    assert (await talk.ask("hello")).text == "so it is. \n"
    await talk.ask("again")
    assert texts(talk.script.requests[-1]["messages"])[1] == "so it is. \n"


@pytest.mark.parametrize("calls", [1, 2, 5])
async def test_calls_of_tools_that_do_not_exist_are_answered(talk: Talk, calls: int) -> None:
    await talk.start({"policy": SMALL})
    content: list[Block] = [{"type": "text", "text": "Let me look."}]
    content += [
        {"type": "tool_use", "id": f"t{n}", "name": "look", "input": {"n": n}} for n in range(calls)
    ]
    talk.script.replies.append(content)
    assert "there is no tool 'look'" in (await talk.ask("hello")).text
    for number in range(8):
        await talk.ask(f"number {number}: " + "word " * 40)
        await talk.check_context()
        await talk.check_tiling()
    for request in talk.script.requests:
        assert not violations({"system": "-", "messages": request["messages"]})
    assert (await talk.status())["totals"]["compactions"] >= 1


async def test_a_step_whose_worker_was_lost_is_tried_again(talk: Talk) -> None:
    """The activity is given up by its heartbeat or fails half-way; the message counts once."""
    await talk.start()
    talk.script.replies.append(ConnectionError("the worker was replaced"))
    talk.script.reply_gate.clear()
    asking = asyncio.ensure_future(talk.ask("hello"))
    await asyncio.wait_for(talk.script.reply_asked.wait(), 10)
    await talk.say("in between")
    talk.script.reply_gate.set()
    assert (await asking).text == "I heard: hello"
    await talk.turns(2)
    assert talk.script.requests[0] == talk.script.requests[1]
    assert await talk.user_texts() == ["hello", "in between"]
    assert (await talk.query("memory"))["next_seq"] == 4


async def test_an_unknown_model_or_a_missing_key_fails_the_turn(
    offline_talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    await offline_talk.start({"model": "claude-nonsense"})
    with pytest.raises(TurnFailed, match="ANTHROPIC_API_KEY"):
        await offline_talk.ask("hello")
    assert "ANTHROPIC_API_KEY" in (await offline_talk.errors())[0]
