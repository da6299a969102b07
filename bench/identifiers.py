"""How many exact values survive compaction: `python -m bench.identifiers [--json]`.

The 50 airline runs as one conversation, a marker before each, compacted to a fifth, a tenth and a
twentieth by the pure pipeline (`next_compaction`, the extractive summariser with the fact guard,
`apply`); no server and no workflow, for speed. A value of a run counts when it stands in the part
of the context that covers the run: the entries whose range meets it, and its own messages.

Gold are the values of the run's correct tool calls that occur in its transcript: ids (user,
reservation, flight, payment), and beside them dates, airport codes and names. A second part plants
30 identifiers of formats that the code was not written for among filler, with a summariser that
forgets everything.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.data import trajectories
from bench.formats import FORMATS, Planted
from bench.words import sentences
from perdure.memory.apply import apply
from perdure.memory.blocks import to_text
from perdure.memory.facts import collect
from perdure.memory.facts.guard import STRONG
from perdure.memory.message import Message
from perdure.memory.observation import body
from perdure.memory.plan import next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import context_tokens
from perdure.memory.sources import sources
from perdure.memory.state import Memory, append
from perdure.model.guarded import Guarded, extractively, facts_of, guarded, with_room
from perdure.model.provider import Summary, SummaryCall
from perdure.model.tokens import count, count_blocks

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
IDS = ("user_id", "reservation_id", "flight_number", "payment_id")
OTHERS = ("date", "origin", "destination", "first_name", "last_name", "dob")
# Wanted ratio, and the `target_ratio` that comes out near it, since each entry has a heading.
RATIOS = {5: 5.0, 10: 10.1, 20: 20.9}
TARGETS = {(10, "ids"): 0.99, (10, "all"): 0.98, (20, "all"): 0.95}
FACT_SHARE = 0.30

Summarise = Callable[[SummaryCall], Guarded]


def policy_for(ratio: int) -> MemoryPolicy:
    """A policy with which the conversation ends near a ratio; the budgets above are the default's,
    which 8,000 to 31,000 tokens of observations do not reach.

    At 20x the pieces are larger: each entry has a heading, which its target pays for."""
    size = 8_000 if ratio < 20 else 16_000
    return MemoryPolicy(
        message_budget=size,
        observe_chunk=size * 3 // 4,
        keep_recent=400,
        keep_recent_messages=0,
        target_ratio=RATIOS[ratio],
    )


def compacted(memory: Memory, policy: MemoryPolicy, make: Summarise, now: bool = False) -> Memory:
    """The memory after every compaction that is due."""
    while plan := next_compaction(memory, policy, now=now):
        for part in plan.parts:
            call = SummaryCall(
                "offline",
                part.level,
                part.target_tokens,
                sources(memory, part),
                source_tokens=part.source_tokens,
            )
            made = make(call)
            memory, _ = apply(memory, part, made.compacted(""), START)
        now = False
    return memory


def values_of(truth: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Field and value of every argument of the correct tool calls."""

    def walk(value: Any, key: str) -> Iterator[tuple[str, str]]:
        if isinstance(value, Mapping):
            for name, inner in value.items():
                yield from walk(inner, name)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner, key)
        else:
            yield key, str(value)

    for action in truth["actions"]:
        yield from walk(action["kwargs"], "")
    yield "user_id", str(truth["user_id"])


def holds(text: str, value: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text))


def airline(ratio: int) -> dict[str, Any]:
    memory, policy = Memory(), policy_for(ratio)
    runs = [t for t in trajectories() if "airline" in t["id"]]
    ranges, gold = [], []
    at = START
    for number, run in enumerate(runs, start=1):
        first = memory.next_seq
        marker = [{"type": "text", "text": f"(Session {number} begins.)"}]
        for role, content in [
            ("user", marker),
            *((m["role"], m["content"]) for m in run["messages"]),
        ]:
            at += timedelta(minutes=1)
            tokens = count_blocks(content)
            memory = append(memory, role, content, at, tokens=tokens)
        memory = compacted(memory, policy, extractively)
        ranges.append((first, memory.next_seq))
        transcript = "\n".join(to_text(m["content"]) for m in run["messages"])
        found = list(dict.fromkeys(values_of(run["truth"])))
        gold.append([(k, v) for k, v in found if k in IDS + OTHERS and holds(transcript, v)])
    memory = compacted(memory, policy, extractively, now=True)
    kept: dict[str, list[bool]] = {"ids": [], "all": []}
    missing: list[str] = []
    for (first, end), wanted in zip(ranges, gold, strict=True):
        text = part_of(memory, first, end)
        for key, value in wanted:
            there = holds(text, value)
            kept["all"].append(there)
            if key in IDS:
                kept["ids"].append(there)
            if not there:
                missing.append(f"{key} {value}")
    tokens = context_tokens(memory, 0)
    facts = sum(count(body("", o.facts)) for o in memory.observations if o.facts)
    return {
        "wanted": ratio,
        "ratio": round(memory.raw_tokens / tokens, 2),
        "levels": {n: len(memory.level(n)) for n in memory.levels},
        "ids": round(sum(kept["ids"]) / len(kept["ids"]), 3),
        "all": round(sum(kept["all"]) / len(kept["all"]), 3),
        "gold": {name: len(each) for name, each in kept.items()},
        "facts_share": round(facts / tokens, 3),
        "missing": missing,
    }


