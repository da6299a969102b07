"""Compactions happen beside the talk, are taken in between turns, and can fail without harm."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from perdure.contract import PartRef
from perdure.errors import TurnFailed
from perdure.memory.apply import Compacted
from tests.support.scripted import Summarised, lasting, passing, weigh
from tests.support.talk import Talk, texts, until
from workflows import room

# A message of about 65 tokens and its reply of 35 make a turn of about 100.
SMALL = {"message_budget": 1_000, "observe_chunk": 400}


def long(number: int | str) -> str:
    return f"number {number}: " + "word " * 40


async def fill(talk: Talk, turns: int) -> None:
    """So many turns, each waited for."""
    for number in range(turns):
        await talk.ask(long(number))


async def compacted(talk: Talk, least: int = 1) -> None:
    """Wait until so many compactions have been taken in."""

    async def enough() -> bool:
        return bool((await talk.status())["totals"]["compactions"] >= least)

    await until(enough)


async def test_an_observation_in_the_background_is_taken_in_at_a_turn_boundary(
    talk: Talk,
) -> None:
    await talk.start({"policy": {**SMALL, "message_budget": 2_000, "observe_at": 0.3}})
    talk.script.summary_gate.clear()
    number = 0
    while not talk.script.summary_asked.is_set():
        number += 1
        await talk.ask(long(number))
    # The user does not wait for it, and meanwhile nothing changes.
    await talk.ask("and now?")
    assert (await talk.query("memory"))["levels"] == []
    talk.script.reply_gate.clear()
    talk.script.reply_asked.clear()
    asking = asyncio.ensure_future(talk.ask("while the model is asked"))
    await talk.script.reply_asked.wait()
    before = await talk.query("context")
    talk.script.summary_gate.set()
    await until(lambda: _compactions_recorded(talk))
    assert await talk.query("context") == before
    talk.script.reply_gate.set()
    await asking
    await compacted(talk)
    rows = await talk.query("compactions")
    assert {row["urgency"] for row in rows} == {"background"}
    row, entry = rows[0], rows[0]["observation"]
    assert row["type"] == "memory_compacted"
    assert entry["content"] == f"Notes on the messages 0 to {entry['last_seq']}."
    assert (entry["level"], entry["method"], entry["model"]) == (1, "model", "scripted")
    assert row["messages_compressed"] == entry["message_count"] == entry["last_seq"] + 1
    assert row["compression_ratio"] > 5
    assert len(entry["identity"]) >= 32
    assert len(row["sha256"]) == 64
    shown = await talk.query("context_text")
    assert shown.startswith("[Summary 2")
    assert "number 1:" not in shown
    await talk.check_tiling()
    await talk.check_context()


async def _compactions_recorded(talk: Talk) -> bool:
    """Whether the activities of all compactions have ended, as the server sees it."""
    description = await talk.handle.describe()
    pending = description.raw_description.pending_activities
    return all(p.activity_type.name not in ("observe", "reflect") for p in pending)


async def test_at_its_whole_budget_the_reply_waits_for_the_observation(talk: Talk) -> None:
    await talk.start({"policy": {**SMALL, "observe_at": 1.0}})
    talk.script.summary_gate.clear()
    sent = [talk.facade.send(long(number)) for number in range(14)]
    await asyncio.gather(*sent)
    await asyncio.wait_for(talk.script.summary_asked.wait(), 10)
    status = await talk.status()
    replies = len(talk.script.requests)
    assert status["running"] == "reply"
    assert status["turn"] == replies + 1
    talk.script.summary_gate.set()
    await talk.turns(14)
    assert {row["urgency"] for row in await talk.query("compactions")} == {"blocking"}
    for request in talk.script.requests:
        assert sum(weigh(t) for t in texts(request["messages"])) < 1_300


async def test_a_count_of_messages_triggers_too(talk: Talk) -> None:
    await talk.start({"policy": {"message_limit": 10}})
    await fill(talk, 8)
    assert (await talk.check_tiling())["messages"]["count"] <= 12
    assert len(await talk.query("compactions")) >= 1


async def test_a_budget_of_500_reaches_level_4_and_stays_bounded(offline_talk: Talk) -> None:
    """After every turn the entries tile the conversation and the context is a good request."""
    policy = {
        **dict.fromkeys(("message_budget", "observation_budget", "level_budget"), 500),
        "target_ratio": 2.5,
        "reflect_ratio": 1.6,
    }
    await offline_talk.start({"system": "Be brief.", "policy": policy})
    highest, largest = 0, 0
    for number in range(60):
        words = " ".join(f"The crate {number}-{i} holds {i * number} kg of tea." for i in range(60))
        await offline_talk.ask(f"On day {number} we counted. {words}")
        memory = await offline_talk.check_tiling()
        highest = max([highest, *(level["level"] for level in memory["levels"])])
        largest = max(largest, memory["context_tokens"])
        if number % 10 == 0:
            await offline_talk.check_context()
        if highest >= 4:
            break
    assert highest >= 4
    # Messages and four levels, each of which may be over by one entry or one exchange.
    assert largest < 500 * 5 + 3_000
    ledger = await offline_talk.query("compactions")
    assert all(row["compression_ratio"] > 1 for row in ledger)
    assert (await offline_talk.status())["totals"]["failed_compactions"] == 0


@pytest.mark.parametrize("urgency", ["background", "blocking"])
async def test_a_message_that_arrives_while_compaction_runs_is_processed_once(
    talk: Talk, urgency: str
) -> None:
    """O20: several times over, as a signal and as an ask, one message and two."""
    observe_at = 0.5 if urgency == "background" else 1.0
    await talk.start({"policy": {**SMALL, "observe_at": observe_at}})
    marks: list[str] = []
    for round_ in range(3):
        talk.script.summary_gate.clear()
        talk.script.summary_asked.clear()
        number = 0
        while not talk.script.summary_asked.is_set() and number < 30:
            await talk.facade.send(long(f"{round_}-{number}"))
            number += 1
            await _idle_or_compacting(talk)
        mark = f"mark-{round_}"
        marks += [f"{mark}-a", f"{mark}-b"]
        await talk.say(f"{mark}-a")
        asking = asyncio.ensure_future(talk.ask(f"{mark}-b", id=f"{mark}-b"))
        await until(lambda: _is_known(talk, 2))
        talk.script.summary_gate.set()
        await asking
        await talk.turns(0)
    said = [t for request in talk.script.requests for t in texts(request["messages"])[-1:]]
    assert [t for t in said if t.startswith("mark-")] == marks
    for request in talk.script.requests:
        seen = texts(request["messages"])
        assert all(seen.count(mark) <= 1 for mark in marks)
    status = await talk.status()
    assert status["totals"]["messages_in"] == status["turn"] == len(talk.script.requests)
    await talk.check_tiling()


async def _idle_or_compacting(talk: Talk) -> None:
    async def settled() -> bool:
        status = await talk.status()
        return talk.script.summary_asked.is_set() or (
            not status["queue"] and status["running"] is None
        )

    await until(settled)


async def _is_known(talk: Talk, more: int) -> bool:
    """Whether everything that was sent has been answered or stands in the queue."""
    status = await talk.status()
    answered = len(talk.script.requests)
    return bool(status["totals"]["messages_in"] >= answered + more - 1 or not status["queue"])


def failing(kind: str) -> Any:
    def summarise(ref: PartRef, sources: Sequence[dict[str, Any]]) -> Summarised:
        whole = " ".join(str(source.get("content")) for source in sources)
        made: dict[str, Summarised] = {
            "passing": passing("Error generating summary: overloaded"),
            "lasting": lasting("there is no API key"),
            "as long as its source": Compacted(
                content=whole,
                tokens=ref.part.source_tokens * 99 // 100,
                method="model",
                model="scripted",
                prompt_version="scripted-1",
                identity="0" * 64,
            ),
            "blank": " \n",
        }
        return made[kind]

    return summarise


@pytest.mark.parametrize("kind", ["passing", "lasting", "as long as its source", "blank"])
async def test_a_summariser_that_fails_costs_nothing_but_room(talk: Talk, kind: str) -> None:
    """O16 to O18: originals stay, turns are answered, calls are bounded, later it succeeds."""
    good = talk.script.summarise
    talk.script.summarise = failing(kind)
    await talk.start({"policy": {**SMALL, "message_budget": 500, "observe_at": 1.0}})
    await talk.ask("Remember that the key lies under the third stone.")
    turns = 8
    for number in range(turns):
        await talk.ask(long(number))
    context = await talk.check_context()
    assert "under the third stone" in "\n".join(texts(context["messages"]))
    assert (await talk.query("memory"))["levels"] == []
    assert len(await talk.user_texts()) == turns + 1
    # Tried again after two and four turns, three times each where a try may help.
    assert 1 <= len(talk.script.parts) <= 6 * 3
    status = await talk.status()
    assert status["totals"]["failed_turns"] == 0
    assert 1 <= status["totals"]["failed_compactions"] <= 4
    assert "compaction put off" in status["last_error"]["text"]
    for text in ("Error generating", "overloaded", "API key"):
        assert text not in await talk.query("context_text")

    talk.script.summarise = good
    for number in range(16):
        await talk.ask(long(f"late {number}"))
        if (await talk.status())["totals"]["compactions"]:
            break
    assert (await talk.check_tiling())["levels"] != []
    assert "third stone" not in "\n".join(await talk.user_texts())


async def test_a_summary_that_fails_once_is_tried_again(talk: Talk) -> None:
    good = talk.script.summarise
    failures = [passing("overloaded"), passing("rate limited")]

    def summarise(ref: PartRef, sources: Sequence[dict[str, Any]]) -> Summarised:
        return failures.pop() if failures else good(ref, sources)

    talk.script.summarise = summarise
    await talk.start({"policy": {**SMALL, "observe_at": 1.0, "observe_chunk": 10_000}})
    await fill(talk, 14)
    status = await talk.status()
    assert status["totals"]["compactions"] >= 1
    assert status["totals"]["failed_compactions"] == 0


async def test_of_several_parts_those_before_the_first_that_failed_are_taken_in(
    talk: Talk,
) -> None:
    good = talk.script.summarise
    refused_from = 4

    def summarise(ref: PartRef, sources: Sequence[dict[str, Any]]) -> Summarised:
        return good(ref, sources) if ref.part.first_seq < refused_from else lasting("no")

    talk.script.summarise = summarise
    await talk.start({"policy": {**SMALL, "observe_at": 1.0, "observe_chunk": 200}})
    await fill(talk, 14)
    memory = await talk.check_tiling()
    assert len(memory["levels"]) == 1
    assert memory["levels"][0]["last_seq"] < 14
    assert (await talk.status())["totals"]["failed_turns"] == 0


async def test_compact_now_with_instructions(talk: Talk) -> None:
    await talk.start({"policy": {"keep_recent": 100}})
    await fill(talk, 5)
    await talk.signal("compact", {"instructions": "Keep the names."})
    await compacted(talk)
    assert [ref.instructions for ref in talk.script.parts] == ["Keep the names."]
    assert (await talk.check_tiling())["messages"]["count"] >= 4
    await talk.signal("compact")
    await talk.noted("there is nothing before the newest messages")
    await talk.ask("go on")


@pytest.mark.parametrize("asked", ["compact", "import", "turns"])
async def test_a_summariser_that_hangs_holds_up_no_message(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    """O16: whoever asked for the summary, messages wait for it once and then no more."""
    patience = timedelta(seconds=0.5)
    monkeypatch.setattr(room, "PATIENCE", patience)
    await talk.start({"policy": {**SMALL, "observe_at": 1.0}})
    await fill(talk, 7)
    talk.script.summary_gate.clear()
    importing = None
    if asked == "compact":
        await talk.signal("compact")
    elif asked == "import":
        said = [{"role": "user", "content": long(f"import {n}")} for n in range(10)]
        importing = asyncio.ensure_future(talk.facade.import_messages(said))
    else:
        await fill(talk, 6)
    await asyncio.wait_for(talk.script.summary_asked.wait(), 10)
    # The gate stays shut.
    for number in range(3):
        assert (await talk.ask(f"and {number}?")).text.endswith(f"and {number}?")
    assert (await talk.query("memory"))["levels"] == []
    history = await talk.handle.fetch_history()
    waits = [e.timer_started_event_attributes.start_to_fire_timeout for e in history.events]
    assert [wait.ToTimedelta() for wait in waits].count(patience) == 1
    talk.script.summary_gate.set()
    if importing is not None:
        assert (await importing).last_seq - (await importing).first_seq == 9
    await compacted(talk)
    await talk.check_tiling()


async def test_compact_now_on_an_empty_conversation(talk: Talk) -> None:
    await talk.start()
    await talk.signal("compact")
    await talk.noted("there is nothing before the newest messages")
    await talk.ask("hello")
    assert talk.script.parts == []


async def test_a_policy_that_is_switched_off_compacts_only_when_told_to(talk: Talk) -> None:
    await talk.start({"policy": {**SMALL, "enabled": False}})
    await fill(talk, 20)
    assert talk.script.parts == []
    assert len(await talk.user_texts()) == 20
    await talk.signal("compact")
    await compacted(talk)
    await talk.check_tiling()


@pytest.mark.parametrize("times", [1.5, 6])
async def test_one_message_larger_than_the_budget(talk: Talk, times: float) -> None:
    """O7: it is answered, and then summarised like any other."""
    await talk.start({"policy": {**SMALL, "observe_at": 1.0}})
    await talk.ask("word " * int(800 * times))
    for number in range(4):
        await talk.ask(f"hello {number}")
    memory = await talk.check_tiling()
    assert memory["context_tokens"] < 1_500
    assert 1 <= len(talk.script.parts) <= 4
    await talk.ask("word " * int(800 * times) + "as the last one")
    await talk.check_context()


async def test_one_message_larger_than_the_window_is_refused_and_the_next_served(
    offline_talk: Talk,
) -> None:
    """O7, with real counts."""
    window = {"context_window": 2_000, "reserve_output": 200, "message_budget": 1_000}
    await offline_talk.start({"policy": window})
    await offline_talk.ask("hello")
    with pytest.raises(TurnFailed, match="the window takes 1,800"):
        await offline_talk.ask("word " * 5_500)
    assert (await offline_talk.ask("hello again")).text
    context = await offline_talk.check_context()
    assert context["tokens"] < 1_800
    assert (await offline_talk.check_tiling())["next_seq"] == 5


async def test_a_system_prompt_larger_than_the_window_is_told_and_does_not_loop(
    offline_talk: Talk,
) -> None:
    """O18, with real counts."""
    window = {"context_window": 2_000, "reserve_output": 200, "message_budget": 500}
    await offline_talk.start({"system": "word " * 2_000, "policy": window})
    for number in range(6):
        with pytest.raises(TurnFailed, match="shorten the message or the system prompt"):
            await offline_talk.ask(f"hello {number}")
    assert (await offline_talk.status())["totals"]["compactions"] == 0
    assert await offline_talk.query("compactions") == []


async def test_a_system_prompt_over_the_message_budget_does_not_loop(talk: Talk) -> None:
    """O18: the floor is above the threshold, and the window is not."""
    await talk.start({"system": "word " * 1_500, "policy": SMALL})
    for number in range(10):
        await talk.ask(f"hello {number}")
    assert talk.script.parts == []


async def test_the_system_prompt_is_the_same_in_every_request(talk: Talk) -> None:
    """O19, through compactions and a new run."""
    system = "End each answer with ZEBRA-7.\n\tAlways. "
    await talk.start({"system": system, "policy": SMALL, "turns_per_run": 7})
    await talk.ask("Never mention prices.", pinned=True)
    await fill(talk, 18)
    status = await talk.status()
    assert status["totals"]["compactions"] >= 2
    assert status["totals"]["runs"] >= 3
    assert {request["system"] for request in talk.script.requests} == {system}
    for request in talk.script.requests:
        heard = texts([m for m in request["messages"] if m["role"] == "user"])
        assert "\n".join(heard).count("Never mention prices.") == 1


async def test_queries_answer_whole_states_while_compaction_runs_and_fails(talk: Talk) -> None:
    """O25."""
    talk.script.summarise = failing("lasting")
    await talk.start({"policy": {**SMALL, "observe_at": 0.5}})
    asking = asyncio.ensure_future(fill(talk, 12))
    while not asking.done():
        await talk.check_tiling()
        await talk.query("context")
        await asyncio.wait({asking}, timeout=0.1)
    await asking
