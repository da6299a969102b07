"""Which part of a memory is compacted, and when."""

from perdure.memory.plan import next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.state import Memory, append
from tests.support.conversations import (
    START,
    Said,
    compact_fully,
    compact_once,
    say,
    talked,
    text_block,
)

POLICY = MemoryPolicy(message_budget=1_000, observation_budget=400, level_budget=300)


def test_nothing_is_due_below_the_threshold() -> None:
    assert next_compaction(talked(5), POLICY) is None


def test_background_comes_before_blocking() -> None:
    urgencies = []
    for turns in range(1, 25):
        plan = next_compaction(talked(turns), POLICY)
        urgencies.append(plan.urgency if plan else None)
    assert urgencies.index("background") < urgencies.index("blocking")
    assert urgencies == sorted(urgencies, key=[None, "background", "blocking"].index)


def test_the_newest_messages_stay() -> None:
    memory = talked(16)
    plan = next_compaction(memory, POLICY)
    assert plan is not None
    after = compact_once(memory, plan)
    assert POLICY.tail_tokens - 60 <= after.message_tokens <= POLICY.tail_tokens
    assert len(after.messages) >= POLICY.keep_recent_messages


def test_the_message_that_a_turn_answers_stays_however_large() -> None:
    memory = append(talked(3), "user", [text_block("huge " * 3_000)], START)
    plan = next_compaction(memory, POLICY, open_seq=memory.next_seq - 1)
    assert plan is not None
    assert plan.parts[-1].last_seq == memory.next_seq - 2
    alone = append(Memory(), "user", [text_block("huge " * 3_000)], START)
    assert next_compaction(alone, POLICY, open_seq=0) is None


def test_one_message_larger_than_the_budget_is_compacted_once_it_is_answered() -> None:
    memory = say(Memory(), Said("huge " * 3_000, (), "a reply", pinned=False), 0)
    after = compact_fully(memory, POLICY)
    assert after.observations
    assert after.message_tokens < POLICY.message_budget


def test_chunks_are_cut_between_tool_calls() -> None:
    memory = Memory()
    for number in range(6):
        memory = say(memory, Said("look", (300, 300, 300), "done", pinned=False), number)
    plan = next_compaction(memory, POLICY.model_copy(update={"observe_chunk": 500}))
    assert plan is not None
    assert len(plan.parts) > 1
    firsts = [part.first_seq for part in plan.parts]
    assert all(memory.messages[seq].content[0]["type"] != "tool_result" for seq in firsts)


def test_an_open_call_is_never_compacted() -> None:
    memory = append(Memory(), "user", [text_block("look")], START)
    call = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    memory = append(memory, "assistant", [call], START)
    for number in range(30):
        memory = say(memory, Said("word " * 60, (), "reply", pinned=False), number)
    plan = next_compaction(memory, POLICY)
    assert plan is None or plan.parts[-1].last_seq == 0


def test_the_oldest_half_of_a_full_level_is_reflected() -> None:
    memory, seen = Memory(), 0
    for number in range(200):
        said = Said("word " * 40, (), "reply " * 10, pinned=False)
        memory = say(memory, said, number)
        while (plan := next_compaction(memory, POLICY)) is not None:
            for part in [p for p in plan.parts if p.level == 2]:
                entries = memory.level(1)
                assert part.first_seq == entries[0].first_seq
                assert part.last_seq < entries[-1].last_seq
                assert part.source_tokens >= memory.level_tokens(1) / 2
                seen += 1
            memory = compact_once(memory, plan)
    assert seen > 3


def test_an_emergency_begins_at_its_share_of_the_window() -> None:
    policy = MemoryPolicy(message_budget=750, context_window=1_050, reserve_output=200)
    urgencies = [
        plan and plan.urgency for plan in (next_compaction(talked(n), policy) for n in (12, 13, 14))
    ]
    assert urgencies == ["background", "blocking", "emergency"]


def test_no_emergency_when_the_system_prompt_alone_is_too_large() -> None:
    policy = MemoryPolicy(message_budget=700, context_window=1_000, reserve_output=200)
    assert next_compaction(talked(2), policy, system_tokens=900) is None


def test_many_pictures_are_compacted_for_their_bytes() -> None:
    memory = Memory()
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 200_000}
    for _ in range(6):
        picture = {"type": "image", "source": source}
        memory = append(memory, "user", [text_block("look"), picture], START)
        memory = append(memory, "assistant", [text_block("nice")], START)
    policy = MemoryPolicy()
    assert memory.message_tokens < policy.observe_at * policy.message_budget
    plan = next_compaction(memory, policy)
    assert plan is not None
    assert plan.urgency == "blocking"
