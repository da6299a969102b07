"""Random conversations for property tests: text, parallel tool calls, pins and failures."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from perdure.memory.apply import Compacted, apply
from perdure.memory.blocks import Block
from perdure.memory.groups import cuts
from perdure.memory.message import Role
from perdure.memory.plan import Part, Plan, next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.state import Memory, append, with_counts

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@dataclass(frozen=True)
class Said:
    """One exchange: a user text, tool calls with the sizes of their results, a reply."""

    user: str
    results: tuple[int, ...]
    reply: str
    pinned: bool


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=300)
EXCHANGES = st.builds(
    Said,
    user=TEXTS.filter(str.strip),
    results=st.lists(st.integers(1, 2_000), max_size=3).map(tuple),
    reply=TEXTS.filter(str.strip),
    pinned=st.sampled_from([False, False, False, False, True]),
)
POLICIES = st.builds(
    MemoryPolicy,
    message_budget=st.integers(200, 4_000),
    observation_budget=st.integers(100, 2_000),
    level_budget=st.integers(100, 1_000),
    keep_recent_messages=st.integers(0, 6),
    observe_chunk=st.integers(100, 2_000),
    context_window=st.just(1_000_000),
)


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def say(memory: Memory, said: Said, number: int) -> Memory:
    """The memory after one exchange; every message takes a minute."""

    def at() -> datetime:
        return START + timedelta(minutes=memory.next_seq)

    memory = append(memory, "user", [text_block(said.user)], at(), pinned=said.pinned)
    if said.results:
        ids = [f"call_{number}_{i}" for i in range(len(said.results))]
        calls: list[Block] = [
            {"type": "tool_use", "id": id_, "name": "look", "input": {"n": i}}
            for i, id_ in enumerate(ids)
        ]
        results: list[Block] = [
            {"type": "tool_result", "tool_use_id": id_, "content": "x" * size}
            for id_, size in zip(ids, said.results, strict=True)
        ]
        memory = append(memory, "assistant", calls, at())
        memory = append(memory, "user", results, at())
    return append(memory, "assistant", [text_block(said.reply)], at())


def spoken(*said: tuple[Role, str | list[Block]]) -> Memory:
    """The memory after these messages, all of one moment."""
    memory = Memory()
    for role, content in said:
        blocks = [text_block(content)] if isinstance(content, str) else content
        memory = append(memory, role, blocks, START)
    return memory


def talked(turns: int) -> Memory:
    """The memory after so many exchanges, a token a word."""
    memory = Memory()
    for number in range(turns):
        said = Said(f"{number} " + "word " * 40, (), "reply " * 10, pinned=False)
        memory = say(memory, said, number)
    return with_counts(memory, {m.seq: len(m.text.split()) for m in memory.messages})


def summary(part: Part, tokens: int | None = None) -> Compacted:
    """A result that weighs what was aimed for, or `tokens`."""
    return Compacted(
        content=f"summary of {part.first_seq}-{part.last_seq}",
        tokens=part.target_tokens if tokens is None else tokens,
        method="model",
        model="test",
        prompt_version="test-1",
        identity="0" * 64,
    )


def compact_once(memory: Memory, plan: Plan) -> Memory:
    for part in plan.parts:
        memory, _ = apply(memory, part, summary(part), START)
    return memory


def compact_fully(memory: Memory, policy: MemoryPolicy) -> Memory:
    """Compact until nothing is due; more than 100 rounds would be a loop."""
    for _ in range(100):
        plan = next_compaction(memory, policy)
        if plan is None:
            return memory
        memory = compact_once(memory, plan)
    raise AssertionError("compaction does not come to an end")


def stands_alone(memory: Memory) -> bool:
    """Whether the verbatim tail can be sent as it is."""
    return len(memory.messages) in cuts(memory.messages)
