"""A session ends, with or without its conversation, and what it came to can be read."""

from datetime import datetime

import pytest
from temporalio.exceptions import ApplicationError

from perdure.memory.session import Session
from tests.support.talk import Talk, soon

FIRST = (
    "I want to plan the bakery in Tannery Lane.",
    "Never quote prices without tax.",
    "We decided to buy the oven from Hallmoor.",
    "I have to call Hallmoor by Friday.",
)


async def test_a_session_ends_and_the_conversation_goes_on(talk: Talk) -> None:
    await talk.start()
    for said in FIRST:
        await talk.ask(said + " word" * 30)
    talk.script.summarise = lambda ref, sources: (
        "4 May 2026:\n" + "\n".join(f"user: {text}" for text in FIRST)
    )
    ended = await soon(talk.facade.end_session())
    assert ended["goal"] == "I want to plan the bakery in Tannery Lane"
    assert ended["decisions"] == ["We decided to buy the oven from Hallmoor"]
    assert ended["action_items"] == ["I have to call Hallmoor by Friday"]
    assert ended["preferences"] == ["Never quote prices without tax"]
    assert (ended["messages"], ended["turns"], ended["compactions"]) == (8, 4, 1)
    assert (ended["first_seq"], ended["seconds"] >= 0) == (0, True)
    assert datetime.fromisoformat(ended["first_at"]) <= datetime.fromisoformat(ended["last_at"])
    memory = await talk.check_tiling()
    assert memory["messages"]["count"] == 0
    assert ended["tokens"] == memory["raw_tokens"]
    # The next session counts from here, and closing ends it.
    assert (await talk.ask("What is next?")).text.endswith("What is next?")
    await talk.check_context()
    last = await talk.close()
    assert (last["messages"], last["turns"], last["first_seq"]) == (2, 1, 8)
    assert last["first_at"] >= ended["last_at"]
    assert [s["first_seq"] for s in await talk.query("sessions")] == [0, 8]


async def test_sessions_are_carried_and_stay_few(talk: Talk) -> None:
    await talk.start({"turns_per_run": 2})
    for number in range(7):
        await talk.ask(f"Session {number} " + "word " * 60)
        await soon(talk.facade.end_session())
    status = await talk.status()
    assert status["totals"]["sessions"] == 7
    assert status["totals"]["runs"] >= 3
    sessions = await talk.query("sessions")
    assert [session["first_seq"] for session in sessions] == [4, 6, 8, 10, 12]
    await talk.check_tiling()


async def test_an_ill_formed_end_is_noted(talk: Talk) -> None:
    await talk.start()
    await talk.signal("compact", {"session": "yes"})
    await talk.noted("signal compact: session must be true or false")
    await talk.signal("compact", {"session": True, "instructions": "x"})
    await talk.noted("either instructions or session")
    assert await talk.query("sessions") == []


async def test_what_cannot_be_told_is_still_counted(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ApplicationError("no words", non_retryable=True)

    monkeypatch.setattr("tests.support.scripted.told_in", broken)
    await talk.start()
    await talk.ask("We decided to go.")
    ended = Session.model_validate(await talk.close())
    assert (ended.messages, ended.decisions) == (2, [])
    assert "We decided to go." in ended.summary
    await talk.noted("a session ended with its counts alone: no words")
