"""What `recall_share` gains, and what it costs: `python -m bench.recalled [--json]`.

The ten LoCoMo conversations, five times smaller, their originals in a real PostgreSQL. Each of
their questions is the user's last message, and what the activity `reply` would send behind it is
made by the very function that makes it. Windowed recall, by ../shared/tools/score_locomo.py, is
that of the context alone, of the context with what was recalled, and of a context that was given
about as many tokens more.

Most messages ask for nothing that was said before. What these get too is measured on what the
user says last in each conversation.
"""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from temporalio.testing import ActivityEnvironment

from activities.recalling import background
from bench import locomo
from bench.data import locomo as samples
from bench.recall import save
from bench.stage import database
from perdure.archive import Archive, ChainKey
from perdure.memory.project import Context
from perdure.memory.state import Memory
from perdure.model.tokens import count

SHARES = (0.1, 0.3, 0.6)
# Leaves about as many tokens more as are recalled with a share of 0.3.
LARGER = locomo.POLICY.model_copy(update={"target_ratio": 4.4})
REMARKS = 20
"""So many of the last user messages of each conversation."""
LEAST_GAIN = 0.3
CHAIN = "1"


async def recalled(archive: Archive, name: str, said: str, memory: Memory, share: float) -> str:
    """What is sent behind the message `said`, which asks for it or not."""
    wanted = {
        "tokens": int(locomo.POLICY.message_budget * share),
        "chain": CHAIN,
        "before": memory.next_seq - len(memory.messages),
    }
    asked = [{"role": "user", "content": [{"type": "text", "text": said}]}]
    environment = ActivityEnvironment()
    environment.info = replace(environment.info, namespace="bench", workflow_id=name)
    context = Context(system="", messages=asked, tokens=0)
    found = await environment.run(background, archive, wanted, context, locomo.POLICY.input_limit)
    return found.text


async def gains(archive: Archive, memories: Mapping[str, Memory]) -> list[dict[str, Any]]:
    """Windowed recall and tokens of the contexts, with nothing more and with each share."""
    views = {name: locomo.text_of(memory) for name, memory in memories.items()}
    found = [_row("alone", locomo.score(views, {}))]
    for share in SHARES:
        extra: dict[str, dict[str, str]] = {name: {} for name in views}
        for q in locomo.questions():
            memory = memories[q.sample_id]
            text = await recalled(archive, q.sample_id, q.question, memory, share)
            extra[q.sample_id][q.question] = text
        found.append(_row(f"recall_share {share}", locomo.score(views, extra)))
    larger = {s["sample_id"]: locomo.text_of(locomo.remembered(s, LARGER)) for s in samples()}
    return [*found, _row("a larger context", locomo.score(larger, {}))]


def _row(name: str, scored: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "with": name,
        "windowed": scored["windowed_recall"]["all"],
        "context": round(scored["view_tokens"] / len(samples())),
        "recalled": scored["extra_tokens_per_question"],
    }


async def remarks(archive: Archive, memories: Mapping[str, Memory]) -> dict[str, Any]:
    """How often what is no question gets excerpts, and of how many tokens."""
    tokens = []
    for sample in samples():
        name = sample["sample_id"]
        said = [m.text for m in locomo.messages(sample) if m.role == "user"]
        for text in [t for t in said if "?" not in t][-REMARKS:]:
            sent = await recalled(archive, name, text, memories[name], SHARES[1])
            tokens.append(count(sent))
    return {
        "asked": len(tokens),
        "share": round(sum(map(bool, tokens)) / len(tokens), 3),
        "tokens": round(sum(tokens) / len(tokens)),
    }


def _say(rows: Sequence[Mapping[str, Any]], idle: Mapping[str, Any]) -> None:
    for row in rows:
        print(
            f"{row['with']:18} windowed {row['windowed']:.3f}, {row['context']:,} tokens of "
            f"context, {row['recalled']:,} recalled a question"
        )
    print(
        f"of {idle['asked']} remarks that ask for nothing {idle['share']:.0%} get excerpts, "
        f"{idle['tokens']:,} tokens each (recall_share {SHARES[1]})"
    )


async def main() -> int:
    memories = {s["sample_id"]: locomo.remembered(s) for s in samples()}
    async with database() as url, await Archive.open(url) as archive:
        for sample in samples():
            key = ChainKey("bench", sample["sample_id"], CHAIN)
            await save(archive, key, locomo.messages(sample))
        rows = await gains(archive, memories)
        idle = await remarks(archive, memories)
    _say(rows, idle)
    if "--json" in sys.argv[1:]:
        print(json.dumps({"questions": rows, "remarks": idle}))
    gain = rows[1 + SHARES.index(0.3)]["windowed"] - rows[-1]["windowed"]
    if gain < LEAST_GAIN:
        print(f"{gain:.3f} more than as many tokens of context give misses {LEAST_GAIN}")
    return 0 if gain >= LEAST_GAIN else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
