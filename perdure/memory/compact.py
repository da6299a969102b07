"""When the memory is compacted, which part of it, and how a result is taken in."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from perdure.memory.groups import cuts, results
from perdure.memory.message import Message
from perdure.memory.observation import ENTRY_OVERHEAD, Method, Observation
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import context_tokens
from perdure.memory.state import Memory, Pin, checked
from perdure.memory.wire import sha256

Urgency = Literal["background", "blocking", "emergency"]
# The workflow state is carried through one Temporal payload, which may hold 2 MB.
STATE_BYTES = 1_000_000
# A shorter summary says nothing.
MIN_TARGET = 32
# A summary must be clearly smaller than its source.
PROGRESS = 0.8
# A smaller source cannot give a summary of MIN_TARGET tokens, framed, that is progress.
MIN_SOURCE = 70
PREVIOUS_CHARS = 600


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


class Compacted(BaseModel):
    """What a compaction activity gives back for one part; `tokens` are of content and facts."""

    model_config = ConfigDict(frozen=True)

    content: str
    facts: list[str] = []
    tokens: int
    method: Method
    model: str
    prompt_version: str
    identity: str


class StalePart(ValueError):
    """The part's range no longer stands in the memory as it did when it was planned."""


class NoProgress(ValueError):
    """The result is empty or not clearly smaller than its source; the originals stay."""


def identity(
    source_sha256: str, part: Part, policy: MemoryPolicy, prompt_version: str, model: str
) -> str:
    """Names a compaction, so that it is committed once however often it was tried; 32 hex."""
    named = sha256(
        {
            "source": source_sha256,
            "level": part.level,
            "target_tokens": part.target_tokens,
            "instructions": policy.instructions,
            "summary_schema": policy.summary_schema,
            "summary_template": policy.summary_template,
            "prompt_version": prompt_version,
            "model": model,
        }
    )
    return named[:32]


def most_tokens(source: int) -> int:
    """Tokens that the result of `source` tokens may have, content and facts, to be taken in."""
    return int(PROGRESS * source) - ENTRY_OVERHEAD


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


def previous_end(observations: Sequence[Observation], first_seq: int) -> str:
    """The end of what was written before a range of messages, so that a text can go on from it."""
    before = [o for o in observations if o.last_seq < first_seq]
    return before[-1].content[-PREVIOUS_CHARS:] if before else ""


def sources(memory: Memory, part: Part) -> list[Message] | list[Observation]:
    """The messages (level 1) or entries (above) that `part` is made from.

    Raises StalePart when they do not stand there any more.
    """
    if part.level == 1:
        found = [m for m in memory.messages if part.first_seq <= m.seq <= part.last_seq]
        if len(found) == part.last_seq - part.first_seq + 1:
            return found
    else:
        entries = [
            o
            for o in memory.level(part.level - 1)
            if part.first_seq <= o.first_seq and o.last_seq <= part.last_seq
        ]
        if entries and (entries[0].first_seq, entries[-1].last_seq) == (
            part.first_seq,
            part.last_seq,
        ):
            return entries
    raise StalePart(f"messages {part.first_seq}-{part.last_seq} stand elsewhere by now")


def source_hash(memory: Memory, part: Part) -> str:
    """SHA-256 of what `part` is made from, hex; the activity checks it."""
    return sha256([s.model_dump(mode="json", exclude={"tokens"}) for s in sources(memory, part)])


def _entry(memory: Memory, part: Part, result: Compacted, at: datetime) -> Observation:
    parents = sources(memory, part)
    messages = [p for p in parents if isinstance(p, Message)]
    entries = [p for p in parents if isinstance(p, Observation)]
    return Observation(
        id=f"L{part.level}.{part.first_seq}-{part.last_seq}",
        level=part.level,
        content=result.content,
        facts=result.facts,
        start_time=min([m.at for m in messages] + [e.start_time for e in entries]),
        end_time=max([m.at for m in messages] + [e.end_time for e in entries]),
        first_seq=part.first_seq,
        last_seq=part.last_seq,
        message_count=part.last_seq - part.first_seq + 1,
        original_tokens=sum(m.weight for m in messages) + sum(e.original_tokens for e in entries),
        compressed_tokens=result.tokens,
        created_at=at,
        sources=[e.id for e in entries],
        method=result.method,
        model=result.model,
        prompt_version=result.prompt_version,
        identity=result.identity,
    )


def _pins(left: Sequence[Message], open_seq: int | None) -> list[Pin]:
    """What stays word for word of messages that leave the tail."""
    pins = []
    for m in left:
        asked = open_seq is not None and m.seq >= open_seq and m.role == "user"
        passing = asked and not m.pinned and not results(m.content)
        if (m.pinned or passing) and not m.failed:
            pins.append(pinned_text(m, passing=passing))
    return pins


def pinned_text(message: Message, *, passing: bool = False) -> Pin:
    """What stays of a message that is compacted and not let go."""
    text = f"{message.role}: {message.text}"
    return Pin(text=text, at=message.at, tokens=message.weight, seq=message.seq, passing=passing)


def placed(observations: Sequence[Observation], entry: Observation) -> list[Observation]:
    """The entries with a new one in its place: behind its level and those above it.

    One that supersedes another takes the place of that.
    """
    if entry.supersedes is not None:
        return [entry if o.id == entry.supersedes else o for o in observations]
    above = [o for o in observations if o.level >= entry.level]
    below = [o for o in observations if o.level < entry.level and o.id not in entry.sources]
    return [*above, entry, *below]


def apply(
    memory: Memory, part: Part, result: Compacted, at: datetime, *, open_seq: int | None = None
) -> tuple[Memory, Observation]:
    """Put the result in the place of its source; gives the new memory and the new entry.

    Raises StalePart when the source is not the oldest of its level any more, NoProgress when
    the result is blank or weighs over 0.8 of the source. Pinned messages become pins, and so
    does, until the turn in progress ends, what the user has said from `open_seq` on.
    """
    entry = _entry(memory, part, result, at)
    if not result.content.strip() or entry.weight > PROGRESS * part.source_tokens:
        raise NoProgress(
            f"the summary of messages {part.first_seq}-{part.last_seq} weighs "
            f"{entry.weight} tokens, its source {part.source_tokens}"
        )
    if part.level == 1:
        if memory.messages[0].seq != part.first_seq:
            raise StalePart(f"message {part.first_seq} is not the oldest one")
        taken = part.last_seq - part.first_seq + 1
        pins = _pins(memory.messages[:taken], open_seq)
        return checked(
            memory.model_copy(
                update={
                    "messages": memory.messages[taken:],
                    "observations": placed(memory.observations, entry),
                    "pins": [*memory.pins, *pins],
                    "elided": {s: e for s, e in memory.elided.items() if s > part.last_seq},
                    "light_from": 0,
                }
            )
        ), entry
    observations = placed(memory.observations, entry)
    return checked(memory.model_copy(update={"observations": observations})), entry
