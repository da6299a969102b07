"""What goes to the model, whatever came in and whatever it said itself."""

import json
from typing import Any

import pytest

from perdure.memory.blocks import IMPORT_BLOCKS, Block, is_blank
from perdure.memory.thinking import is_thinking
from tests.field_reports.conftest import Wire, text_of, without_marks
from tests.model.test_recorded_exchanges import EXCHANGES, as_blocks, exchanges, without_nulls
from tests.support.answers import blocks, notes, text
from tests.support.talk import raw, texts

SMALL = {"message_budget": 600, "observe_chunk": 300, "observe_at": 1.0}
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|fim_prefix|>", "<|endofprompt|>")
THINKING: Block = {"type": "thinking", "thinking": " Hm.\n\nWell. ", "signature": "c2lnbmVk=="}
REDACTED: Block = {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}


def long(number: int) -> str:
    return f"number {number}: " + "word " * 60


def result(id_: str, content: Any) -> list[dict[str, Any]]:
    """A call and its result, as they are imported."""
    call = {"type": "tool_use", "id": id_, "name": "look", "input": {"at": id_}}
    answer = {"type": "tool_result", "tool_use_id": id_, "content": content}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]


@pytest.mark.parametrize("ends_with", ["user", "assistant"])
async def test_messages_of_one_role_in_a_row(wire: Wire, ends_with: str) -> None:
    """O5: nothing is merged away, and the summary is not among the user's words."""
    talk = wire.talk
    await talk.start({"system": "s", "policy": SMALL})
    said = [{"role": "user", "content": long(n)} for n in range(12)]
    said += [{"role": "user", "content": f"kept {n}"} for n in range(3)]
    if ends_with == "assistant":
        said += [{"role": "assistant", "content": f"told {n}"} for n in range(2)]
    await talk.facade.import_messages(said)
    spoken = ["the first one", "the second one", "the third one"]
    for line in spoken:
        await talk.say(line)
    await talk.turns(3)
    messages = wire.replies[-1]["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"]
    shown = texts(messages)
    assert [t for t in shown if t in spoken] == spoken
    assert [t for t in shown if t.startswith("kept")] == ["kept 0", "kept 1", "kept 2"]
    assert shown[0].startswith("<memory>") or "earlier part" in shown[0]
    assert not any("kept" in t and "Summary" in t for t in shown)


async def test_replies_without_text(wire: Wire) -> None:
    """O6: empty content, an empty text, a blank one, one beside a call."""
    talk = wire.talk
    await talk.start({"system": "s"})
    call: Block = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    empties: list[list[Block]] = [
        [],
        [{"type": "text", "text": ""}],
        [{"type": "text", "text": "\n"}],
        [{"type": "text", "text": ""}, call],
    ]
    for number, content in enumerate(empties):
        wire.api.script(blocks(*content))
        await talk.ask(f"message {number}")
        await talk.ask(f"and {number}?")
    wire.api.script(text("It ends in white space. \n"))
    await talk.ask("once more")
    assert (await talk.ask("good")).text == "Reply to: good"
    assert [t for t in texts(wire.replies[-1]["messages"]) if t.startswith("message")] == [
        f"message {number}" for number in range(len(empties))
    ]


async def test_texts_that_look_like_special_tokens(wire: Wire) -> None:
    """O11: in the system prompt, texts, results, and the name and input of a tool."""
    talk = wire.talk
    await talk.start({"system": f"Mind {SPECIAL[0]}."})
    call = {"type": "tool_use", "id": "t", "name": SPECIAL[1], "input": {SPECIAL[2]: SPECIAL[3]}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": " ".join(SPECIAL)}
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "word " * 300 + SPECIAL[0] + " word" * 300},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [answer]},
        {"role": "assistant", "content": SPECIAL[1]},
    ]
    await talk.facade.import_messages(said)
    for special in SPECIAL:
        await talk.ask(special)
    request = wire.replies[-1]
    assert request["system"][0]["text"] == f"Mind {SPECIAL[0]}."
    assert without_marks(request["messages"][:4]) == [
        {**m, "content": as_blocks(m["content"])} for m in said
    ]
    assert [t for t in texts(request["messages"]) if t in SPECIAL[1:]].count(SPECIAL[3]) == 1


async def test_what_utf8_and_postgresql_cannot_hold(wire: Wire) -> None:
    """O13: from the user, in a call and its result, from the model, in a summary."""
    talk = wire.talk
    await talk.start({"system": "s", "policy": SMALL})
    imported = (
        rb'{"messages": [{"role": "user", "content": "look"}, {"role": "assistant", "content": '
        rb'[{"type": "tool_use", "id": "t", "name": "look", "input": {"\udc88": "\ud83dx"}}]}, '
        rb'{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", '
        rb'"content": "a\u0000b \ud83d\ude00"}]}]}'
    )
    await talk.update("import_messages", raw(imported))
    wire.api.script(
        text("half \ud83d of a pair, \x00 and \U0001f469\u200d\U0001f467", escapes=True)
    )
    await talk.signal("user_message", raw(rb'"x\ud83dy"'))
    await talk.turns(1)
    shown = json.dumps(wire.replies[-1]["messages"], ensure_ascii=False)
    assert '{"\ufffd": "\ufffdx"}' in shown
    assert "a\ufffdb \U0001f600" in shown
    wire.api.script_summaries(text('{"gist": "A cat \\udc88 and a \\u0000 dog."}'))
    for number in range(8):
        await talk.ask(long(number))
    await wire.compacted()
    told = "half \ufffd of a pair, \ufffd and \U0001f469\u200d\U0001f467"
    record = await wire.record()
    assert record[3:5] == ["x\ufffdy", told]
    assert "A cat \ufffd and a \ufffd dog." in await talk.query("context_text")


