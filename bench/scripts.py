"""How well a memory keeps six scripts: `python -m bench.scripts [--json]`.

XQuAD has 50 paragraphs of Wikipedia in English, Chinese, Arabic, Hindi, Russian and Thai, with the
same 274 questions. The paragraphs are messages of one conversation, compacted to the same share
in every script by the pure pipeline (no server); a question counts when the words of its answer
stand in the context. No script may be below 0.85 of English.
"""

import json
import sys
from datetime import timedelta
from typing import Any

from bench.data import read
from bench.identifiers import START, compacted
from perdure.memory.matching import contains
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import context_text, context_tokens
from perdure.memory.state import Memory, append
from perdure.model.guarded import extractively
from perdure.model.tokens import count

SCRIPTS = ("en", "zh", "ar", "hi", "ru", "th")
RATIOS = (3, 4, 6)
FLOOR = 0.85


def articles(script: str) -> list[dict[str, Any]]:
    """The paragraphs, `{context, qas}` each."""
    data = json.loads(read(f"xquad10.{script}.json"))["data"]
    return [paragraph for article in data for paragraph in article["paragraphs"]]


def kept(script: str, ratio: int) -> dict[str, Any]:
    """What of a script is still there."""
    paragraphs = articles(script)
    total = sum(count(p["context"]) for p in paragraphs)
    policy = MemoryPolicy(
        message_budget=max(1_000, total // 3),
        observe_chunk=max(1_000, total // 4),
        keep_recent=0,
        keep_recent_messages=0,
        target_ratio=ratio,
    )
    memory, at = Memory(), START
    for paragraph in paragraphs:
        at += timedelta(minutes=1)
        text = paragraph["context"]
        blocks = [{"type": "text", "text": text}]
        memory = append(memory, "user", blocks, at, tokens=count(text))
        memory = compacted(memory, policy, extractively)
    memory = compacted(memory, policy, extractively, now=True)
    answers = [qa["answers"][0]["text"] for p in paragraphs for qa in p["qas"]]
    text = context_text(memory)
    return {
        "script": script,
        "wanted": ratio,
        "tokens": total,
        "ratio": round(memory.raw_tokens / context_tokens(memory, 0), 2),
        "answers": len(answers),
        "recall": round(sum(contains(text, a) for a in answers) / len(answers), 3),
    }


def measured(ratio: int) -> list[dict[str, Any]]:
    """A row a script, English first, with its recall as a share of that of English."""
    rows = [kept(script, ratio) for script in SCRIPTS]
    return [{**row, "of_english": round(row["recall"] / rows[0]["recall"], 3)} for row in rows]


def main() -> int:
    rows = [row for ratio in RATIOS for row in measured(ratio)]
    for row in rows:
        print(
            f"{row['script']}  {row['tokens']:>6,} tokens  {row['ratio']:.2f}x  "
            f"{row['recall']:.3f} of {row['answers']} answers  {row['of_english']:.2f} of English"
        )
    if "--json" in sys.argv[1:]:
        print(json.dumps({"rows": rows}))
    return 1 if any(row["of_english"] < FLOOR for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
