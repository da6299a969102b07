"""What is said is answered once, in order, word for word."""

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowQueryFailedError, WorkflowUpdateFailedError

from perdure.contract import ConversationConfig, Receipt
from perdure.conversation import Conversation
from perdure.errors import (
    ConversationExists,
    ConversationNotFound,
    PerdureError,
    Refused,
    TurnFailed,
)
from tests.support.scripted import lasting
from tests.support.talk import Talk, raw, texts

BLNS = Path(__file__).parents[3] / "shared" / "data" / "blns.json"
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|fim_prefix|>", "<|endofprompt|>"]


async def test_ask_waits_for_the_reply_and_its_receipt_holds_no_text(talk: Talk) -> None:
    await talk.start()
    receipt = await talk.update("ask", "hello")
    known = {"message_id": "#1", "turn": 1, "reply_seq": 1, "stop_reason": "end_turn"}
    assert receipt == known
    assert Receipt.model_validate(receipt) == Receipt(**known)
    reply = await talk.query("reply")
    assert (reply["turn"], reply["seq"], reply["stop_reason"]) == (1, 1, "end_turn")
    assert reply["text"] == "I heard: hello"
    assert reply["content"] == [{"type": "text", "text": "I heard: hello"}]


async def test_a_message_may_be_a_string_or_an_object(talk: Talk) -> None:
    await talk.start()
    blocks = [{"type": "text", "text": "three"}, {"type": "text", "text": "four"}]
    for payload in ("one", {"content": "two"}, {"content": blocks, "id": "x", "pinned": False}):
        await talk.signal("user_message", payload)
    await talk.turns(3)
    assert await talk.user_texts() == ["one", "two", "three\nfour"]
    assert await talk.errors() == []


async def test_the_offline_model_answers_from_what_was_said(offline_talk: Talk) -> None:
    await offline_talk.start({"system": "Be brief."})
    await offline_talk.ask("My sister Hanna works at the harbour office in Lisbon.")
    await offline_talk.ask("Thanks!")
    reply = await offline_talk.ask("Where does Hanna work?")
    assert reply.text.startswith("(offline)")
    assert "harbour office" in reply.text
    context = await offline_talk.check_context()
    assert context["system"] == "Be brief."


async def test_each_kind_of_call_keeps_its_order(talk: Talk) -> None:
    await talk.start()
    for number in range(12):
        await talk.say(f"signal {number}")
    await asyncio.gather(*(talk.update("ask", f"ask {number}") for number in range(8)))
    await talk.turns(20)
    said = await talk.user_texts()
    assert [t for t in said if t.startswith("signal")] == [f"signal {n}" for n in range(12)]
    assert sorted(t for t in said if t.startswith("ask")) == [f"ask {n}" for n in range(8)]


@pytest.mark.parametrize("first", ["signal", "ask"])
@pytest.mark.parametrize("second", ["signal", "ask"])
@pytest.mark.parametrize("answered", [True, False], ids=["answered", "waiting"])
async def test_the_same_id_counts_once(talk: Talk, first: str, second: str, answered: bool) -> None:
    await talk.start()
    payload = {"content": "only once", "id": "same"}
    if not answered:
        talk.script.reply_gate.clear()

    async def send(how: str) -> Any:
        if how == "signal":
            return await talk.signal("user_message", payload)
        return await talk.update("ask", payload)

    calls = [asyncio.ensure_future(send(first))]
    await asyncio.wait_for(talk.script.reply_asked.wait(), 10)
    if answered:
        await calls[0]
        await talk.turns(1)
    calls.append(asyncio.ensure_future(send(second)))
    if not answered:
        await talk.say("another")
        talk.script.reply_gate.set()
    receipts = [r for r in await asyncio.gather(*calls) if r is not None]
    after = await talk.update("ask", payload)
    assert all(receipt == after for receipt in receipts)
    assert (await talk.user_texts()).count("only once") == 1
    assert await talk.errors() == []


async def test_the_same_id_with_other_content_is_refused(talk: Talk) -> None:
    await talk.start()
    await talk.ask("one", id="same")
    with pytest.raises(Refused, match="'same' was used before with other content"):
        await talk.ask("two", id="same")
    await talk.signal("user_message", {"content": "three", "id": "same"})
    await talk.noted("'same' was used before with other content")
    assert await talk.user_texts() == ["one"]


