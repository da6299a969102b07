"""Shadow compaction: recorded ranges in another way, and what is adopted of it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client

import worker
from bench.stage import key_for
from perdure.entrance import reconfigured
from perdure.errors import ArchiveMissing, Refused
from perdure.memory.evaluate import Query
from perdure.model.choose import Providers
from perdure.model.pool import Pool
from perdure.model.prices import prices
from perdure.shadow import Summariser, again, shadow
from perdure.transfer.checking import checked
from tests.archive_flow.conftest import TIGHT_CONFIG, Opening, diary
from tests.archive_flow.test_transfer import written
from tests.support.answers import Answer, notes
from tests.support.messages_api import Body, MessagesApi, is_summary
from tests.support.recorded import check_contexts, sent_hashes
from tests.support.talk import until

LINES = [line["content"] for line in diary(27)]
PROMPT = "Keep the ovens, and nothing about Piotr."
OTHER = reconfigured(
    TIGHT_CONFIG, {"summary_model": "claude-sonnet-5-5", "policy": {"instructions": PROMPT}}
)


# Every range tells of Hallmoor, and one of the oven 51.
QUERIES = [
    Query(question="Whose ovens are they?", expected_answer="hallmoor"),
    Query(question="Which oven gave 93 loaves?", expected_answer="51"),
]


def short(request: Body) -> Answer:
    """A summary of a few words."""
    assert is_summary(request)
    return notes(("2026-03-01", "The ovens of Hallmoor."), gist="Ovens.")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def api() -> AsyncIterator[MessagesApi]:
    async with MessagesApi(short) as api:
        with key_for(api):
            yield api
    api.check()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def summariser(api: MessagesApi) -> AsyncIterator[Summariser]:
    """As a client has it: nothing of it is the worker's, which is offline."""
    table = prices()
    async with Pool(1) as pool, Providers(pool, table) as providers:
        yield Summariser(providers, pool, table, "offline")


async def at_rest(client: Client, id: str) -> bool:  # noqa: A002
    """Whether nothing goes on in a conversation: no compaction, and none that is to be taken in."""
    found = (await client.get_workflow_handle(id).describe()).raw_description
    return not found.pending_activities and not found.HasField("pending_workflow_task")


async def test_another_prompt_on_the_recorded_ranges_and_one_is_adopted(
    client: Client, opening: Opening, summariser: Summariser, api: MessagesApi, tmp_path: Path
) -> None:
    conversation = await opening(TIGHT_CONFIG)
    await conversation.import_messages(diary(20))
    for line in LINES[20:23]:
        await conversation.ask(line)
    await until(lambda: at_rest(client, conversation.id))
    hashes = await sent_hashes(client, conversation.id)
    handle = client.get_workflow_handle(conversation.id)
    before = (await handle.describe()).history_length, await conversation.held()

    found = await shadow(await conversation.past(), OTHER, summariser, last=100, queries=QUERIES)
    rows = await conversation.compactions()
    assert [(each.n, each.id) for each in found] == [(r["n"], r["observation"]["id"]) for r in rows]
    assert {each.level for each in found} >= {1, 2}
    for each, row in zip(found, rows, strict=True):
        was, now = each.was, each.now
        assert (was.content, was.method) == (row["observation"]["content"], "extractive")
        assert (now.method, each.fault) == ("model", None)
        assert "The ovens of Hallmoor." in now.content
        assert now.ratio > 1
        assert each.answers in (1, 2)
        assert (was.answered, now.answered) >= (0, 1)
        assert 0 <= now.told <= now.kept <= each.facts
        assert was.usage is None
        assert now.usage is not None
        assert now.usage.cost > 0
    assert all(PROMPT in str(request) for request in api.requests)
    # It touches nothing.
    assert ((await handle.describe()).history_length, await conversation.held()) == before

    chosen = next(each for each in found if each.stands)
    made = await conversation.supersede(chosen.adopting)
    assert made == f"{chosen.id}~2"
    assert chosen.now.content in await conversation.context_text()
    newest = (await conversation.compactions())[-1]
    assert (newest["observation"]["id"], newest["supersedes"]) == (made, chosen.id)
    assert newest["model"] == chosen.now.model
    # Sent again it is the same, and counts once.
    assert await conversation.supersede(chosen.adopting) == made
    assert len(await conversation.compactions()) == len(rows) + 1
    usage = (await conversation.status())["totals"]["compaction_usage"]
    assert usage["output"] == chosen.now.usage.output if chosen.now.usage else 0

    away = next(each for each in found if not each.stands)
    with pytest.raises(Refused, match=f"{away.id} does not stand in the context any more"):
        await conversation.supersede(away.adopting)
    other = chosen.model_copy(update={"now": chosen.now.model_copy(update={"content": "Else."})})
    with pytest.raises(Refused, match=f"{chosen.id} does not stand in the context any more"):
        await conversation.supersede(other.adopting)

    assert [each.stands for each in await again(await conversation.past(), [chosen])] == [False]

    # What was sent before is still known word for word, and so is what comes after.
    for line in LINES[23:27]:
        await conversation.ask(line)
    assert await check_contexts(conversation, client) == 7
    for turn, sha256 in hashes.items():
        assert (await conversation.moment(turn)).context.sha256 == sha256
    path = await written(conversation, tmp_path / "talk.jsonl")
    assert checked(path).end.counts["row"] > len(rows) + 1
    report = await worker.replay(client, conversation.id)
    assert report.identical
    assert report.summaries > len(rows) + 1
    fork = await conversation.fork(5)
    assert chosen.now.content in await fork.context_text()

    # The adopted text is one like any other: it is reflected, and can be made once more.
    past = await conversation.past()
    [revised] = await shadow(past, OTHER, summariser, last=1, rows=[newest["n"]])
    assert (revised.was.content, revised.was.method) == (chosen.now.content, "model")
    assert revised.was.usage == chosen.now.usage


async def test_what_cannot_be_is_refused(
    client: Client, opening: Opening, summariser: Summariser, fresh: str
) -> None:
    conversation = await opening(TIGHT_CONFIG)
    past = await conversation.past()
    assert await shadow(past, OTHER, summariser, last=5) == []
    with pytest.raises(Refused, match="has no compaction 3; it has none yet"):
        await shadow(past, OTHER, summariser, last=5, rows=[3])
    await conversation.import_messages(diary(12))
    [made] = await shadow(await conversation.past(), TIGHT_CONFIG, summariser, last=1)
    other = await opening(TIGHT_CONFIG, f"{fresh}-other")
    with pytest.raises(Refused, match=f"has no entry {made.id} like that; it was made for another"):
        await again(await other.past(), [made])
    with pytest.raises(ArchiveMissing, match="set PERDURE_DATABASE_URL"):
        await shadow(replace(past, archive=None), OTHER, summariser, last=5)
