"""Do questions find the words that answer them, and how fast: `python -m bench.recall [--json]`.

The ten LoCoMo conversations are archived in a real PostgreSQL, and each question is asked within
1,000 tokens. Evidence counts as retrieved when all, or any, of the turns that answer a question
are among the excerpts. Windowed recall is that of ../shared/tools/score_locomo.py: a view of the
conversation five times smaller, and what was recalled behind it. The ranking was chosen on the
first five conversations; the others stand beside them.

Then conversations of 1,000, 10,000 and 100,000 messages in one database, and the time of a recall
in each, beside the floor: one message read by its number.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Sequence
from typing import Any

from bench import locomo
from bench.data import locomo as samples
from bench.stage import database
from perdure.archive import Archive, Batch, ChainKey
from perdure.memory.message import Message
from perdure.recall import recall

TUNED = 5
TARGETS = {"windowed": 0.84, "all": 0.87, "any": 0.94}
FLOORS = {"windowed": 0.80, "all": 0.80, "any": 0.89}
SIZES = (1_000, 10_000, 100_000)
ASKED = 200
P95_MS = 50.0
BATCH = 1_000


async def save(archive: Archive, key: ChainKey, messages: Sequence[Message]) -> None:
    for start in range(0, len(messages), BATCH):
        await archive.save(Batch(key, messages=messages[start : start + BATCH]))


async def evidence(archive: Archive) -> dict[str, Any]:
    """Shares of questions, and what was recalled for each."""
    ids = {}
    for sample in samples():
        await save(archive, _key(sample["sample_id"]), locomo.messages(sample))
        ids[sample["sample_id"]] = locomo.turn_ids(sample)
    tuned = set(list(ids)[:TUNED])
    extra: dict[str, dict[str, str]] = {name: {} for name in ids}
    hits: dict[str, list[tuple[bool, bool]]] = {"tuned": [], "others": []}
    tokens = []
    for asked in locomo.questions():
        found = await recall(archive, _key(asked.sample_id), [], asked.question)
        extra[asked.sample_id][asked.question] = found.text
        tokens.append(found.tokens)
        turns = {ids[asked.sample_id][e.seq] for e in found.excerpts}
        wanted = set(asked.evidence)
        part = "tuned" if asked.sample_id in tuned else "others"
        hits[part].append((wanted <= turns, bool(wanted & turns)))
    views = {sample["sample_id"]: locomo.view(sample) for sample in samples()}
    scored = locomo.score(views, extra)
    blind = locomo.score(views, {})
    figures = {part: _shares(each) for part, each in hits.items()}
    figures["together"] = _shares(hits["tuned"] + hits["others"])
    return {
        **figures,
        "questions": sum(map(len, hits.values())),
        "ratio": scored["ratio"],
        "view_alone": blind["windowed_recall"],
        "with_recall": scored["windowed_recall"],
        "tokens": {"mean": sum(tokens) // len(tokens), "most": max(tokens)},
    }


def _shares(hits: Sequence[tuple[bool, bool]]) -> dict[str, float]:
    whole, any_ = (sum(each) / len(hits) for each in zip(*hits, strict=True))
    return {"all": round(whole, 3), "any": round(any_, 3)}


def _key(name: str) -> ChainKey:
    return ChainKey("bench", name, "1")


async def latency(archive: Archive, size: int) -> dict[str, Any]:
    """Milliseconds of a recall among so many messages, and of the floor."""
    told = [m for sample in samples() for m in locomo.messages(sample)]
    talk = [told[n % len(told)].model_copy(update={"seq": n}) for n in range(size)]
    key = _key(f"{size} messages")
    started = time.perf_counter()
    await save(archive, key, talk)
    saved = time.perf_counter() - started
    asked = [q.question for q in locomo.questions()]
    picked = asked[:: len(asked) // ASKED][:ASKED]
    await recall(archive, key, [], picked[0])
    times = [await _ms(recall(archive, key, [], question)) for question in picked]
    floor = [await _ms(archive.messages(key, seq, seq)) for seq in range(0, size, size // 50)]
    return {
        "messages": size,
        "p50": _percentile(times, 50),
        "p95": _percentile(times, 95),
        "floor": _percentile(floor, 50),
        "saved_a_second": round(size / saved),
    }


async def _ms(call: Awaitable[object]) -> float:
    started = time.perf_counter()
    await call
    return (time.perf_counter() - started) * 1_000


def _percentile(values: Sequence[float], percent: int) -> float:
    return round(sorted(values)[len(values) * percent // 100], 1)


def _say(found: dict[str, Any], speed: Sequence[dict[str, Any]]) -> None:
    print(f"{found['questions']} questions, 1,000 tokens each ({found['tokens']})")
    for part in ("tuned", "others", "together"):
        shares = found[part]
        print(f"evidence, {part:8}  all {shares['all']:.3f}  any {shares['any']:.3f}")
    print(f"view of {found['ratio']}x alone {found['view_alone']}")
    print(f"view and recall      {found['with_recall']}")
    for row in speed:
        grown = row["p50"] / speed[0]["p50"]
        print(
            f"{row['messages']:>7,} messages: p50 {row['p50']} ms ({grown:.1f}x of the smallest), "
            f"p95 {row['p95']} ms, one message by its number {row['floor']} ms, "
            f"{row['saved_a_second']:,} saved a second"
        )


async def main() -> int:
    async with database() as url, await Archive.open(url) as archive:
        found = await evidence(archive)
        speed = [await latency(archive, size) for size in SIZES]
    _say(found, speed)
    if "--json" in sys.argv[1:]:
        print(json.dumps({"evidence": found, "latency": speed}))
    reached = {**found["together"], "windowed": found["with_recall"]["all"]}
    for name, target in TARGETS.items():
        if reached[name] < target:
            print(f"{name}: {reached[name]} misses {target}; the floor is {FLOORS[name]}")
    slow = speed[-1]["p95"] > P95_MS
    return 1 if slow or any(reached[name] < target for name, target in TARGETS.items()) else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