async def test_a_senders_id_never_meets_one_of_ours(talk: Talk) -> None:
    """The ids that messages without one get must not stand for anything that a sender names."""
    await talk.start()
    await talk.ask("mine", id="m2")
    await talk.say("nameless")
    await talk.turns(2)
    receipt = await talk.update("ask", {"content": "mine", "id": "m2"})
    assert receipt["turn"] == 1
    await talk.ask("one more", id="m4")
    assert (await talk.ask("mine too", id="m1")).text == "I heard: mine too"
    assert await talk.user_texts() == ["mine", "nameless", "one more", "mine too"]


async def test_messages_sent_without_waiting_are_all_in_the_later_requests(talk: Talk) -> None:
    await talk.start({"policy": {"message_budget": 300, "observe_chunk": 150}})
    spoken = ["the first one", "the second one", "the third one"]
    for text in spoken:
        await talk.say(text)
    await talk.turns(3)
    said = texts(talk.script.requests[-1]["messages"])
    assert [t for t in said if t in spoken] == spoken
    for number in range(8):
        await talk.ask(f"number {number}: " + "word " * 60)
    assert (await talk.status())["totals"]["compactions"] > 0
    spoken = [f"last {number}" for number in range(3)]
    for text in spoken:
        await talk.say(text)
    await talk.turns(14)
    for request in talk.script.requests[-3:]:
        roles = [m["role"] for m in request["messages"]]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    said = texts(talk.script.requests[-1]["messages"])
    assert [t for t in said if t in spoken] == spoken
    await talk.check_tiling()


async def test_a_blank_message_is_refused(talk: Talk) -> None:
    """O6."""
    await talk.start()
    blanks: list[Any] = ["", "   ", "\n\t ", [], [{"type": "text", "text": " "}]]
    for number, content in enumerate(blanks, start=1):
        for speak in (talk.facade.ask, talk.facade.send):
            with pytest.raises(Refused, match="the message is empty; send some text"):
                await speak(content)
        with pytest.raises(WorkflowUpdateFailedError):
            await talk.update("ask", {"content": content})
        await talk.signal("user_message", {"content": content})
        await talk.ask(f"hello {number}")
        assert len(await talk.errors()) == number
    assert await talk.user_texts() == [f"hello {n + 1}" for n in range(len(blanks))]


@pytest.mark.parametrize("size", [2_500_000, 6_000_000])
async def test_a_message_that_temporal_cannot_carry_is_refused(talk: Talk, size: int) -> None:
    await talk.start()
    with pytest.raises(Refused, match="more than the 1,900,000 that fit"):
        await talk.ask("x" * size)
    with pytest.raises(Refused, match="more than the 1,900,000 that fit"):
        await talk.facade.send("x" * size)
    await talk.ask("hello")


async def test_texts_like_special_tokens_are_only_text(offline_talk: Talk) -> None:
    """O11."""
    await offline_talk.start({"system": "Mind <|endoftext|> and <|im_start|>."})
    for text in [*SPECIAL, "word " * 500 + SPECIAL[0] + " word" * 500]:
        await offline_talk.ask(text)
    assert await offline_talk.user_texts() == [
        *SPECIAL,
        "word " * 500 + SPECIAL[0] + " word" * 500,
    ]
    counts = [m["tokens"] for m in await offline_talk.query("transcript") if m["role"] == "user"]
    assert all(count > 1 for count in counts)


