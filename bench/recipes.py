"""Do the recipes of docs/memory.md reach their ratio? `python -m bench.recipes [--json]`.

Each configuration is read from the document, and a conversation of its sort goes through the real
workflow with it and the offline engine. `Conversation.evaluate` then says how far it was
compressed, and of how many queries the expected answer still stands in the context.
"""

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.client import Client

from bench.data import locomo, locomo_messages, read, trajectories
from bench.fidelity import at_rest
from bench.identifiers import IDS, holds, values_of
from bench.stage import offline
from perdure import Conversation
from perdure.archive import Archive
from perdure.entrance import parse_config
from perdure.memory.blocks import to_text
from perdure.memory.evaluate import Evaluation, Query
from perdure.memory.matching import holds as said_in
from perdure.memory.matching import normalised
from perdure.settings import Settings

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "memory.md"
RANGES = {"support": (5, 7), "chat": (8, 12), "code": (3, 5), "documents": (15, 20)}
SHORT = 80
"""Characters of a command that is asked for."""
_RECIPE = re.compile(r"<!-- recipe: (\w+) -->\n```json\n(.*?)```", re.DOTALL)

Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class Talk:
    """A conversation to import, and what is asked of its memory."""

    messages: Messages
    queries: list[Query]


def recipes() -> dict[str, dict[str, Any]]:
    """The configurations of the document by their name."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return {name: json.loads(config) for name, config in _RECIPE.findall(text)}


def support() -> Iterator[Talk]:
    """50 airline runs as one conversation; the ids of the right tool calls."""
    messages: Messages = []
    queries = []
    runs = [t for t in trajectories() if "airline" in t["id"]]
    for number, run in enumerate(runs, start=1):
        messages += [{"role": "user", "content": f"(Session {number} begins.)"}, *run["messages"]]
        transcript = "\n".join(to_text(m["content"]) for m in run["messages"])
        queries += [
            Query(
                question=f"Which {key} was needed in session {number}?",
                expected_answer=value,
                kind="artifact",
            )
            for key, value in dict.fromkeys(values_of(run["truth"]))
            if key in IDS and holds(transcript, value)
        ]
    yield Talk(messages, queries)


def chat() -> Iterator[Talk]:
    """Ten LoCoMo conversations with those of their questions whose answer somebody said."""
    for sample in locomo():
        messages = locomo_messages(sample)
        said = [normalised(m["content"]) for m in messages]
        queries = [
            Query(question=qa["question"], expected_answer=str(qa["answer"]))
            for qa in sample["qa"]
            if qa["category"] in (1, 4) and "answer" in qa
        ]
        known = [
            q for q in queries if any(said_in(text, normalised(q.expected_answer)) for text in said)
        ]
        yield Talk(messages, known)


def code() -> Iterator[Talk]:
    """Three long coding runs as one conversation; the files that tools touched, short commands."""
    messages: Messages = []
    queries: list[Query] = []
    for run in trajectories():
        if not run["id"].startswith("openhands"):
            continue
        messages += run["messages"]
        blocks = (block for m in run["messages"] for block in m["content"])
        inputs = [block["input"] for block in blocks if block["type"] == "tool_use"]
        told = [i.get("path") or i.get("command", "") for i in inputs]
        queries += [
            Query(
                question=f"What was read, changed or run in {run['id']}?",
                expected_answer=value,
                kind="artifact",
            )
            for value in dict.fromkeys(told)
            if value and len(value) <= SHORT and "\n" not in value
        ]
    yield Talk(messages, queries)


def documents() -> Iterator[Talk]:
    """50 paragraphs of Wikipedia in six scripts, a message each, and the English questions."""
    messages: Messages = []
    queries: list[Query] = []
    for script in ("en", "zh", "ar", "hi", "ru", "th"):
        data = json.loads(read(f"xquad10.{script}.json"))["data"]
        paragraphs = [p for article in data for p in article["paragraphs"]]
        messages += [{"role": "user", "content": p["context"]} for p in paragraphs]
        queries += [
            Query(question=qa["question"], expected_answer=qa["answers"][0]["text"])
            for p in paragraphs
            for qa in p["qas"]
        ]
    yield Talk(messages, queries)


SORTS: Mapping[str, Callable[[], Iterator[Talk]]] = {
    "support": support,
    "chat": chat,
    "code": code,
    "documents": documents,
}


async def judged(
    client: Client, archive: Archive, name: str, config: Mapping[str, Any], talk: Talk
) -> Evaluation:
    """The evaluation of a conversation that was imported under a recipe."""
    parsed = parse_config({**config, "model": "offline"})
    conversation = await Conversation.open(client, name, parsed, archive=archive)
    await conversation.import_messages(talk.messages)
    await at_rest(conversation)
    found = await conversation.evaluate(talk.queries)
    await conversation.close()
    return found


async def measured() -> list[dict[str, Any]]:
    """A row a recipe."""
    rows = []
    async with offline() as client, await Archive.open(Settings().database_url or "") as archive:
        for name, config in recipes().items():
            found = [
                await judged(client, archive, f"{name}-{number}", config, talk)
                for number, talk in enumerate(SORTS[name]())
            ]
            rows.append(row(name, found))
    return rows


def row(name: str, found: list[Evaluation]) -> dict[str, Any]:
    """The conversations of a recipe together."""
    said = sum(f.original_length for f in found)
    kept = sum(f.summary_length for f in found)
    places = [each.found for f in found for each in f.queries]
    shares = {
        where: round(places.count(where) / len(places), 3) for where in ("context", "archive")
    }
    return {
        "recipe": name,
        "conversations": len(found),
        "original_length": said,
        "summary_length": kept,
        "compression_ratio": round(said / kept, 2),
        "wanted": RANGES[name],
        "queries": len(places),
        "recall_score": shares["context"],
        "only_in_archive": shares["archive"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    rows = asyncio.run(measured())
    for each in rows:
        low, high = each["wanted"]
        print(
            f"{each['recipe']:<10} {each['original_length']:>8,} tokens said, "
            f"{each['summary_length']:>7,} in the context: {each['compression_ratio']:.1f}x "
            f"(wanted {low}-{high}x)  of {each['queries']} answers {each['recall_score']:.3f} in "
            f"the context, {each['only_in_archive']:.3f} only in the archive"
        )
    if options.json:
        print(json.dumps({"rows": rows}))
    missed = [r for r in rows if not r["wanted"][0] <= r["compression_ratio"] <= r["wanted"][1]]
    return 1 if missed or len(rows) < len(RANGES) else 0


if __name__ == "__main__":
    sys.exit(main())
