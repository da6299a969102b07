"""Whatever is said, the memory tiles the conversation, stays bounded, and can be sent."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.memory.plan import next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import context_tokens, project
from perdure.memory.state import Memory, check
from tests.support.conversations import (
    EXCHANGES,
    POLICIES,
    Said,
    compact_fully,
    compact_once,
    say,
    stands_alone,
)

CONVERSATIONS = st.lists(EXCHANGES, min_size=1, max_size=30)


@given(CONVERSATIONS, POLICIES)
@settings(max_examples=60, deadline=None)
def test_the_memory_tiles_the_conversation_at_every_step(
    conversation: list[Said], policy: MemoryPolicy
) -> None:
    memory = Memory()
    for number, said in enumerate(conversation):
        memory = say(memory, said, number)
        check(memory)
        while (plan := next_compaction(memory, policy)) is not None:
            memory = compact_once(memory, plan)
            check(memory)
            assert stands_alone(memory)


@given(CONVERSATIONS, POLICIES)
@settings(max_examples=40, deadline=None)
def test_every_request_pairs_calls_with_results_and_alternates_roles(
    conversation: list[Said], policy: MemoryPolicy
) -> None:
    memory = Memory()
    for number, said in enumerate(conversation):
        memory = compact_fully(say(memory, said, number), policy)
        messages = project(memory, "system", 1).messages
        roles = [m["role"] for m in messages]
        assert roles == ["user" if i % 2 == 0 else "assistant" for i in range(len(roles))]
        calls: list[str] = []
        for message in messages:
            blocks = message["content"]
            assert isinstance(blocks, list)
            results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
            assert results == calls
            assert all(b["type"] == "tool_result" for b in blocks[: len(results)])
            calls = [b["id"] for b in blocks if b["type"] == "tool_use"]
        assert calls == []


@given(CONVERSATIONS, POLICIES)
@settings(max_examples=40, deadline=None)
def test_pinned_messages_stay_word_for_word(conversation: list[Said], policy: MemoryPolicy) -> None:
    memory = Memory()
    for number, said in enumerate(conversation):
        memory = compact_fully(say(memory, said, number), policy)
    shown = str(project(memory, "", 0).messages)
    kept = [p.text.removeprefix("user: ") for p in memory.pins]
    kept += [m.text for m in memory.messages if m.pinned]
    assert kept == [said.user for said in conversation if said.pinned]
    assert all(str(text) in shown or repr(text)[1:-1] in shown for text in kept)


def test_the_context_of_a_very_long_conversation_stays_bounded() -> None:
    policy = MemoryPolicy(
        message_budget=500, observation_budget=500, level_budget=500, observe_chunk=200
    )
    memory, turns = Memory(), 3_000
    for number in range(turns):
        said = Said(f"message {number} " + "word " * 20, (), "reply " * 20, pinned=False)
        memory = compact_fully(say(memory, said, number), policy)
    highest = memory.levels[0]
    # Each level holds at most its budget and one entry more; a level takes 2.5 of the one below.
    assert context_tokens(memory, 0) < 700 * (highest + 1)
    assert highest <= 2 + math.log(memory.raw_tokens / 500, 2)
    assert memory.observations[0].first_seq == 0