@pytest.mark.parametrize("run", ["a", "^", "語"])
async def test_a_long_run_of_one_character_holds_nothing_up(offline_talk: Talk, run: str) -> None:
    """O12; that no workflow task failed is looked at behind every test."""
    await offline_talk.start()
    text = "x" + run * (199_000 // len(run.encode()))
    asking = asyncio.ensure_future(offline_talk.ask(text))
    answered = 0
    while not asking.done():
        await offline_talk.status()
        answered += 1
        await asyncio.wait({asking}, timeout=0.1)
    await asking
    assert answered > 0
    assert (await offline_talk.ask("hello")).text


async def test_a_long_run_of_white_space_is_refused(offline_talk: Talk) -> None:
    await offline_talk.start()
    for run in (" ", "\n"):
        with pytest.raises(Refused, match="the message is empty"):
            await offline_talk.ask(run * 100_000)
        await offline_talk.ask("so" + run * 100_000 + "what")


async def test_nul_characters_are_replaced_at_the_door(offline_talk: Talk) -> None:
    """O13."""
    await offline_talk.start({"system": "be\x00brief", "title": "a\x00b"})
    await offline_talk.ask("a\x00b 👩\u200d👩\u200d👧 c")
    await offline_talk.signal("user_message", raw(b'"d\\u0000e"'))
    await offline_talk.turns(2)
    assert await offline_talk.user_texts() == ["a\ufffdb 👩\u200d👩\u200d👧 c", "d\ufffde"]
    assert (await offline_talk.check_context())["system"] == "be\ufffdbrief"


async def test_half_of_a_surrogate_pair_from_python_is_replaced(talk: Talk) -> None:
    """O13: such a text cannot be put on the wire as it is."""
    await talk.start()
    for text in ("x\ud83dy", "\udc88", "\udc97 ok"):
        await talk.ask(text)
        await talk.facade.send(text)
    await talk.turns(6)
    assert set(await talk.user_texts()) == {"x\ufffdy", "\ufffd", "\ufffd ok"}


async def test_naughty_strings_are_carried_word_for_word(offline_talk: Talk) -> None:
    if not BLNS.exists():
        pytest.skip("the Big List of Naughty Strings is not beside this repository")
    naughty = [s for s in json.loads(BLNS.read_text(encoding="utf-8")) if s.strip()]
    chosen = random.Random(7).sample(naughty, 24)
    await offline_talk.start({"policy": {"message_budget": 20_000}})
    for text in chosen[:8]:
        await offline_talk.ask(text)
        await offline_talk.check_context()
    for text in chosen[8:]:
        await offline_talk.say(text)
    await offline_talk.turns(len(chosen), seconds=60)
    assert await offline_talk.user_texts() == [s.replace("\x00", "\ufffd") for s in chosen]
    await offline_talk.check_context()
    await offline_talk.query("context_text")


async def test_what_is_pinned_leaves_room_for_the_rest(talk: Talk) -> None:
    policy = {"context_window": 4_000, "reserve_output": 400, "message_budget": 800}
    await talk.start({"policy": policy})
    await talk.signal("pin", {"text": "a " * 500})
    await talk.signal("pin", {"text": "b " * 500})
    await talk.noted("pin: pinned texts may have 900 tokens together, a quarter of the window; ")
    await talk.ask("c " * 1_000, pinned=True)
    await talk.noted("was not pinned: pinned texts may have 900 tokens")
    await talk.signal("pin", {"seq": 0})
    # Pinned again, the first takes no more.
    await talk.signal("pin", {"text": "a " * 500})
    assert (await talk.ask("hello")).text.endswith("hello")
    assert (await talk.query("memory"))["pinned"] == 1
    assert len(await talk.errors()) == 3
    await talk.check_context()


async def test_what_is_pinned_is_never_compacted(talk: Talk) -> None:
    await talk.start({"policy": {"message_budget": 300, "observe_chunk": 150}})
    await talk.ask("Never mention prices.", pinned=True)
    await talk.signal("user_message", {"content": "Answer in Dutch.", "pinned": True})
    for number in range(12):
        await talk.ask(f"number {number}: " + "word " * 60)
    assert (await talk.status())["totals"]["compactions"] >= 2
    shown = await talk.query("context_text")
    assert shown.count("Never mention prices.") == 1
    assert shown.count("Answer in Dutch.") == 1
    assert "number 1:" not in shown
    assert (await talk.check_tiling())["pinned"] == 2
    # A small limit drops entries and messages, never what is pinned.
    small = await talk.query("context", {"max_tokens": 150})
    assert "Never mention prices." in "\n".join(texts(small["messages"]))


async def test_a_pin_that_is_taken_back_makes_room_for_another(talk: Talk) -> None:
    policy = {"context_window": 4_000, "reserve_output": 400, "message_budget": 800}
    await talk.start({"policy": policy})
    await talk.facade.pin("a " * 500)
    await talk.facade.pin("b " * 500)
    await talk.noted("pinned texts may have 900 tokens together")
    await talk.facade.unpin("a " * 500)
    await talk.facade.pin("b " * 500)
    assert (await talk.ask("hello")).text.endswith("hello")
    shown = await talk.query("context_text")
    assert ("b b b" in shown, "a a a" in shown) == (True, False)
    assert len(await talk.errors()) == 1
    await talk.check_context()


async def test_what_is_not_pinned_any_more_is_compacted_like_the_rest(talk: Talk) -> None:
    await talk.start({"policy": {"message_budget": 300, "observe_chunk": 150}})
    await talk.ask("Never mention prices.", pinned=True)
    await talk.ask("Answer in Dutch.", pinned=True)
    # One while it stands in the tail, the other when it has long left it.
    await talk.facade.unpin(2)
    for number in range(6):
        await talk.ask(f"number {number}: " + "word " * 60)
    shown = await talk.query("context_text")
    assert (await talk.check_tiling())["pinned"] == 1
    assert ("Never mention prices." in shown, "Answer in Dutch." in shown) == (True, False)
    await talk.facade.unpin(0)
    for number in range(6, 12):
        await talk.ask(f"number {number}: " + "word " * 60)
    assert "Never mention prices." not in await talk.query("context_text")
    assert (await talk.check_tiling())["pinned"] == 0
    assert await talk.errors() == []
    await talk.check_sound()


async def test_what_is_not_pinned_cannot_be_taken_back(talk: Talk) -> None:
    await talk.start()
    await talk.signal("pin", {"seq": 0, "pinned": False})
    await talk.noted("signal pin: message 0 is not pinned; nothing is")
    await talk.ask("Never mention prices.", pinned=True)
    await talk.signal("pin", {"text": "Answer in Dutch."})
    await talk.signal("pin", {"text": "Never mention prices.", "pinned": False})
    await talk.noted(
        "signal pin: 'Never mention prices.' is not pinned; take back one of these, notes by all "
        "their text: 'Answer in Dutch.', message 0"
    )
    await talk.signal("pin", {"seq": 0, "pinned": "no"})
    await talk.noted("signal pin: pinned must be true or false")
    assert (await talk.ask("hello")).text.endswith("hello")
    assert (await talk.query("transcript"))[0]["pinned"]
    assert len(await talk.errors()) == 3


async def test_the_last_replies_are_kept_word_for_word(talk: Talk) -> None:
    await talk.start({"policy": {"message_budget": 300, "observe_chunk": 150}})
    for number in range(14):
        await talk.ask(f"{number}: " + "word " * 40 + f"the end of {number}")
    assert (await talk.check_tiling())["messages"]["count"] < 10
    assert (await talk.facade.reply()).text.endswith("the end of 13")
    assert (await talk.facade.reply(6)).text.endswith("the end of 5")
    for turn in (2, 99):
        with pytest.raises(WorkflowQueryFailedError, match=f"the reply of turn {turn} is not kept"):
            await talk.query("reply", turn)
        with pytest.raises(PerdureError, match=f"reply of turn {turn} is not"):
            await talk.facade.reply(turn)


async def test_a_reply_that_is_a_failure_is_told_to_the_one_who_asked(talk: Talk) -> None:
    await talk.start()
    talk.script.replies.append(lasting("there is no key"))
    with pytest.raises(TurnFailed, match="there is no key"):
        await talk.ask("hello", id="first")
    with pytest.raises(TurnFailed, match="there is no key"):
        await talk.ask("hello", id="first")
    assert (await talk.ask("again")).turn == 2


async def test_a_conversation_begins_with_its_first_message_in_one_call(talk: Talk) -> None:
    config = ConversationConfig(system="Be brief.")
    begun, reply = await Conversation.begin(
        talk.client, talk.id, "hello", config, task_queue=talk.queue
    )
    assert reply.text == "I heard: hello"
    assert (await begun.context())["system"] == "Be brief."
    with pytest.raises(ConversationExists, match="runs already"):
        await Conversation.begin(talk.client, talk.id, "again", task_queue=talk.queue)
    other = f"{talk.id}-blank"
    with pytest.raises(Refused, match="empty"):
        await Conversation.begin(talk.client, other, " ", task_queue=talk.queue)
    with pytest.raises(ConversationNotFound):
        await Conversation.get(talk.client, other)
