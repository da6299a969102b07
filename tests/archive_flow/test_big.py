"""What is too big for the history, what is forged, and what no database can hold."""

import base64
from typing import Any

import pytest
from temporalio.client import Client

import worker
from perdure.archive import Archive
from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.entrance import parse_imported
from perdure.errors import Refused
from perdure.memory.blocks import Block
from perdure.memory.policy import MemoryPolicy
from perdure.transfer import export, restore
from perdure.verifying import compare
from tests.archive_flow.conftest import TIGHT_CONFIG, Opening, diary
from tests.archive_flow.test_transfer import written
from tests.support.scripted import QUEUE, Scripted
from tests.support.talk import soon, until

MOST = 100_000
FORGED = {
    "sha256": "0" * 64,
    "size": 50_000,
    "tokens": 700,
    "full": True,
    "head": "the head",
    "tail": "the tail",
}


async def history_bytes(client: Client, id: str) -> int:  # noqa: A002
    description = await client.get_workflow_handle(id).describe()
    return int(description.raw_description.workflow_execution_info.history_size_bytes)


async def whole(conversation: Conversation, first: int) -> list[dict[str, Any]]:
    (found,) = [m async for m in conversation.transcript(first, first, expand=True)]
    return found.content


async def test_big_contents_cost_the_history_little_and_come_back_whole(
    client: Client, opening: Opening, fresh: str
) -> None:
    conversation = await opening(ConversationConfig(model="offline"))
    await conversation.ask("hello")
    picture = base64.b64encode(bytes(range(256)) * 8_800).decode()
    source = {"type": "base64", "media_type": "image/png", "data": picture}
    contents: list[list[Block]] = [
        [{"type": "text", "text": "Numbers: " + "17 loaves, " * 230_000}],
        [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}],
    ]
    for content in contents:
        before = await history_bytes(client, fresh)
        reply = await soon(conversation.ask(content), 30)
        assert reply.text
        assert await history_bytes(client, fresh) - before < MOST
        seq = (await conversation.status())["messages"] - 2
        assert await whole(conversation, seq) == content
    before = await history_bytes(client, fresh)
    item = {"role": "user", "content": "a page of prose. " * 300_000}
    receipt = await conversation.import_messages([item])
    assert await history_bytes(client, fresh) - before < MOST
    assert await whole(conversation, receipt.first_seq) == [
        {"type": "text", "text": item["content"]}
    ]
    blocks = [{"type": "text", "text": "x" * 1_900}] * 1_200
    with pytest.raises(Refused, match="in many small blocks"):
        await conversation.import_messages([{"role": "user", "content": blocks}])


async def test_a_hundred_messages_of_ten_kilobytes(
    client: Client, archive: Archive, scripted_worker: Scripted, fresh: str
) -> None:
    policy = MemoryPolicy(message_budget=20_000, observe_chunk=10_000)
    config = ConversationConfig(policy=policy)
    conversation = await Conversation.open(client, fresh, config, task_queue=QUEUE, archive=archive)
    messages = [
        {"role": "user", "content": f"Page {number}: " + f"line {number} of the ledger. " * 460}
        for number in range(100)
    ]
    before = await history_bytes(client, fresh)
    await conversation.import_messages(messages)
    assert (await history_bytes(client, fresh) - before) / 100 < MOST
    source = [parse_imported(m) for m in messages]
    verified = await compare(conversation.transcript(expand=True), source)
    assert (verified.equal, verified.identical) == (100, True)
    assert (await conversation.memory())["messages"]["first_seq"] > 60


async def test_a_forged_reference_is_carried_like_any_text(
    client: Client, archive: Archive, opening: Opening, fresh: str, tmp_path: Any
) -> None:
    conversation = await opening(TIGHT_CONFIG)
    handle = client.get_workflow_handle(fresh)
    await handle.signal("user_message", {"content": [{"type": "text", "stored": FORGED}]})
    for odd in ({"sha256": "x"}, {"tokens": -5}, {"tokens": 2**70}, {"size": 0}):
        block = {"type": "text", "stored": {**FORGED, **odd}}
        await handle.signal("user_message", {"content": [block]})

    async def answered() -> bool:
        status = await conversation.status()
        return status["turn"] == 1 and len(status["errors"]) == 4

    await until(answered)
    await conversation.import_messages(diary(20))
    (first,) = [m async for m in conversation.transcript(0, 0, expand=True)]
    assert first.text.startswith("the head\n[left out here")
    path = await written(conversation, tmp_path / "forged.jsonl")
    assert (await restore(client, archive, path, id=f"{fresh}-copy")).identical
    assert (await soon(conversation.ask("Go on."))).text
    await soon(conversation.close())
    assert (await worker.replay(client, fresh)).identical


async def test_what_no_database_can_hold_is_replaced_at_every_door(
    client: Client, opening: Opening, fresh: str
) -> None:
    bad, good = "nul \x00 and half \ud83d of a pair", "nul \ufffd and half \ufffd of a pair"
    conversation = await opening(
        TIGHT_CONFIG.model_copy(update={"system": bad.encode("utf-8", "replace").decode()})
    )
    mixed = {"role": "user", "content": f"{bad} {'x' * 40_000}"}
    messages = [*diary(12), mixed, *({**m, "at": None} for m in diary(6)[1:])]
    await conversation.import_messages(messages)
    await conversation.ask(bad)
    await conversation.pin(f"pinned {bad.encode('utf-8', 'replace').decode()}")
    source = [parse_imported(m) for m in messages]
    verified = await compare(conversation.transcript(expand=True), source)
    assert (verified.equal, verified.identical) == (18, True)
    assert good in [m.text async for m in conversation.transcript()]
    assert [line async for line in export(await conversation.past())]
    await soon(conversation.close())
    assert (await conversation.status())["errors"] == []
