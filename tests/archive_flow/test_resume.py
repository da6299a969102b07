"""An id that has ended starts again."""

import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from perdure.archive import Archive
from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.errors import ConversationClosed, Refused
from tests.archive_flow.conftest import TIGHT_CONFIG, Opening, diary
from tests.support.talk import soon


async def opened(conversation: Conversation) -> dict[str, object]:
    """The status, once the archive was asked for an earlier life."""

    assert await conversation.ready()
    return await conversation.status()


async def test_a_closed_conversation_goes_on_with_its_memory(opening: Opening) -> None:
    first = await opening(TIGHT_CONFIG)
    assert not first.resumed
    await first.import_messages(diary(20))
    said = await first.ask("How many loaves on day 3?")
    await soon(first.close())
    before, cost = await first.memory(), (await first.status())["totals"]
    with pytest.raises(ConversationClosed):
        await first.ask("more")

    second = await opening()
    assert second.resumed
    status = await opened(second)
    assert (status["turn"], status["messages"], status["title"]) == (1, 22, "the bakery")
    totals = (await second.status())["totals"]
    for usage in ("reply_usage", "compaction_usage"):
        assert totals[usage] == cost[usage]
    assert cost["reply_usage"]["input"] > 0
    assert (await second.memory())["observations"] == before["observations"]
    assert (await second.context())["system"] == "You are a baker."
    assert (await second.reply()).text == said.text
    again = await second.ask("And on day 4?")
    assert again.turn == 2
    assert (await second.reply(1)).text == said.text
    messages = [m async for m in second.transcript()]
    assert [m.seq for m in messages] == list(range(24))
    assert [m.text for m in messages[:20]] == [m["content"] for m in diary(20)]
    assert messages[-1].text == again.text
    await soon(second.close())

    third = await opening(ConversationConfig(title="new"))
    status = await opened(third)
    assert (status["turn"], status["title"]) == (2, "new")
    assert [m.seq async for m in third.transcript()] == list(range(24))
    with pytest.raises(Refused):
        await third.reply(3)


async def test_a_terminated_conversation_starts_anew_and_says_so(
    client: Client, opening: Opening, archive: Archive, fresh: str
) -> None:
    first = await opening(TIGHT_CONFIG)
    await first.import_messages(diary(20))
    chain = (await first.status())["chain"]
    handle = client.get_workflow_handle(fresh)
    await handle.terminate()
    assert (await handle.describe()).status == WorkflowExecutionStatus.TERMINATED
    second = await opening()
    assert second.resumed
    status = await opened(second)
    assert status["messages"] == 0
    assert str(chain) in str(status["last_error"])
    await second.ask("hello")
    await soon(second.close())
    assert [c.closed_at is None for c in await archive.chains("default", fresh)] == [True, False]
    third = await opening()
    status = await opened(third)
    assert (status["messages"], status["errors"]) == (2, [])


async def test_a_conversation_that_temporal_has_forgotten_is_read_from_the_archive(
    client: Client, opening: Opening, archive: Archive, fresh: str
) -> None:
    known = await opening(TIGHT_CONFIG)
    await known.import_messages(diary(12))
    await soon(known.close())
    entry = (await known.memory())["observations"][0]["id"]
    chain = (await archive.chains("default", fresh))[0]
    snapshot = await archive.snapshot(chain.key)
    assert snapshot is not None
    # Another id, of which Temporal never had anything.
    other = chain.key.__class__("default", f"{fresh}-old", "chain-1")
    await archive.fork(chain.key, other)
    await archive.close_chain(other, snapshot)
    forgotten = Conversation(client, f"{fresh}-old", archive=archive)
    assert [m.seq async for m in forgotten.transcript()] == list(range(12))
    assert (await forgotten.show(entry)).complete
    resumed = await opening(id=f"{fresh}-old")
    assert (await opened(resumed))["messages"] == 12
