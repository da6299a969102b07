"""How much of what was said can still be found: `python -m bench.fidelity [--json]`.

The ten LoCoMo conversations through the real workflow: imported with their times, compacted by
the offline engine, read back with the query `context_text`. `../shared/tools/score_locomo.py`, a
program of its own, asks the views the questions of the data set; beside them stands truncation,
the newest messages that fit as many tokens. Weights of the engine may be tuned on conversations
0-4 alone; 5-9 tell what that is worth.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from temporalio.client import Client

from bench.data import DATA, DataMissing, locomo, locomo_messages
from bench.stage import offline
from perdure import Conversation, ConversationConfig, MemoryPolicy
from perdure.model.tokens import count

SCORER = DATA.parent / "tools" / "score_locomo.py"
_LOOK_SECONDS = 0.05
GROUPS = {"0-4": range(5), "5-9": range(5, 10), "all": range(10)}


class Wanted(NamedTuple):
    """A ratio to reach, what comes out near it, and what must be found at it."""

    ratio: int
    target_ratio: float
    windowed: float
    containment: float | None


# A target a little above the ratio that is wanted pays for what is left at the end.
WANTED = (
    Wanted(3, 3.15, 0.57, None),
    Wanted(5, 5.25, 0.45, 0.45),
    Wanted(8, 8.3, 0.31, None),
)


def policy_for(target_ratio: float) -> MemoryPolicy:
    """Everything is compacted, in pieces of about 8,000 tokens: many small ones cost recall."""
    return MemoryPolicy(
        message_budget=10_000,
        observe_chunk=8_000,
        keep_recent=0,
        keep_recent_messages=0,
        target_ratio=target_ratio,
    )


async def view(client: Client, sample: Mapping[str, Any], wanted: Wanted) -> str:
    """What the workflow's query `context_text` gives after the import."""
    config = ConversationConfig(policy=policy_for(wanted.target_ratio), model="offline")
    conversation = await Conversation.open(client, f"{sample['sample_id']}-{wanted.ratio}x", config)
    await conversation.import_messages(locomo_messages(dict(sample)))
    await conversation.compact()
    await at_rest(conversation)
    text = await conversation.context_text()
    await conversation.close()
    return text


async def at_rest(conversation: Conversation) -> None:
    """Waits until everything that was asked for is done."""
    while (status := await conversation.status())["queue"] or status["running"]:
        await asyncio.sleep(_LOOK_SECONDS)


def tail(sample: Mapping[str, Any], tokens: int) -> str:
    """Truncation: the newest messages that fit."""
    kept: list[str] = []
    for message in reversed(locomo_messages(dict(sample))):
        kept.insert(0, f"{message['role']}: {message['content']}")
        if count("\n\n".join(kept)) > tokens:
            return "\n\n".join(kept[1:])
    return "\n\n".join(kept)


def score(views: Mapping[str, str], samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the scorer says of the views of some conversations."""
    with TemporaryDirectory() as directory:
        files = [Path(directory) / name for name in ("views.json", "samples.json")]
        for file, content in zip(files, (views, samples), strict=True):
            file.write_text(json.dumps(content), encoding="utf-8")
        doubtful = DATA / "locomo10_qa_fork_diff.json"
        said = subprocess.run(
            [sys.executable, str(SCORER), *map(str, files), str(doubtful)],
            capture_output=True,
            check=True,
            text=True,
        ).stdout
    found: dict[str, Any] = json.loads(said)
    return {
        "ratio": found["ratio"],
        "questions": found["n"]["all"],
        "windowed": found["windowed_recall"]["all"],
        "containment": found["containment"]["all"],
    }


async def measured(samples: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row a ratio and group of conversations."""
    rows = []
    async with offline() as client:
        for wanted in WANTED:
            views = {s["sample_id"]: await view(client, s, wanted) for s in samples}
            tails = {s["sample_id"]: tail(s, count(views[s["sample_id"]])) for s in samples}
            for name, places in GROUPS.items():
                group = [samples[i] for i in places]
                rows.append(
                    {
                        "wanted": wanted.ratio,
                        "conversations": name,
                        **score(views, group),
                        "truncation": score(tails, group),
                    }
                )
    return rows


def misses(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The targets that all ten conversations do not reach."""
    missed = []
    for wanted in WANTED:
        row = next(r for r in rows if r["wanted"] == wanted.ratio and r["conversations"] == "all")
        for name, target in (
            ("windowed", wanted.windowed),
            ("containment", wanted.containment or 0.0),
        ):
            if row[name] < target:
                missed.append(f"{name} at {wanted.ratio}x: {row[name]}, not {target}")
    return missed


def table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The figures for people."""
    shown = Table("of", "ratio", "windowed", "contained", "target", "truncation")
    targets = {w.ratio: w for w in WANTED}
    for row in rows:
        target = targets[row["wanted"]]
        aims = [f"{a:.2f}" for a in (target.windowed, target.containment) if a]
        shown.add_row(
            f"{row['conversations']} ({row['questions']})",
            f"{row['ratio']:.2f}x",
            f"{row['windowed']:.3f}",
            f"{row['containment']:.3f}",
            " / ".join(aims),
            "{windowed:.3f} / {containment:.3f}".format_map(row["truncation"]),
        )
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    if not SCORER.exists():
        raise DataMissing(f"bench: {SCORER} is missing; bench/README.md says what belongs there")
    rows = asyncio.run(measured(locomo()))
    Console().print(table(rows))
    missed = misses(rows)
    for line in missed:
        print(f"missed: {line}")
    if options.json:
        print(json.dumps({"rows": rows, "missed": missed}))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