async def test_thinking_goes_out_as_it_was_signed_or_not_at_all(wire: Wire) -> None:
    """O21: whole while its tool loop is open, not at all behind it, and not to a summariser."""
    talk = wire.talk
    await talk.start({"system": "s", "policy": SMALL})
    call: Block = {"type": "tool_use", "id": "t", "name": "look", "input": {"a": 1}}
    said: list[Block] = [THINKING, REDACTED, {"type": "text", "text": "I look."}, call]
    wire.api.script(blocks(*said))
    await talk.ask("look")
    await talk.ask("and?")
    for number in range(10):
        await talk.ask(long(number))
    assert (await talk.status())["totals"]["compactions"] >= 1
    signed = [
        (number, without_marks(message["content"]))
        for number, request in enumerate(wire.replies)
        for message in request["messages"]
        if "signature" in str(message) or "redacted" in str(message)
    ]
    assert signed == [(1, said)]
    assert "c2lnbmVk" not in str(wire.summaries)


@pytest.mark.skipif(not EXCHANGES.is_file(), reason="no recorded exchanges at ../shared/data")
async def test_recorded_exchanges_are_imported_and_go_out_as_they_were(wire: Wire) -> None:
    """O21 and O22: real server tools; thinking and a paused reply are left out as a whole."""
    policy = {"message_budget": 900_000, "context_window": 1_000_000}
    talk = wire.talk
    await talk.start({"system": "s", "policy": policy})
    expected: list[tuple[str, Block]] = []
    ids: set[str] = set()
    kinds: set[str] = set()
    for exchange in exchanges():
        answer = exchange["response"]
        said = [
            *exchange["request"]["messages"],
            {"role": "assistant", "content": answer["content"]},
        ]
        said = [{"role": m["role"], "content": as_blocks(m["content"])} for m in said]
        found = [b for m in said for b in m["content"]]
        types = {b["type"] for b in found}
        mine = {str(b["id"]) for b in found if "id" in b}
        rare = types & {"thinking", "redacted_thinking", "server_tool_use"}
        known = types <= {*IMPORT_BLOCKS, "text"} and not mine & ids
        if not rare or not known or answer["stop_reason"] == "tool_use":
            continue
        await talk.facade.import_messages(said)
        if answer["stop_reason"] == "pause_turn":
            # Its last call is open; the API would refuse it before another message.
            said.pop()
        expected += [
            (m["role"], b) for m in said for b in without_marks(without_nulls(m["content"]))
        ]
        ids |= mine
        kinds |= types | {answer["stop_reason"]}
    assert {"thinking", "redacted_thinking", "server_tool_use", "pause_turn"} <= kinds
    await talk.ask("go on")
    sent = [
        (m["role"], without_marks(b)) for m in wire.replies[-1]["messages"] for b in m["content"]
    ]
    left = [(r, b) for r, b in expected if not is_blank(b) and not is_thinking(b)]
    assert sent[:-1] == left


async def test_cache_marks_do_not_pile_up(wire: Wire) -> None:
    """O23: of the user's own blocks, of memory entries, of old messages."""
    talk = wire.talk
    await talk.start({"system": "s", "policy": SMALL})
    mark = {"cache_control": {"type": "ephemeral"}}
    for number in range(12):
        await talk.ask(
            [
                {"type": "text", "text": long(number), **mark},
                {"type": "text", "text": f"and {number}", **mark},
            ]
        )
    assert (await talk.status())["totals"]["compactions"] >= 2
    assert all(json.dumps(r).count('"cache_control"') in (2, 3) for r in wire.replies)


@pytest.mark.parametrize("lost", ["its end", "its connection"])
async def test_an_answer_that_was_lost_on_its_way_stands_once(wire: Wire, lost: str) -> None:
    """O26: it is asked for again, by Temporal and nobody else."""
    talk = wire.talk
    await talk.start({"system": "s"})
    whole = text("The oven is hot.")
    wire.api.script(
        whole.but(cut_after=5) if lost == "its end" else whole.but(reset_after=5), whole
    )
    assert (await talk.ask("Is it?")).text == "The oven is hot."
    assert len(wire.replies) == 2
    assert wire.replies[0] == wire.replies[1]
    assert await wire.record() == ["Is it?", "The oven is hot."]


async def test_instructions_outlive_compactions_and_runs(wire: Wire) -> None:
    """O19: the system prompt byte for byte, and what the user said at the beginning."""
    talk = wire.talk
    system = "End each answer with ZEBRA-7.\n\tAlways. "
    policy = {**SMALL, "observation_budget": 300, "level_budget": 300}
    await talk.start({"system": system, "policy": policy, "turns_per_run": 9})
    wire.api.rule = lambda _: notes(gist="We talked about this and that.")
    await talk.ask("Never mention prices to me. Call me Maren.")
    checked: set[int] = set()
    number = 0
    while not {1, 2, 5} <= checked:
        await talk.ask(f"This is question {number}. " + "It is about bread. " * 20)
        number += 1
        status = await talk.status()
        done = status["totals"]["compactions"]
        checked |= {n for n in (1, 2, 5) if done >= n}
        assert "Never mention prices" in await talk.query("context_text"), done
        assert number < 60
    assert status["totals"]["runs"] >= 2
    for request in wire.replies:
        assert [block["text"] for block in request["system"]] == [system]
        assert system not in text_of(request["messages"][0])
