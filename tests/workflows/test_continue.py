"""A conversation goes on through any number of runs: nothing is lost, doubled or reordered."""

import asyncio
import random
from datetime import timedelta
from typing import Any

import pytest

from perdure.replay import fetch_chain
from tests.support.scripted import refused
from tests.support.talk import Talk, texts, until
from workflows import room
from workflows.state import KNOWN_IDS, ConversationState, Known

CLIENTS = 4
EACH = 6


async def test_several_clients_speak_through_many_runs(talk: Talk) -> None:
    await talk.start({"turns_per_run": 5, "policy": {"message_budget": 20_000}})
    dice = random.Random(3)

    async def speak(name: int, asks: list[bool], doubles: list[bool]) -> None:
        for number, (ask, double) in enumerate(zip(asks, doubles, strict=True)):
            text, id_ = f"client {name} message {number:02}", f"{name}/{number}"
            for _ in range(1 + double):
                if ask:
                    reply = await asyncio.wait_for(talk.facade.ask(text, id=id_), 60)
                    assert reply.text == f"I heard: {text}"
                else:
                    await talk.facade.send(text, id=id_)

    await asyncio.gather(
        *(
            speak(
                name,
                # A signal and an update have no mutual order, so each client keeps to one kind.
                [name % 2 == 0] * EACH,
                [dice.random() < 0.4 for _ in range(EACH)],
            )
            for name in range(CLIENTS)
        )
    )
    await talk.turns(CLIENTS * EACH, seconds=60)
    asked = [texts(request["messages"])[-1] for request in talk.script.requests]
    assert len(asked) == len(set(asked)) == CLIENTS * EACH
    for name in range(CLIENTS):
        mine = [text for text in asked if text.startswith(f"client {name}")]
        assert mine == [f"client {name} message {n:02}" for n in range(EACH)]
    status = await talk.status()
    assert status["totals"]["messages_in"] == status["turn"] == CLIENTS * EACH
    assert status["totals"]["runs"] >= CLIENTS * EACH // 5 - 1
    await talk.check_tiling()


async def test_an_ask_that_waits_survives_the_change_of_runs(talk: Talk) -> None:
    await talk.start({"turns_per_run": 1})
    replies = await asyncio.gather(*(talk.ask(f"message {n}") for n in range(3)))
    assert sorted(reply.text for reply in replies) == [f"I heard: message {n}" for n in range(3)]
    assert sorted(reply.turn for reply in replies) == [1, 2, 3]
    assert (await talk.status())["totals"]["runs"] >= 3


async def test_ids_are_known_in_later_runs(talk: Talk) -> None:
    await talk.start({"turns_per_run": 1})
    first = await talk.ask("only once", id="same")
    for number in range(2):
        await talk.ask(f"between {number}")
    assert await talk.ask("only once", id="same") == first
    await talk.signal("user_message", {"content": "only once", "id": "same"})
    await talk.signal("user_message", {"content": "another", "id": "same"})
    await talk.noted("used before with other content")
    assert await talk.user_texts() == ["only once", "between 0", "between 1"]


async def test_the_next_run_begins_where_the_last_one_ended(talk: Talk) -> None:
    policy = {"message_budget": 300, "observe_chunk": 150}
    await talk.start({"turns_per_run": 3, "policy": policy, "title": "long", "system": "Brief."})
    seen: list[tuple[int, Any, Any]] = []
    for number in range(13):
        await talk.ask(f"number {number}: " + "word " * 40)
        status = await talk.status()
        seen.append((status["totals"]["runs"], await talk.query("context"), status["turn"]))
    runs = [run for run, _, _ in seen]
    assert runs == sorted(runs)
    assert runs[-1] >= 4
    assert [turn for _, _, turn in seen] == list(range(1, 14))
    histories, missing = await fetch_chain(talk.client, talk.id)
    assert missing == []
    assert len(histories) >= 4
    report = await talk.replay()
    assert report.identical
    assert report.runs == len(histories)
    assert report.contexts == 13
    assert report.summaries >= 3
    assert (await talk.status())["title"] == "long"
    assert (await talk.check_context())["system"] == "Brief."
    await talk.check_tiling()


