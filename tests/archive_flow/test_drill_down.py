"""From a summary to the messages that it stands for."""

import pytest
from temporalio.client import Client

from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.errors import ArchiveMissing, Refused
from perdure.memory.observation import Observation
from perdure.memory.wire import sha256
from tests.archive_flow.conftest import TIGHT_CONFIG, Opening, diary
from tests.support.talk import soon


async def test_from_a_reflection_down_to_the_messages(
    client: Client, opening: Opening, fresh: str
) -> None:
    conversation = await opening(TIGHT_CONFIG)
    source = diary(60)
    await conversation.import_messages(source)
    top = (await conversation.memory())["observations"][0]
    assert top["level"] >= 2
    shown = await conversation.show(top["id"])
    assert shown.complete
    assert [m.text for m in shown.messages] == [
        m["content"] for m in source[top["first_seq"] : top["last_seq"] + 1]
    ]
    # What it was made from covers the same messages on every level, down to the first.
    observed = sorted((o for o in shown.made_from if o.level == 1), key=lambda o: o.first_seq)
    covered = [seq for o in observed for seq in range(o.first_seq, o.last_seq + 1)]
    assert covered == list(range(top["first_seq"], top["last_seq"] + 1))
    assert all(o.content for o in shown.made_from)
    assert len((await conversation.show(top["id"], limit=3)).messages) == 3
    with pytest.raises(Refused, match="no entry 'L9"):
        await conversation.show("L9.0-1")

    rows = await conversation.compactions()
    assert [row["n"] for row in rows] == list(range(len(rows)))
    entries = [Observation.model_validate(row["observation"]) for row in rows]
    assert [sha256(entry.body) for entry in entries] == [row["sha256"] for row in rows]
    page = await conversation.compactions(before=4, limit=3)
    assert [row["n"] for row in page] == [1, 2, 3]

    blind = Conversation(client, fresh)
    assert not (await blind.show(top["id"])).complete
    seqs = [m.seq async for m in blind.transcript()]
    assert seqs[0] == (await blind.memory())["messages"]["first_seq"] > 0
    assert len(await blind.compactions()) == len(rows)


async def test_big_blocks_are_whole_again_on_demand(client: Client, opening: Opening) -> None:
    conversation = await opening(ConversationConfig(model="offline"))
    text = "word " * 20_000
    await conversation.import_messages(
        [{"role": "user", "content": text}, {"role": "assistant", "content": text[:-1]}]
    )
    short = [m async for m in conversation.transcript()]
    assert all("stored" in m.content[0] for m in short)
    whole = [m async for m in conversation.transcript(expand=True)]
    assert [m.text for m in whole] == [text, text[:-1]]


async def test_a_reply_that_only_the_archive_has(
    client: Client, opening: Opening, fresh: str
) -> None:
    first = await opening()
    said = await first.ask("hello")
    await soon(first.close())
    second = await opening()
    await second.ask("again")
    assert (await second.reply(1)).text == said.text
    with pytest.raises(ArchiveMissing, match="PERDURE_DATABASE_URL"):
        await Conversation(client, fresh).reply(1)
