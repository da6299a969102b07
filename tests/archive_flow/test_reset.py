"""A history that was reset goes another way, and leaves what the first way archived alone."""

import uuid

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, ResetReapplyType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client

import worker
from perdure.archive import Archive, ChainKey
from perdure.conversation import Conversation
from tests.archive_flow.conftest import TIGHT_CONFIG, Opening, diary
from tests.support.talk import soon, until

NONE = ResetReapplyType.RESET_REAPPLY_TYPE_NONE
ALL = ResetReapplyType.RESET_REAPPLY_TYPE_ALL_ELIGIBLE


async def tasks(client: Client, id: str) -> list[int]:  # noqa: A002
    """The events at which a workflow task was completed: where a reset may go back to."""
    history = await client.get_workflow_handle(id).fetch_history()
    done = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    return [event.event_id for event in history.events if event.event_type == done]


async def reset(client: Client, id: str, event: int, reapply: ResetReapplyType.ValueType) -> None:  # noqa: A002
    handle = client.get_workflow_handle(id)
    run_id = (await handle.describe()).run_id
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=id, run_id=run_id),
            reason="a test",
            workflow_task_finish_event_id=event,
            request_id=uuid.uuid4().hex,
            reset_reapply_type=reapply,
        )
    )


async def texts(archive: Archive, key: ChainKey) -> list[str]:
    return [m.text for m in await archive.messages(key)]


async def ask_until_archived(conversation: Conversation, beyond: int, said: list[str]) -> None:
    while (await conversation.status())["archived"]["seq"] <= beyond:
        said.append(f"The other way, step {len(said)}: 41 loaves for the harbour, please.")
        said.append((await soon(conversation.ask(said[-1]))).text)
        assert len(said) < 60


@pytest.mark.parametrize("closed", [False, True])
async def test_both_ways_can_be_read(
    client: Client, archive: Archive, opening: Opening, fresh: str, closed: bool
) -> None:
    conversation = await opening(TIGHT_CONFIG)
    await conversation.import_messages(diary(12))
    chain = (await conversation.status())["chain"]
    shared = (await conversation.status())["archived"]["seq"]
    assert shared > 0
    place = (await tasks(client, fresh))[-1]
    await conversation.ask("The first way: 1 loaf for the mill.")
    await conversation.import_messages(diary(30)[12:])
    if closed:
        await soon(conversation.close())
    first_way = [m.text async for m in conversation.transcript()]
    key = ChainKey(client.namespace, fresh, chain)
    archived = await texts(archive, key)
    assert len(archived) > shared

    await reset(client, fresh, place, NONE)
    said = [m["content"] for m in diary(12)]
    assert [m.text async for m in conversation.transcript()] == said
    assert (await conversation.status())["chain"] == chain
    await ask_until_archived(conversation, len(said), said)
    assert [m.text async for m in conversation.transcript()] == said
    assert await texts(archive, key) == archived == first_way[: len(archived)]
    status = await conversation.status()
    assert status["chain"] != chain
    second = await texts(archive, ChainKey(client.namespace, fresh, status["chain"]))
    assert second == said[: len(second)]
    rows = await conversation.compactions()
    assert [row["n"] for row in rows] == list(range(len(rows)))
    shown = [await conversation.show(row["observation"]["id"]) for row in rows]
    assert all(entry.messages for entry in shown)
    await soon(conversation.close())
    assert (await worker.replay(client, fresh)).identical

    resumed = await opening()
    assert await resumed.ready()
    assert [m.text async for m in resumed.transcript()] == said


async def test_back_to_the_very_beginning_with_all_updates_sent_again(
    client: Client, archive: Archive, opening: Opening, fresh: str
) -> None:
    conversation = await opening(TIGHT_CONFIG)
    await conversation.import_messages(diary(12))
    await conversation.ask("The first way: 1 loaf for the mill.")
    chain = (await conversation.status())["chain"]
    key = ChainKey(client.namespace, fresh, chain)
    archived = await texts(archive, key)
    assert archived
    # Signals among the updates would come in another order at the next replay: the SDK's fault.
    await reset(client, fresh, (await tasks(client, fresh))[0], ALL)

    async def answered() -> bool:
        status = await conversation.status()
        return status["messages"] == 14 and status["running"] is None

    await until(answered)
    said = [m.text async for m in conversation.transcript()]
    await ask_until_archived(conversation, 0, said)
    assert await texts(archive, key) == archived
    assert [m.text async for m in conversation.transcript()] == said
    assert (await worker.replay(client, fresh)).identical