async def test_a_queued_message_and_what_was_asked_for_are_carried_along(talk: Talk) -> None:
    await talk.start({"turns_per_run": 1, "policy": {"keep_recent": 0, "keep_recent_messages": 0}})
    talk.script.reply_gate.clear()
    for number in range(2):
        await talk.say(f"message {number}: " + "word " * 60)
    await talk.signal("compact", {"instructions": "Keep it."})
    await talk.say("message 2")
    talk.script.reply_gate.set()
    await talk.turns(3)
    await until(lambda: _has_compacted(talk))
    assert (await talk.status())["totals"]["runs"] >= 3
    assert talk.script.parts[0].instructions == "Keep it."
    result = await talk.close()
    assert (result["turns"], result["messages"]) == (3, 6)


async def _has_compacted(talk: Talk) -> bool:
    return bool(await talk.query("compactions"))


async def test_queries_answer_between_runs(talk: Talk) -> None:
    """O25."""
    await talk.start({"turns_per_run": 1})
    for number in range(3):
        await talk.say(f"message {number}")
    turn = 0
    while turn < 3:
        status = await talk.status()
        assert status["turn"] >= turn
        turn = status["turn"]
        memory = await talk.check_tiling()
        assert memory["next_seq"] >= 2 * turn - 1
        await talk.query("context")


async def test_a_compaction_that_runs_is_settled_before_the_next_run(talk: Talk) -> None:
    policy = {"message_budget": 1_000, "observe_chunk": 300, "observe_at": 0.3}
    await talk.start({"turns_per_run": 6, "policy": policy})
    talk.script.summary_gate.clear()
    for number in range(5):
        await talk.ask(f"number {number}: " + "word " * 40)
    await asyncio.wait_for(talk.script.summary_asked.wait(), 10)
    await talk.say("number 5")
    await talk.turns(0)
    await talk.say("meanwhile")
    asking = asyncio.ensure_future(talk.ask("and this"))
    talk.script.summary_gate.set()
    await asking
    await talk.turns(8)
    status = await talk.status()
    assert status["totals"]["runs"] == 2
    assert status["totals"]["compactions"] >= 1
    assert status["totals"]["failed_compactions"] == 0
    asked = [texts(request["messages"])[-1] for request in talk.script.requests]
    assert asked[-2:] == ["meanwhile", "and this"]


async def test_nobody_waits_for_a_summariser_that_hangs_while_the_run_changes(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O16: a run that has to end lets its compaction finish, but not at the cost of a turn."""
    monkeypatch.setattr(room, "PATIENCE", timedelta(seconds=0.5))
    policy = {"message_budget": 1_000, "observe_chunk": 300, "observe_at": 0.3}
    await talk.start({"turns_per_run": 6, "policy": policy})
    talk.script.summary_gate.clear()
    for number in range(6):
        await talk.ask(f"number {number}: " + "word " * 40)
    await asyncio.wait_for(talk.script.summary_asked.wait(), 10)
    # The gate stays shut.
    assert (await talk.ask("and now?")).text == "I heard: and now?"
    status = await talk.status()
    assert (status["totals"]["runs"], status["totals"]["compactions"]) == (2, 0)


def test_an_id_is_not_forgotten_while_its_message_waits() -> None:
    """A client that sends again what was not answered yet must not be served twice."""
    state = ConversationState()
    for number in range(KNOWN_IDS + 100):
        state.remember_id(f"waiting {number}", Known(digest="d"))
    assert "waiting 0" in state.known


async def test_refused_messages_do_not_fill_the_carried_state(talk: Talk) -> None:
    """A message that left the context for good still has to leave the state some day."""
    await talk.start({"turns_per_run": 13})
    talk.script.replies.extend(refused("prompt is too long") for _ in range(13))
    for number in range(13):
        await talk.facade.send(f"{number} " + "x" * 190_000)
    await talk.turns(13)
    assert (await talk.ask("hello")).turn == 14


async def test_a_conversation_without_compaction_outlives_the_payload_limit(talk: Talk) -> None:
    """With the policy off, the carried state may pass what Temporal carries."""
    window = {"enabled": False, "context_window": 10_000_000}
    await talk.start({"turns_per_run": 13, "policy": window})
    for number in range(13):
        await talk.facade.send(f"{number} " + "x" * 190_000)
    await talk.turns(13)
    assert (await talk.ask("hello")).turn == 14
