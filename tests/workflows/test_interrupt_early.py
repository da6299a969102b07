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
    talk.script.summary_gate.set()
    assert (await asking).stop_reason == INTERRUPTED
    assert (await talk.ask("go on")).text.endswith("go on")
    assert len(talk.script.requests) == number + 1
