"""The context: where the memory stands in it, and what never changes in it."""

from datetime import timedelta
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.memory.blocks import Block
from perdure.memory.plan import next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import context_text, context_tokens, project, project_within
from perdure.memory.state import Memory, append, mark, pin
from tests.support.conversations import (
    EXCHANGES,
    START,
    Said,
    compact_once,
    say,
    text_block,
)

POLICY = MemoryPolicy(message_budget=600, observation_budget=400, level_budget=300)
SYSTEM = "Answer in verse."


def test_the_memory_is_the_first_user_message_one_block_an_entry() -> None:
    memory = Memory()
    for number in range(40):
        memory = say(memory, Said("word " * 30, (), "reply " * 10, pinned=False), number)
        if plan := next_compaction(memory, POLICY):
            memory = compact_once(memory, plan)
    context = project(memory, SYSTEM, 4)
    blocks = context.messages[0]["content"]
    assert isinstance(blocks, list)
    entries = [b["text"] for b in blocks[1 : context.memory_blocks - 1]]
    assert entries == [o.text for o in memory.observations]
    levels = [o.level for o in memory.observations]
    assert levels == sorted(levels, reverse=True)
    assert len(set(levels)) > 1
    assert context.system == SYSTEM


@given(st.lists(EXCHANGES, min_size=2, max_size=12))
@settings(max_examples=40, deadline=None)
def test_between_compactions_the_context_only_grows_at_its_end(conversation: list[Said]) -> None:
    memory, before = Memory(), ""
    for number, said in enumerate(conversation):
        memory = append(memory, "user", [text_block(said.user)], START)
        memory = append(memory, "assistant", [text_block(said.reply)], START)
        after = str(project(memory, SYSTEM, 4).messages)
        assert number == 0 or after.startswith(before[:-1])
        before = after


def test_observing_leaves_what_stands_before_it_as_it_was() -> None:
    memory = Memory()
    for number in range(12):
        memory = say(memory, Said("word " * 30, (), "reply " * 10, pinned=False), number)
    plan = next_compaction(memory, POLICY)
    assert plan is not None
    first = compact_once(memory, plan)
    for number in range(12, 20):
        first = say(first, Said("word " * 30, (), "reply " * 10, pinned=False), number)
    plan = next_compaction(first, POLICY)
    assert plan is not None
    assert plan.parts[0].level == 1
    second = compact_once(first, plan)
    old, new = (project(m, SYSTEM, 4).messages[0]["content"] for m in (first, second))
    assert isinstance(old, list)
    assert isinstance(new, list)
    entries = len(first.observations) + 1
    assert old[:entries] == new[:entries]


def test_messages_of_one_role_are_merged_in_order() -> None:
    memory = Memory()
    for text in ("one", "two", "three"):
        memory = append(memory, "user", [text_block(text)], START)
    assert project(memory, "", 0).messages == [
        {"role": "user", "content": [text_block(t) for t in ("one", "two", "three")]}
    ]


def test_a_failed_message_is_in_no_request_and_no_text() -> None:
    memory = append(Memory(), "user", [text_block("bad")], START)
    memory = append(mark(memory, 0, failed=True), "user", [text_block("good")], START)
    assert "bad" not in str(project(memory, "", 0).messages) + context_text(memory)


def test_the_text_has_a_dated_heading_and_roles_separated_by_blank_lines() -> None:
    memory = Memory()
    for number in range(12):
        memory = say(memory, Said(f"word{number} " * 30, (), "reply", pinned=False), number)
    plan = next_compaction(memory, POLICY)
    assert plan is not None
    memory = compact_once(memory, plan)
    end = START + timedelta(minutes=plan.parts[0].last_seq)
    blocks = context_text(memory).split("\n\n")
    assert blocks[0].splitlines()[0] == f"[Summary 2026-03-01 09:00 - {end:%Y-%m-%d %H:%M}]"
    assert blocks[-1] == "assistant: reply"
    assert len(blocks) == len(memory.observations) + len(memory.messages)


def test_a_pinned_note_stands_behind_the_entries() -> None:
    memory = pin(Memory(), "never mention prices", START, 4)
    memory = append(memory, "user", [text_block("hello")], START)
    context = project(memory, "", 0)
    assert "never mention prices" in str(context.messages[0])
    assert context.tokens == context_tokens(memory, 0)


@given(st.lists(EXCHANGES, min_size=1, max_size=12), st.integers(100, 5_000))
@settings(max_examples=40, deadline=None)
def test_a_limited_context_keeps_the_newest_and_the_pairs(
    conversation: list[Said], limit: int
) -> None:
    memory = Memory()
    for number, said in enumerate(conversation):
        memory = say(memory, said, number)
    whole, part = project(memory, SYSTEM, 4), project_within(memory, SYSTEM, 4, limit)
    assert part.tokens <= max(limit, 4)
    assert not part.messages or part.messages[-1] == whole.messages[-1]
    kinds = [b["type"] for m in part.messages for b in cast("list[Block]", m["content"])]
    assert kinds.count("tool_use") == kinds.count("tool_result")


def test_the_hash_is_of_the_content_and_not_of_counts() -> None:
    memory = append(Memory(), "user", [text_block("hello")], START)
    assert project(memory, "s", 1).sha256 == project(memory, "s", 99).sha256
    assert project(memory, "s", 1).sha256 != project(memory, "t", 1).sha256
