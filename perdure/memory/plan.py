"""When the memory is compacted, and which parts of it."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from perdure.memory.groups import cuts
from perdure.memory.message import Message
from perdure.memory.observation import ENTRY_OVERHEAD, Observation
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import context_tokens
from perdure.memory.state import Memory

Urgency = Literal["background", "blocking", "emergency"]
# The workflow state is carried through one Temporal payload, which may hold 2 MB.
STATE_BYTES = 1_000_000
# A shorter summary says nothing.
MIN_TARGET = 32
# A smaller source cannot give a summary of MIN_TARGET tokens, framed, that is progress.
MIN_SOURCE = 70


class Part(BaseModel):
    """One entry to be made: of `level`, from the messages or entries that cover a range.

    `source_tokens` is what the source weighs now, `target_tokens` what the result should.
    """

    model_config = ConfigDict(frozen=True)

    level: int
    first_seq: int
    last_seq: int
    source_tokens: int
    target_tokens: int


class Plan(BaseModel):
    """Parts that are compacted at the same time and applied in their order.

    `facts_only`: of their sources nothing but the facts is to be left.
    """

    model_config = ConfigDict(frozen=True)

    urgency: Urgency
    parts: list[Part]
    facts_only: bool = False


def weigh(memory: Memory, sources: Sequence[Message | Observation]) -> int:
    """What the sources take in the context now; elided messages take little of it."""
    return sum(memory.weigh(s) if isinstance(s, Message) else s.weight for s in sources)


def target_of(tokens: int, ratio: float) -> int:
    """Tokens that an entry should have, content and facts, to be `ratio` times smaller."""
    return max(MIN_TARGET, round(tokens / ratio) - ENTRY_OVERHEAD)


def part_from(
    memory: Memory, level: int, sources: Sequence[Message | Observation], ratio: float
) -> Part:
    """The part that makes an entry of `level` from its sources, `ratio` times smaller."""
    first, last = sources[0], sources[-1]
    tokens = weigh(memory, sources)
    return Part(
        level=level,
        first_seq=first.seq if isinstance(first, Message) else first.first_seq,
        last_seq=last.seq if isinstance(last, Message) else last.last_seq,
        source_tokens=tokens,
        target_tokens=target_of(tokens, ratio),
    )


def kept_from(
    messages: Sequence[Message], policy: MemoryPolicy, open_from: int, crowded: bool = False
) -> int:
    """Index where the verbatim tail starts: a cut, never behind `open_from`.

    A tail that is crowded, by messages or bytes and not by tokens, keeps its newer half.
    """
    tail, start = 0, len(messages)
    while start > 0 and tail + messages[start - 1].weight <= policy.tail_tokens:
        start -= 1
        tail += messages[start].weight
    fewest = max(0, len(messages) - policy.keep_recent_messages)
    if sum(m.weight for m in messages[fewest:]) <= policy.message_budget:
        start = min(start, fewest)
    if crowded:
        start = max(start, len(messages) // 2)
    start = min(start, open_from)
    return max(cut for cut in cuts(messages) if cut <= start)


def chunks(memory: Memory, places: Sequence[int], chunk: int) -> list[Sequence[Message]]:
    """The messages from the first of some cuts to the last, in runs of about `chunk` tokens.

    Whole messages are what the summariser reads, so it is those that are weighed.

    What is left at the end and too small to be worth an entry waits for the next time.
    """
    messages, start, end = memory.messages, places[0], places[-1]
    total = sum(m.weight for m in messages[start:end])
    even = total / max(1, round(total / chunk))
    runs: list[Sequence[Message]] = []
    done = 0
    for cut in places[1:]:
        weight = sum(m.weight for m in messages[start:cut])
        full = cut == end or done + weight >= even * (len(runs) + 1)
        if full and weigh(memory, messages[start:cut]) >= MIN_SOURCE:
            runs.append(messages[start:cut])
            start, done = cut, done + weight
    return runs


def _observe(
    memory: Memory, policy: MemoryPolicy, open_seq: int | None, crowded: bool
) -> list[Part]:
    offset = memory.next_seq - len(memory.messages)
    open_from = len(memory.messages) if open_seq is None else max(0, open_seq - offset)
    end = kept_from(memory.messages, policy, open_from, crowded)
    places = [cut for cut in cuts(memory.messages) if cut <= end]
    return [
        part_from(memory, 1, chunk, policy.target_ratio)
        for chunk in chunks(memory, places, policy.observe_chunk)
    ]


def _reflect(memory: Memory, policy: MemoryPolicy, level: int) -> list[Part]:
    entries = memory.level(level)
    half, taken, weight = memory.level_tokens(level) / 2, 0, 0
    while weight < half or (weight < MIN_SOURCE and taken < len(entries)):
        weight += entries[taken].weight
        taken += 1
    if weight < MIN_SOURCE:
        return []
    return [part_from(memory, level + 1, entries[:taken], policy.reflect_ratio)]


def _reflect_ahead(memory: Memory, policy: MemoryPolicy, parts: Sequence[Part]) -> list[Part]:
    """Reflections that the results of `parts` will make due, level by level.

    Made at the same time and taken in together, they break the provider's prompt cache once.
    """
    ahead: list[Part] = []
    coming, level = sum(p.target_tokens + ENTRY_OVERHEAD for p in parts), 1
    while memory.level_tokens(level) + coming > policy.budget(level):
        made = _reflect(memory, policy, level) if memory.level(level) else []
        if not made:
            break
        ahead += made
        coming, level = made[0].target_tokens + ENTRY_OVERHEAD, level + 1
    return ahead


def _frugal(policy: MemoryPolicy) -> MemoryPolicy:
    """The policy for a full window: only as much of a tail as leaves room for the rest."""
    tail = min(policy.tail_tokens, policy.input_limit // 5)
    return policy.model_copy(update={"keep_recent": tail, "keep_recent_messages": 0})


def state_bytes(memory: Memory) -> int:
    """UTF-8 bytes of the parts of the memory that grow: messages, entries, pins."""
    texts = [o.body for o in memory.observations] + [p.text for p in memory.pins]
    return sum(len(t.encode()) for t in texts) + sum(m.size for m in memory.messages)


def next_compaction(
    memory: Memory,
    policy: MemoryPolicy,
    *,
    system_tokens: int = 0,
    open_seq: int | None = None,
    step_seq: int | None = None,
    now: bool = False,
) -> Plan | None:
    """What should be compacted next, or None.

    `open_seq` is the message that a turn in progress answers; it and what follows stay. When
    nothing before it can go, the turn's own steps before `step_seq`, its newest, do.
    `now` asks for a compaction of the messages below any threshold. Messages come before
    levels: from `observe_at` of their budget in the background, from the whole budget (or
    `message_limit`, or the byte budget) before the next model call. A level that is over its
    budget, or will be with what is being made, has its oldest half reflected. From
    `emergency_at` of the window the plan is an emergency, which is met without a model.
    """
    if not policy.enabled and not now:
        return None
    limit = policy.emergency_at * policy.input_limit
    full = system_tokens < limit < context_tokens(memory, system_tokens)
    tokens, budget = memory.message_tokens, policy.message_budget
    crowded = state_bytes(memory) > STATE_BYTES or (
        policy.message_limit is not None and len(memory.messages) > policy.message_limit
    )
    over = crowded or tokens >= budget
    if now or full or over or tokens >= policy.observe_at * budget:
        frugal = _frugal(policy) if full else policy
        parts = _observe(memory, frugal, open_seq, crowded)
        if not parts and step_seq is not None:
            parts = _observe(memory, frugal, step_seq, crowded)
        if parts:
            urgency: Urgency = "emergency" if full else "blocking" if over else "background"
            return Plan(urgency=urgency, parts=[*parts, *_reflect_ahead(memory, policy, parts)])
    for level in reversed(memory.levels):
        weight = memory.level_tokens(level)
        if weight > policy.budget(level) or (full and level == min(memory.levels)):
            parts = _reflect(memory, policy, level)
            if parts:
                return Plan(urgency="emergency" if full else "background", parts=parts)
    return None


def idle_compaction(memory: Memory, policy: MemoryPolicy) -> Plan | None:
    """What should be compacted in the quiet, or None if that is too little to be worth it."""
    plan = next_compaction(memory, policy, now=True) if policy.enabled else None
    leaving = 0 if plan is None else sum(p.source_tokens for p in plan.parts if p.level == 1)
    return plan if leaving >= max(1, policy.tail_tokens) else None
