"""Calls and their results on the wire; the fixture checks every request that was sent."""

import asyncio
from collections.abc import Sequence
from typing import Any

from perdure.contract import AWAITING_APPROVAL, INTERRUPTED
from perdure.memory.blocks import Block, block_text
from tests.faults.scenes import Held
from tests.field_reports import bakery
from tests.field_reports.conftest import Wire
from tests.support.answers import blocks, text
from tests.support.messages_api import default_rule, is_summary
from tests.support.talk import soon, texts

SMALL = {"message_budget": 800, "observe_chunk": 400}
ALL: dict[str, Any] = {"system": "You run a bakery.", "tools": ["*"]}


def call(id_: str, name: str, **given: object) -> Block:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def results(request: dict[str, Any]) -> list[Block]:
    """The results in the last message."""
    content: Sequence[Block] = request["messages"][-1]["content"]
    return [block for block in content if block["type"] == "tool_result"]


def long(number: int) -> str:
    return f"number {number}: " + "word " * 60


async def test_calls_and_results_stay_together_wherever_the_cut_falls(wire: Wire) -> None:
    """O1, O2, O3: parallel calls of mixed sizes that end in reverse, among them one that fails."""
    talk = wire.talk
    await talk.start({**ALL, "policy": SMALL})
    for keep in range(6):
        await talk.facade.configure(policy={"keep_recent_messages": keep})
        many = (2, 5, 1)[keep % 3]
        calls = [
            call(f"c{keep}-{n}", "look", number=n, size=1_500 if n == 0 else 60)
            for n in range(many)
        ]
        wire.api.script(blocks(*calls, call(f"b{keep}", "breaks")))
        await talk.ask(f"go on {keep}")
        answers = results(wire.replies[-1])
        assert [a["tool_use_id"] for a in answers] == [*(c["id"] for c in calls), f"b{keep}"]
        assert [a.get("is_error", False) for a in answers] == [False] * many + [True]
        await talk.ask(long(keep))
    assert (await talk.status())["totals"]["compactions"] >= 3


async def test_a_call_that_waits_for_an_approval_is_never_summarised_away(wire: Wire) -> None:
    """O4: the talk goes on and is compacted meanwhile; the late answer finds its call."""
    talk = wire.talk
    await talk.start({**ALL, "policy": SMALL})
    for number in range(4):
        await talk.ask(long(number))
    wire.api.script(blocks(call("p1", "pay", euros=30), call("p2", "look", number=1)))
    first = await talk.ask("Pay the miller.")
    assert first.stop_reason == AWAITING_APPROVAL
    for number in range(4, 10):
        await talk.say(long(number))
    await talk.queued(6)
    await talk.signal("compact")
    assert [each["tool_use_id"] for each in first.awaiting] == ["p1"]
    await talk.facade.approve("p1")
    await talk.turns(11)
    [answered] = [r for r in wire.replies if results(r)]
    assert block_text(results(answered)[0]) == "30 euros are paid"
    assert "Pay the miller." in texts(answered["messages"])
    asked = [texts(request["messages"])[-1] for request in wire.replies]
    assert asked[-6:] == [long(number) for number in range(4, 10)]
    assert (await talk.status())["totals"]["compactions"] >= 1


async def test_results_of_megabytes_and_pictures_leave_room_for_the_talk(wire: Wire) -> None:
    """O8, O9, O14: cut for the model, whole in the archive, and none of it in the history."""
    talk = wire.talk
    await talk.start({**ALL, "policy": {"message_budget": 30_000}})
    calls = [call(f"r{n}", "report") for n in range(3)]
    wire.api.script(blocks(*calls, call("p1", "photograph"), call("p2", "photograph")))
    await talk.ask("Report, and take two pictures.")
    answers = results(wire.replies[-1])
    for report in answers[:3]:
        shown = block_text(report)
        assert "MARK-START" in shown
        assert "MARK-END" in shown
        assert "left out here" in shown
        assert "MARK-MIDDLE" not in shown
    assert [block["type"] for a in answers[3:] for block in a["content"]] == ["image", "image"]
    # A picture weighs 1,400 tokens, a report its head and tail.
    assert (await talk.check_tiling())["messages"]["tokens"] < 24_000
    history = await talk.handle.describe()
    info = history.raw_description.workflow_execution_info
    assert info.history_size_bytes < 60_000
    for number in range(4):
        wire.api.script(blocks(call(f"q{number}", "photograph"), call(f"s{number}", "photograph")))
        await talk.ask(f"Two more, {number}.")
    await talk.facade.compact()
    assert (await talk.ask("Is it open?")).text == "Reply to: Is it open?"
    await wire.compacted()
    assert "QUJDQUJD" not in str(wire.summaries)


