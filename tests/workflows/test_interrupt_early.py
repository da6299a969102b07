"""An interruption that comes before there is a model call to stop."""

import asyncio

from perdure.contract import INTERRUPTED
from tests.support.talk import Talk


async def test_an_interrupt_while_the_turn_waits_for_room_stops_only_that_turn(talk: Talk) -> None:
    policy = {"message_budget": 400, "observe_chunk": 200, "observe_at": 1.0}
    await talk.start({"policy": policy})
    talk.script.summary_gate.clear()
    number = 0
    asking = asyncio.ensure_future(talk.ask(f"{number} " + "word " * 60))
    while not talk.script.summary_asked.is_set():
        if asking.done():
            number += 1
            asking = asyncio.ensure_future(talk.ask(f"{number} " + "word " * 60))
        await asyncio.wait({asking}, timeout=0.05)
    await talk.signal("interrupt")
    # The summary is not waited for.
    assert (await asking).stop_reason == INTERRUPTED
    talk.script.summary_gate.set()
    assert (await talk.ask("go on")).text.endswith("go on")
    assert len(talk.script.requests) == number + 1


async def test_an_interrupt_before_the_turn_has_begun_stops_it_too(talk: Talk) -> None:
    await talk.start({"policy": {"keep_recent": 0, "keep_recent_messages": 0}})
    await talk.ask("hello " + "word " * 200)
    talk.script.summary_gate.clear()
    await talk.signal("compact")
    await asyncio.wait_for(talk.script.summary_asked.wait(), 20)
    asking = asyncio.ensure_future(talk.ask("one"))
    await talk.queued(1)
    await talk.signal("interrupt")
    await talk.say("two")
    await talk.queued(2)
    talk.script.summary_gate.set()
    stopped = await asking
    assert (stopped.stop_reason, stopped.text) == (INTERRUPTED, "")
    await talk.turns(3)
    assert (await talk.query("reply"))["text"].endswith("two")
    assert len(talk.script.requests) == 2
    assert await talk.errors() == []
    await talk.check_context()
