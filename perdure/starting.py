"""Starting the workflow of a conversation, by itself or with its first message."""

from contextlib import suppress
from typing import Any

from temporalio.client import WithStartWorkflowOperation
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from perdure.contract import WORKFLOW, ConversationConfig, Receipt
from perdure.errors import ConversationExists, Refused
from perdure.handle import Handle, Start
from perdure.zones import fault

DETAILS = (
    "Signals: user_message, compact, interrupt, approve, pin, close. Updates: ask, "
    "import_messages, configure, supersede. Queries: context, context_text, reply, memory, "
    "compactions, sessions, status, transcript."
)
"""What Temporal's page tells of the workflow."""


async def start(handle: Handle, config: ConversationConfig | None, *, again: bool) -> None:
    """Start it, or leave it alone if somebody else did just now; `again` after one has ended.

    Raises Refused for a time zone that is none, ConversationClosed when another one of this id
    has come and gone in between.
    """
    config = _startable(config)
    try:
        await handle.client.start_workflow(
            WORKFLOW,
            config,
            id=handle.id,
            task_queue=handle.task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=(
                WorkflowIDReusePolicy.ALLOW_DUPLICATE
                if again
                else WorkflowIDReusePolicy.REJECT_DUPLICATE
            ),
            static_summary=_summary(config),
            static_details=DETAILS,
        )
    except WorkflowAlreadyStartedError:
        raise handle.closed() from None


async def start_with(handle: Handle, config: ConversationConfig | None, message: Any) -> Receipt:
    """Start it with the payload of its first message, in one call, and wait for the receipt.

    Raises Refused for a time zone that is none, ConversationExists when it runs, and what the
    update `ask` raises.
    """
    config = _startable(config)
    operation: Start = WithStartWorkflowOperation(
        WORKFLOW,
        config,
        id=handle.id,
        task_queue=handle.task_queue,
        id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        static_summary=_summary(config),
        static_details=DETAILS,
    )
    try:
        return await handle.update("ask", message, Receipt, operation)
    except WorkflowAlreadyStartedError:
        # The operation holds the failure too, and complains when nobody asks for it.
        with suppress(WorkflowAlreadyStartedError):
            await operation.workflow_handle()
        raise ConversationExists(f"the conversation {handle.id!r} runs already") from None


def _startable(config: ConversationConfig | None) -> ConversationConfig:
    config = config or ConversationConfig()
    if (wrong := fault(config.policy.timezone)) is not None:
        raise Refused(wrong)
    return config


def _summary(config: ConversationConfig) -> str:
    return config.title or "conversation"
