"""In the quiet the conversation compacts by itself, for the price of one timer."""

from collections import Counter
from typing import Any

from temporalio.api.enums.v1 import EventType

from perdure.replay import fetch_chain
from tests.support.talk import Talk, until

# Seconds between two looks at the updates that wait, by a timer of their own.
WATCH = 60
# A turn weighs about 100 tokens, so no threshold is near, and the tail is two turns.
QUIET = {"message_budget": 2_000, "keep_recent": 200, "idle_after": 1}


def long(number: int) -> str:
    return f"number {number}: " + "word " * 40


async def settled(talk: Talk, messages: int) -> dict[str, Any]:
    """The memory, once no more than so many messages are verbatim."""

    async def few() -> bool:
        return bool((await talk.query("memory"))["messages"]["count"] <= messages)

    await until(few)
    return await talk.check_tiling()


async def timers(talk: Talk) -> Counter[str]:
    """How many timers were started, have fired and were cancelled, without those of `ask`."""
    histories, _ = await fetch_chain(talk.client, talk.id)
    found: Counter[str] = Counter()
    for history in histories:
        ours = []
        for event in history.events:
            kind = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_TIMER_")
            started = event.timer_started_event_attributes
            if kind == "STARTED" and started.start_to_fire_timeout.seconds != WATCH:
                ours.append(started.timer_id)
                found[kind] += 1
            fired, gone = event.timer_fired_event_attributes, event.timer_canceled_event_attributes
            if fired.timer_id in ours or gone.timer_id in ours:
                found[kind] += 1
    return found


async def test_what_stands_before_the_tail_is_compacted_once_it_is_quiet(talk: Talk) -> None:
    await talk.start({"policy": QUIET})
    for number in range(6):
        await talk.ask(long(number))
    await settled(talk, 4)
    rows = await talk.query("compactions")
    assert {row["urgency"] for row in rows} == {"background"}
    # The quiet goes on, and there is nothing more to do in it.
    assert (await talk.ask("still there?")).text == "I heard: still there?"
    assert await talk.query("compactions") == rows
    await talk.check_context()


async def test_turns_put_the_timer_off_without_a_new_one(talk: Talk) -> None:
    await talk.start({"policy": {**QUIET, "idle_after": 3_600}})
    for number in range(8):
        await talk.ask(long(number))
    assert await timers(talk) == {"STARTED": 1}
    # A shorter time replaces the timer at once.
    await talk.update("configure", {"policy": {"idle_after": 1}})
    await settled(talk, 4)
    assert await timers(talk) == {"STARTED": 2, "CANCELED": 1, "FIRED": 1}
    assert (await talk.close())["turns"] == 8


async def test_a_run_that_was_continued_still_knows_the_quiet(talk: Talk) -> None:
    await talk.start({"policy": QUIET, "turns_per_run": 5})
    for number in range(5):
        await talk.ask(long(number))
    await settled(talk, 4)
    assert (await talk.status())["totals"]["runs"] == 2


async def test_too_little_is_left_alone(talk: Talk) -> None:
    await talk.start({"policy": {**QUIET, "keep_recent": 1_000}})
    for number in range(6):
        await talk.ask(long(number))
    await talk.ask("Is it quiet?")
    assert not await timers(talk)
    assert await talk.query("compactions") == []
