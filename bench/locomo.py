"""The LoCoMo questions, and the scorer of ../shared/tools that knows how to judge them."""

import importlib.util
import json
import sys
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from bench.data import DATA, DataMissing, locomo, locomo_messages
from bench.identifiers import compacted
from perdure.memory.message import Message
from perdure.memory.policy import MemoryPolicy
from perdure.memory.state import Memory, append
from perdure.model.guarded import extractively
from perdure.model.tokens import count_blocks

SCORER = DATA.parent / "tools" / "score_locomo.py"
DOUBTFUL = DATA / "locomo10_qa_fork_diff.json"
# Comes out at 5 times smaller, since each entry has a heading.
POLICY = MemoryPolicy(
    message_budget=3_000, keep_recent=400, keep_recent_messages=0, target_ratio=5.5
)


@cache
def scorer() -> Any:
    """The module of the scorer. Raises DataMissing."""
    spec = importlib.util.spec_from_file_location("score_locomo", SCORER)
    if spec is None or spec.loader is None or not SCORER.exists():
        raise DataMissing(f"bench: {SCORER} is missing; bench/README.md says what belongs there")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def questions() -> list[Any]:
    """Those that the scorer judges: `sample_id`, `question`, `evidence` (turn ids), ..."""
    judge = scorer()
    return list(judge.usable_questions(locomo(), judge.load_doubtful(str(DOUBTFUL))))


def turn_ids(sample: Mapping[str, Any]) -> list[str]:
    """The id of each turn, in the order of `locomo_messages`."""
    talk = sample["conversation"]
    return [turn["dia_id"] for key in scorer().sessions(talk) for turn in talk[key]]


def messages(sample: Mapping[str, Any], repeated: int = 1) -> list[Message]:
    """A conversation as messages with seqs from 0, several times over."""
    told = locomo_messages(dict(sample)) * repeated
    return [
        Message(
            seq=seq,
            role=said["role"],
            content=[{"type": "text", "text": said["content"]}],
            at=datetime.fromisoformat(said["at"]),
        )
        for seq, said in enumerate(told)
    ]


def remembered(sample: Mapping[str, Any], policy: MemoryPolicy = POLICY) -> Memory:
    """What is left of a conversation, with `POLICY` five times smaller, by the pure pipeline."""
    memory = Memory()
    for m in messages(sample):
        memory = append(memory, m.role, m.content, m.at, tokens=count_blocks(m.content))
        memory = compacted(memory, policy, extractively)
    return compacted(memory, policy, extractively, now=True)


def view(sample: Mapping[str, Any]) -> str:
    """The same as text."""
    return text_of(remembered(sample))


def text_of(memory: Memory) -> str:
    """A memory as the scorer reads it."""
    return "\n".join([*(o.text for o in memory.observations), *(m.text for m in memory.messages)])


def score(views: Mapping[str, str], extra: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """What the scorer says of `views`, each question with its own `extra` text."""
    result: dict[str, Any] = scorer().score(views, locomo(), questions(), extra)
    return json.loads(json.dumps(result))  # type: ignore[no-any-return]
