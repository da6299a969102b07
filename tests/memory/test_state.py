"""What must hold of a memory, however it came about."""

import pytest

from perdure.memory.policy import MemoryPolicy
from perdure.memory.state import InvariantError, check, mark
from tests.support.conversations import compact_fully, talked

POLICY = MemoryPolicy(message_budget=1_000, observation_budget=400, level_budget=300)


def test_the_tiling_check_finds_gaps_overlaps_and_wrong_ends() -> None:
    memory = compact_fully(talked(40), POLICY.model_copy(update={"observe_chunk": 500}))
    check(memory)
    broken = [
        memory.model_copy(update={"messages": memory.messages[1:]}),
        memory.model_copy(update={"messages": memory.messages[:-1]}),
        memory.model_copy(update={"observations": memory.observations[1:]}),
        memory.model_copy(update={"observations": memory.observations[::-1]}),
    ]
    for fault in broken:
        with pytest.raises(InvariantError):
            check(fault)


def test_a_failed_message_weighs_nothing_and_stays_in_the_log() -> None:
    memory = talked(3)
    failed = mark(memory, 0, failed=True)
    assert failed.message_tokens == memory.message_tokens - memory.messages[0].weight
    check(failed)