async def test_a_tool_whose_answer_was_lost_is_told_so_by_its_key(wire: Wire) -> None:
    """O26: it is called again with the same key, and the model hears of it once."""
    talk = wire.talk
    before = len(bakery.effects)
    await talk.start(ALL)
    wire.api.script(blocks(call("o1", "order", flour=50), call("o1", "order", flour=60)))
    await talk.ask("Order flour, twice.")
    keys = bakery.effects[before:]
    assert len(keys) == 4
    assert sorted(map(keys.count, set(keys))) == [2, 2]
    said = [block_text(answer) for answer in results(wire.replies[-1])]
    assert said == ["50 kilos are on their way", "60 kilos are on their way"]
    assert len(wire.replies) == 2


async def test_whatever_is_interrupted_the_next_message_is_answered(wire: Wire) -> None:
    """A stream, two parallel tools, an approval, and the making of a summary."""
    talk, api = wire.talk, wire.api
    await talk.start({**ALL, "policy": SMALL})

    held = Held()
    api.script(text("Once upon a time there was. " * 20, hold_at=10, held=held))
    asking = asyncio.ensure_future(talk.ask("Tell me a story."))
    await soon(held.reached.wait())
    await talk.facade.interrupt()
    assert (await asking).text.endswith("[interrupted]")
    held.set()
    assert (await talk.ask("And now?")).text == "Reply to: And now?"

    api.script(blocks(call("w1", "wait"), call("w2", "wait")))
    asking = asyncio.ensure_future(talk.ask("Wait for both."))
    for _ in range(2):
        await soon(bakery.waiting.acquire())
    await talk.facade.interrupt()
    assert (await asking).stop_reason == INTERRUPTED
    assert (await talk.ask("And then?")).text == "Reply to: And then?"
    [waited] = [m for m in wire.replies[-1]["messages"] if "w1" in str(m) and m["role"] == "user"]
    stopped = [b for b in waited["content"] if b["type"] == "tool_result"]
    assert [(b["tool_use_id"], b["is_error"]) for b in stopped] == [("w1", True), ("w2", True)]

    api.script(blocks(call("p1", "pay", euros=3)))
    asked = await talk.ask("Pay for the salt.")
    assert asked.stop_reason == AWAITING_APPROVAL
    await talk.facade.interrupt()
    paid = await talk.ask("Pay for the salt.", id=asked.message_id)
    assert paid.stop_reason == INTERRUPTED
    assert (await talk.ask("Why not?")).text == "Reply to: Why not?"

    gate, begun = asyncio.Event(), asyncio.Event()

    def rule(request: dict[str, Any]) -> Any:
        if is_summary(request):
            begun.set()
            return default_rule(request).but(delay=gate)
        return default_rule(request)

    api.rule = rule
    number = 0
    while not begun.is_set():
        await talk.ask(long(number))
        number += 1
    held = Held()
    api.script(text("Once more, from the beginning. " * 20, hold_at=10, held=held))
    asking = asyncio.ensure_future(talk.ask("Again."))
    await soon(held.reached.wait())
    await talk.facade.interrupt()
    assert (await asking).stop_reason == INTERRUPTED
    held.set()
    gate.set()
    assert (await talk.ask("Good.")).text == "Reply to: Good."
    await wire.compacted()
    await talk.check_tiling()