def part_of(memory: Memory, first: int, end: int) -> str:
    """The part of the context that covers the messages from `first` to before `end`."""
    entries = [o.text for o in memory.observations if o.first_seq < end and o.last_seq >= first]
    messages = [m.text for m in memory.messages if first <= m.seq < end]
    return "\n".join([*entries, *messages])


def forgets(call: SummaryCall) -> Guarded:
    """A summariser that keeps nothing and still writes as much as it may."""
    facts = facts_of(call)
    target = with_room(call, facts).target_tokens
    words = ["They talked about this and that."]
    while count(" ".join([*words, words[0]])) <= target:
        words.append(words[0])
    return guarded(call, facts, Summary(" ".join(words), "model", "forgetful", "1"))


def _tells(text: str) -> bool:
    """Whether a sentence holds a fact that has a right to room, such as a rule or a name."""
    message = Message(seq=0, role="user", content=[{"type": "text", "text": text}], at=START)
    return any(fact.rank >= STRONG for fact in collect([message]))


def unseen(planted: Sequence[Planted], make: Summarise) -> dict[str, Any]:
    """Each value once, in a sentence among filler that tells nothing, through two levels at about
    10x."""
    filler = [m for m in sentences() if not _tells(m)]
    policy = policy_for(10).model_copy(
        update={
            "message_budget": 4_000,
            "observe_chunk": 3_000,
            "target_ratio": 6.5,
            "reflect_ratio": 1.9,
            "observation_budget": 2_000,
            "level_budget": 2_000,
        }
    )
    memory, at = Memory(), START
    for number in range(300):
        text = " ".join(filler[(number * 7 + i * 3) % len(filler)] for i in range(4))
        if number % 10 == 0:
            text = f"{text} {planted[number // 10].sentence}"
        at += timedelta(minutes=1)
        blocks = [{"type": "text", "text": text}]
        memory = append(memory, "user", blocks, at, tokens=count(text))
        memory = compacted(memory, policy, make)
    whole = "\n".join(o.text for o in memory.observations)
    covered = max((o.last_seq for o in memory.observations), default=-1)
    due = [p for i, p in enumerate(planted) if i * 10 <= covered]
    lost = [p.value for p in due if p.value not in whole]
    return {
        "planted": len(due),
        "kept": len(due) - len(lost),
        "levels": {n: len(memory.level(n)) for n in memory.levels},
        "ratio": round(memory.raw_tokens / context_tokens(memory, 0), 2),
        "lost": lost,
    }


def main() -> int:
    runs = [airline(ratio) for ratio in RATIOS]
    for row in runs:
        print(
            f"{row['wanted']:>3}x  measured {row['ratio']:>5}x  ids {row['ids']:.3f}  "
            f"with dates, airports, names {row['all']:.3f}  facts {row['facts_share']:.0%}  "
            f"entries {row['levels']}"
        )
        print(f"      missing: {', '.join(row['missing'][:12])}")
    formats = {"extractive": unseen(FORMATS, extractively), "forgetful": unseen(FORMATS, forgets)}
    for name, found in formats.items():
        print(f"unseen formats, {name}: {found}")
    if "--json" in sys.argv[1:]:
        print(json.dumps({"airline": runs, "unseen": formats}))
    missed = [key for key, wanted in TARGETS.items() if _figure(runs, key) < wanted]
    crowded = [r["wanted"] for r in runs if r["facts_share"] > FACT_SHARE]
    lost = [found for found in formats.values() if found["lost"]]
    return 1 if missed or crowded or lost else 0


def _figure(runs: Sequence[Mapping[str, Any]], key: tuple[int, str]) -> float:
    return next(float(r[key[1]]) for r in runs if r["wanted"] == key[0])


if __name__ == "__main__":
    sys.exit(main())
