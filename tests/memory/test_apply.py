"""What takes the place of its source, and what is refused."""

from datetime import timedelta

import pytest

from perdure.memory.apply import NoProgress, apply
from perdure.memory.plan import Part, next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.sources import StalePart
from tests.support.conversations import START, compact_once, summary, talked

POLICY = MemoryPolicy(message_budget=1_000, observation_budget=400, level_budget=300)


def test_a_result_that_is_blank_or_hardly_smaller_is_refused() -> None:
    memory = talked(16)
    plan = next_compaction(memory, POLICY)
    assert plan is not None
    part = plan.parts[0]
    for tokens in (part.source_tokens, round(part.source_tokens * 0.81)):
        with pytest.raises(NoProgress, match="weighs"):
            apply(memory, part, summary(part, tokens), START)
    with pytest.raises(NoProgress):
        apply(memory, part, summary(part).model_copy(update={"content": " \n"}), START)


def test_a_result_whose_range_was_compacted_meanwhile_is_refused() -> None:
    memory = talked(16)
    plan = next_compaction(memory, POLICY)
    assert plan is not None
    after = compact_once(memory, plan)
    with pytest.raises(StalePart):
        apply(after, plan.parts[0], summary(plan.parts[0]), START)
    later = Part(level=1, first_seq=4, last_seq=9, source_tokens=500, target_tokens=90)
    with pytest.raises(StalePart, match="not the oldest"):
        apply(memory, later, summary(later), START)


def test_an_entry_covers_times_and_tokens_of_what_it_replaced() -> None:
    memory = talked(16)
    plan = next_compaction(memory, POLICY)
    assert plan is not None
    part = plan.parts[0]
    _, entry = apply(memory, part, summary(part), START + timedelta(days=1))
    covered = memory.messages[: part.last_seq + 1]
    assert (entry.start_time, entry.end_time) == (covered[0].at, covered[-1].at)
    assert entry.message_count == len(covered)
    assert entry.original_tokens == sum(m.weight for m in covered)
    assert entry.compression_ratio() == pytest.approx(entry.original_tokens / part.target_tokens)
