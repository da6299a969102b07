"""Queries to a real conversation: in the context, in the archive, nowhere."""

import asyncio
import json
from pathlib import Path

import pytest
from temporalio.client import Client

from perdure.conversation import Conversation
from perdure.errors import ArchiveMissing
from perdure.evaluating import around
from perdure.memory.evaluate import Query
from perdure.memory.message import Message
from perdure.memory.project import Context
from tests.archive_flow.conftest import TIGHT_CONFIG, Opening, diary
from tests.cli.conftest import Cli, cli
from tests.support.conversations import START, text_block

__all__ = ["cli"]


def queries(*answers: str) -> list[Query]:
    return [Query(question=f"What of {a}?", expected_answer=a) for a in answers]


async def test_context_archive_nowhere_and_what_a_model_makes_of_it(
    client: Client, opening: Opening, fresh: str, cli: Cli, server_url: str, tmp_path: Path
) -> None:
    conversation = await opening(TIGHT_CONFIG)
    await conversation.import_messages(diary(40))
    text = await conversation.context_text()
    gone = next(f"{day * 31} loaves" for day in range(40) if f"{day * 31} loaves" not in text)
    asked = queries("1,209 loaves", gone, "a zeppelin")
    found = await conversation.evaluate(asked)
    assert [f.found for f in found.queries] == ["context", "archive", "nowhere"]
    assert found.compression_ratio > 2

    seen: list[Context] = []

    async def ask(context: Context) -> str:
        seen.append(context)
        return "They were 1209 loaves." if len(seen) < 3 else f"answer {len(seen)}"

    judged = await conversation.evaluate(asked, ask)
    assert [f.answers and f.answers.same for f in judged.queries] == [True, False, False]
    # The context and the originals, for each query; the originals hold every message.
    assert len(seen) == 6
    assert all(item["content"] in str(seen[1].messages) for item in diary(40))

    # Without an archive the originals cannot be looked through.
    blind = Conversation(client, fresh)
    assert (await blind.evaluate(asked[:1])).recall_score == 1.0
    with pytest.raises(ArchiveMissing, match="PERDURE_DATABASE_URL"):
        await blind.evaluate(asked)

    file = tmp_path / "queries.json"
    file.write_text(json.dumps([q.model_dump() for q in asked]), encoding="utf-8")
    broken = tmp_path / "broken.json"
    broken.write_text('[{"question": "Who?"}]', encoding="utf-8")
    env = {"PERDURE_DATABASE_URL": server_url}
    plain, probed, missing, wrong, unknown = await asyncio.gather(
        cli("evaluate", fresh, "--queries", str(file), "--json", **env),
        cli("evaluate", fresh, "--queries", str(file), "--model", "offline", **env),
        cli("evaluate", fresh, "--queries", str(tmp_path / "none.json"), **env),
        cli("evaluate", fresh, "--queries", str(broken), **env),
        cli("evaluate", f"{fresh}-nobody", "--queries", str(file), **env),
    )
    assert plain.json == found.model_dump(mode="json", exclude_none=True)
    assert "33% of the answers are in it" in probed.text
    assert "of the answers are the same as from the originals" in probed.text
    assert "none.json: it cannot be read" in missing.error
    assert "broken.json: query 1 needs expected_answer" in wrong.error
    assert f"there is no conversation '{fresh}-nobody'" in unknown.error


def test_originals_that_do_not_fit_are_read_around_the_answer() -> None:
    messages = [
        Message(seq=n, role="user", content=[text_block(f"number {n}")], at=START, tokens=96)
        for n in range(20)
    ]
    assert [m.seq for m in around(messages, "number 7", 300)] == [6, 7, 8]
    assert [m.seq for m in around(messages, "nothing", 300)] == [17, 18, 19]
    assert [m.seq for m in around(messages, "number 7", 1)] == [7]
    assert len(around(messages, "number 7", 10_000)) == 20
    assert around([], "x", 10) == []
