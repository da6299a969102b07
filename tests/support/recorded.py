"""What Temporal has recorded of a conversation, and how it loses all of it."""

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client

import worker
from perdure.contract import REPLY
from perdure.conversation import Conversation
from perdure.errors import Refused
from perdure.replay import decoded, fetch_chain, runs
from tests.support.talk import until


async def sent_hashes(client: Client, id: str) -> dict[int, str]:  # noqa: A002
    """By turn, the hash of the last context for a model."""
    histories, _ = await fetch_chain(client, id)
    scheduled = [
        event.activity_task_scheduled_event_attributes
        for history in histories
        for event in history.events
        if event.HasField("activity_task_scheduled_event_attributes")
    ]
    refs = [decoded(s.input) for s in scheduled if s.activity_type.name == REPLY]
    return {ref["turn"]: ref["sha256"] for ref in refs}


async def forget(client: Client, id: str) -> None:  # noqa: A002
    """Have Temporal lose a conversation, as its retention would; returns when it has."""
    histories, _ = await fetch_chain(client, id)
    for history in histories:
        await client.workflow_service.delete_workflow_execution(
            DeleteWorkflowExecutionRequest(
                namespace=client.namespace,
                workflow_execution=WorkflowExecution(workflow_id=id, run_id=history.run_id),
            )
        )

    async def lost() -> bool:
        return not [run async for run in runs(client, id)]

    await until(lost)


async def check_contexts(conversation: Conversation, client: Client) -> int:
    """Every turn was sent what its records say it was; gives how many were sent anything."""
    sent = 0
    for turn in range(1, (await conversation.status())["turn"] + 1):
        replayed = await worker.sent(client, conversation.id, turn)
        try:
            archived = await conversation.moment(turn)
        except Refused as error:
            # It was interrupted first, or its context never fitted.
            if "before a model was sent anything" not in str(error) or replayed is not None:
                raise
            continue
        assert replayed is not None, turn
        assert archived.context == replayed.context, turn
        assert archived.step == replayed.step, turn
        sent += 1
    return sent
