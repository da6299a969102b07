"""Real conversations through the real workflow: imported, asked, compacted, replayed.

python -m bench.real_input [--first] [--json]

Without `--first`: the 10 LoCoMo conversations and the 58 tool trajectories.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

import worker
from bench.data import locomo, locomo_messages, trajectories
from bench.stage import offline
from perdure import Conversation, ConversationConfig, MemoryPolicy
from tests.support.requests import violations

QUESTIONS = 10


@dataclass(frozen=True)
class Case:
    """A conversation to import, and what is asked afterwards."""

    id: str
    messages: list[dict[str, Any]]
    questions: list[str]
    system: str = ""


def locomo_cases() -> Iterator[Case]:
    """One case a conversation; a tenth of its own questions, spread over the whole list."""
    for sample in locomo():
        asked = [str(qa["question"]) for qa in sample["qa"] if qa["category"] in (1, 2, 4)]
        step = max(1, len(asked) // QUESTIONS)
        speaker = sample["conversation"]["speaker_b"]
        yield Case(
            sample["sample_id"],
            locomo_messages(sample),
            asked[::step][:QUESTIONS],
            f"You are {speaker}, a friend.",
        )


def trajectory_cases() -> Iterator[Case]:
    """One case a trajectory; the user's first text is asked again."""
    for line in trajectories():
        first = line["messages"][0]["content"][0]["text"]
        yield Case(
            line["id"],
            line["messages"],
            ["What did I ask for first?", first[:500], "Is there anything left to do?"],
            line["system"] or "",
        )


def _policy(case: Case) -> MemoryPolicy:
    """Budgets that make every conversation compact: a tenth of it as messages, and so on."""
    bytes_ = sum(len(json.dumps(m["content"])) for m in case.messages)
    share = max(300, bytes_ // 40)
    return MemoryPolicy(
        message_budget=share,
        observation_budget=share,
        level_budget=max(200, share // 2),
        observe_chunk=max(200, share // 2),
        context_window=400_000,
    )


async def run(client: Client, case: Case) -> tuple[dict[str, Any], list[tuple[str, str]], str]:
    """A row of figures, the questions with their replies, and the context as text."""
    config = ConversationConfig(system=case.system[:100_000], policy=_policy(case), model="offline")
    conversation = await Conversation.open(client, case.id, config)
    await conversation.import_messages(case.messages)
    replies = []
    broken: list[str] = []
    for question in case.questions:
        replies.append((question, (await conversation.ask(question)).text))
        sent = await conversation.context()
        # The last message is the reply: what the next request starts with.
        broken += violations(
            {"system": sent["system"], "messages": sent["messages"]}, window=400_000
        )
    memory = await conversation.memory()
    _check_tiling(memory)
    rows = await conversation.compactions()
    by_level: dict[str, int] = {}
    for row in rows:
        level = str(row["observation"]["level"])
        by_level[level] = by_level.get(level, 0) + 1
    report = await worker.replay(client, case.id)
    text = await conversation.context_text()
    await conversation.close()
    figures = {
        "id": case.id,
        "raw_tokens": memory["raw_tokens"],
        "context_tokens": memory["context_tokens"],
        "compactions": by_level,
        "violations": len(broken),
        "replay_identical": report.identical,
    }
    return figures, replies, text


def _check_tiling(memory: dict[str, Any]) -> None:
    expected = 0
    for entry in memory["observations"]:
        assert entry["first_seq"] == expected, entry
        expected = entry["last_seq"] + 1
    assert memory["messages"]["first_seq"] == expected
    assert memory["messages"]["last_seq"] + 1 == memory["next_seq"]


def table(rows: list[dict[str, Any]]) -> Table:
    """The figures for people."""
    shown = Table("conversation", "raw", "context", "ratio", "by level", "violations", "replay")
    for row in rows:
        shown.add_row(
            row["id"],
            f"{row['raw_tokens']:,}",
            f"{row['context_tokens']:,}",
            f"{row['raw_tokens'] / row['context_tokens']:.1f}x",
            " ".join(f"L{k}:{v}" for k, v in sorted(row["compactions"].items())),
            str(row["violations"]),
            "identical" if row["replay_identical"] else "DIFFERS",
        )
    return shown


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--first", action="store_true", help="only the first conversation")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    console = Console()
    cases = locomo_cases() if options.first else _all_cases()
    rows = []
    async with offline() as client:
        for case in cases:
            row, replies, text = await run(client, case)
            rows.append(row)
            if options.first:
                for question, reply in replies:
                    console.print(f"\n[bold]{question}[/]")
                    console.print(reply, markup=False)
                console.print("\n[bold]context_text, its first 2,000 characters[/]")
                console.print(text[:2_000], markup=False)
                break
            console.print(f"{row['id']}: done", highlight=False)
    console.print(table(rows))
    if options.json:
        print(json.dumps({"rows": rows}))


def _all_cases() -> Iterator[Case]:
    yield from locomo_cases()
    yield from trajectory_cases()


if __name__ == "__main__":
    asyncio.run(main())
