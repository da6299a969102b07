"""Kinds of broken conversations from field reports, as far as the pure core decides them."""

from typing import Any

import pytest

from perdure.memory.blocks import Block
from perdure.memory.elide.decide import elide
from perdure.memory.message import Message, Role
from perdure.memory.plan import Plan, next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import project
from perdure.memory.sources import sources
from perdure.memory.state import Memory, append
from perdure.memory.stored import reference
from tests.support.conversations import START, compact_fully, compact_once, spoken, text_block
from tests.support.requests import violations

SMALL = MemoryPolicy(message_budget=600, keep_recent=0, keep_recent_messages=0, observe_chunk=100)


def uses(*ids: str) -> list[Block]:
    return [{"type": "tool_use", "id": i, "name": "look", "input": {}} for i in ids]


def answers(**sizes: int) -> list[Block]:
    return [
        {"type": "tool_result", "tool_use_id": i, "content": f"{i} " + "x" * size}
        for i, size in sizes.items()
    ]


def check_request(memory: Memory) -> list[dict[str, Any]]:
    messages = project(memory, "s", 1).messages
    assert violations({"system": "s", "messages": messages}) == []
    return messages


@pytest.mark.parametrize("keep", range(10))
@pytest.mark.parametrize("chunk", [100, 300, 5_000])
def test_no_choice_of_the_tail_orphans_a_tool_result(keep: int, chunk: int) -> None:
    """O1: nine messages with three calls, cut wherever the newest `keep` begin."""
    memory = spoken(
        ("user", "look " * 30),
        ("assistant", uses("a")),
        ("user", answers(a=300)),
        ("assistant", uses("b")),
        ("user", answers(b=300)),
        ("assistant", "seen " * 30),
        ("user", "again " * 30),
        ("assistant", uses("c")),
        ("user", answers(c=300)),
    )
    policy = SMALL.model_copy(update={"keep_recent_messages": keep, "observe_chunk": chunk})
    plan = next_compaction(memory, policy, now=True)
    for part in plan.parts if plan else []:
        memory = compact_once(memory, Plan(urgency="blocking", parts=[part]))
        check_request(append(memory, "user", [text_block("go on")], START))


@pytest.mark.parametrize("number", [2, 5])
@pytest.mark.parametrize("reverse", [False, True])
def test_parallel_calls_stay_together_with_all_their_results(number: int, reverse: bool) -> None:
    """O3: the budget runs out between one result and the next."""
    ids = [f"c{i}" for i in range(number)]
    results = answers(**{i: 5_000 if n == 0 else 200 for n, i in enumerate(ids)})
    memory = spoken(
        ("user", "look at all of them"),
        ("assistant", uses(*ids)),
        ("user", results[::-1] if reverse else results),
    )
    light = elide(append(memory, "assistant", [text_block("hm")], START), SMALL)
    for held in (memory, light):
        shown = check_request(held)
        found = [b for m in shown for b in m["content"] if b["type"] == "tool_result"]
        assert sorted(b["tool_use_id"] for b in found) == ids
    assert next_compaction(memory, SMALL, open_seq=0) is None
    after = compact_fully(append(memory, "assistant", [text_block("seen")], START), SMALL)
    assert "tool_" not in str(check_request(append(after, "user", [text_block("and?")], START)))


def test_a_call_that_waits_is_never_compacted_however_much_comes_after_it() -> None:
    """O4: its late result still finds it."""
    memory = spoken(("user", "ask my boss"), ("assistant", uses("late")))
    waiting = memory
    for number in range(10):
        memory = append(memory, "user", [text_block(f"{number} " + "word " * 60)], START)
        plan = next_compaction(elide(memory, SMALL), SMALL)
        assert plan is None or plan.parts[-1].last_seq == 0
    answered = append(waiting, "user", answers(late=50), START)
    shown = check_request(compact_fully(answered, SMALL))
    assert "late xx" in str(shown)


@pytest.mark.parametrize("place", ["first", "last", "a tool loop"])
def test_what_is_larger_than_the_budget_does_not_stop_compaction(place: str) -> None:
    """O7: a bounded number of summaries, and small messages go on."""
    huge = "word " * 2_000
    if place == "a tool loop":
        said: list[tuple[Role, str | list[Block]]] = [("user", "look")]
        for number in range(8):
            said += [("assistant", uses(f"t{number}")), ("user", answers(**{f"t{number}": 900}))]
        memory = spoken(*said, ("assistant", "done"))
    elif place == "first":
        memory = spoken(("user", huge), ("assistant", "well"))
    else:
        memory = spoken(("user", "hello"), ("assistant", "hi"), ("user", huge), ("assistant", "ok"))
    plans = 0
    while (plan := next_compaction(memory, SMALL)) is not None:
        memory, plans = compact_once(memory, plan), plans + 1
        assert plans < 10
    assert memory.message_tokens < SMALL.message_budget
    check_request(append(memory, "user", [text_block("hello")], START))


def test_a_tool_result_of_two_megabytes_is_shown_by_head_and_tail() -> None:
    """O8: with a notice of what is left out; elided it is a line."""
    text = "START " + "a" * 1_000_000 + " MIDDLE " + "b" * 1_000_000 + " END"
    whole: Block = {"type": "tool_result", "tool_use_id": "big", "content": text}
    stored = reference(whole, "ab" * 32, len(text))
    memory = spoken(("user", "read"), ("assistant", uses("big")), ("user", [stored]))
    policy = MemoryPolicy(message_budget=8_000)
    shown = str(check_request(memory))
    assert "START" in shown
    assert "END" in shown
    assert "left out here" in shown
    assert len(shown) < 5_000
    for number in range(4):
        memory = append(memory, "assistant", uses(f"s{number}"), START)
        memory = append(memory, "user", answers(**{f"s{number}": 1_000}), START)
    light = elide(memory, policy)
    assert "MIDDLE" not in str(check_request(light))
    assert next_compaction(light, policy) is None


def test_what_weighs_the_same_after_each_try_is_not_compacted_for_ever() -> None:
    """O18: the floor is above the threshold, so nothing is due that would free nothing."""
    pinned = spoken(("user", "hello"))
    for number in range(6):
        text = text_block(f"{number} " + "word " * 60)
        pinned = append(pinned, "user", [text], START, pinned=True)
    after = compact_fully(append(pinned, "assistant", [text_block("ok")], START), SMALL)
    assert next_compaction(after, SMALL, system_tokens=10_000) is None
    check_request(append(after, "user", [text_block("hi")], START))


def test_what_a_summariser_reads_is_a_chunk_and_never_the_whole_backlog() -> None:
    """O27: 5,000 messages that were never compacted."""
    messages = [
        Message(
            seq=number,
            role=("user", "assistant")[number % 2],
            content=[text_block(f"{number} " + "word " * 40)],
            at=START,
        )
        for number in range(5_000)
    ]
    memory = Memory(messages=messages, next_seq=len(messages))
    plan = next_compaction(memory, MemoryPolicy())
    assert plan is not None
    sizes = [sum(s.weight for s in sources(memory, part)) for part in plan.parts]
    assert max(sizes) <= 1.1 * MemoryPolicy().observe_chunk
    assert len(plan.parts) > 50
