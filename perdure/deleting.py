"""Removing a conversation for good: every run of it in Temporal, and its past in the archive."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from perdure.archive import Archive, Removed
from perdure.errors import ConversationNotFound, ConversationRunning, PerdureError

GONE_SECONDS = 90.0
"""How long Temporal may take to remove runs that had ended: it was seen to take 35 s."""
_LOOK_SECONDS = 0.1
_ARCHIVED = ("chains", "messages", "observations", "ledger_rows", "replies", "events", "blobs")


class Deleted(BaseModel):
    """What was removed: runs in Temporal, the rest in the archive."""

    conversation: str
    runs: int
    chains: int
    messages: int
    observations: int
    ledger_rows: int
    replies: int
    events: int
    blobs: int


async def delete(
    client: Client,
    archive: Archive,
    id: str,  # noqa: A002
    *,
    force: bool = False,
    wait: bool = False,
) -> Deleted:
    """Remove a conversation; one that runs only with `force`.

    Temporal removes runs that had ended in the background, which `wait` waits for. Raises
    ConversationRunning without `force`, ConversationNotFound when there is nothing to remove,
    and `ArchiveShared`, with nothing removed, while a fork of another conversation needs it.
    Repeating it after a failure removes the rest.
    """
    if not force and await _is_running(client, id):
        raise ConversationRunning(
            f"the conversation {id!r} is running; close it first, or delete it with --force"
        )
    first = await archive.delete(client.namespace, id)
    runs = await _runs(client, id)
    for run_id in runs:
        with _or_gone():
            await client.workflow_service.delete_workflow_execution(
                DeleteWorkflowExecutionRequest(
                    namespace=client.namespace,
                    workflow_execution=WorkflowExecution(workflow_id=id, run_id=run_id),
                ),
                retry=True,
            )
    # Once more: a running conversation may have archived something meanwhile.
    removed = _sum(first, await archive.delete(client.namespace, id))
    if not runs and not any(removed.values()):
        raise ConversationNotFound(f"there is no conversation {id!r}")
    if wait:
        await _wait_gone([client.get_workflow_handle(id, run_id=run_id) for run_id in runs])
    return Deleted(conversation=id, runs=len(runs), **removed)


def _sum(first: Removed, second: Removed) -> dict[str, int]:
    return {name: getattr(first, name) + getattr(second, name) for name in _ARCHIVED}


@contextmanager
def _or_gone() -> Iterator[None]:
    try:
        yield
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise


async def _is_running(client: Client, id: str) -> bool:  # noqa: A002
    found = None
    with _or_gone():
        found = await client.get_workflow_handle(id).describe()
    return found is not None and found.status == WorkflowExecutionStatus.RUNNING


async def _runs(client: Client, id: str) -> list[str]:  # noqa: A002
    """The ids of all runs. One just begun may not be listed yet, so the last is asked for too."""
    quoted = id.replace("\\", "\\\\").replace('"', '\\"')
    listed = [run.run_id async for run in client.list_workflows(f'WorkflowId = "{quoted}"')]
    with _or_gone():
        listed.append((await client.get_workflow_handle(id).describe()).run_id)
    return list(dict.fromkeys(listed))


async def _wait_gone(runs: list[WorkflowHandle[object, object]]) -> None:
    try:
        async with asyncio.timeout(GONE_SECONDS):
            for run in runs:
                with _or_gone():
                    while await run.describe():
                        await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError:
        raise PerdureError(
            f"Temporal still removes runs after {GONE_SECONDS:.0f} s; it goes on by itself"
        ) from None
