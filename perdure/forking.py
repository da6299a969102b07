"""Starting a workflow that goes on from a turn of another one."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError

from perdure.contract import WORKFLOW, Fork
from perdure.errors import ConversationExists, PerdureError, Refused
from perdure.past import Past

# Temporal limits the summary of a workflow to 400 bytes.
_SHOWN_ID = 60


async def check_turn(past: Past, turn: int) -> None:
    """Refuse a turn that has not ended, before anything is started that would fail by it.

    Raises Refused with the sentence of the workflow.
    """
    if await past.turned(turn) is None:
        raise Refused(f"{past.conversation} cannot be forked at turn {turn}: {past.unknown(turn)}")


async def start_fork(client: Client, fork: Fork, *, id: str, task_queue: str, details: str) -> None:  # noqa: A002
    """Start a conversation as a fork. Raises ConversationExists when its id is taken.

    That of a fork which could not be made is free.
    """
    try:
        await client.start_workflow(
            WORKFLOW,
            {"fork": fork.model_dump(mode="json")},
            id=id,
            task_queue=task_queue,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
            static_summary=f"fork of {fork.conversation[:_SHOWN_ID]} at turn {fork.turn}",
            static_details=details,
        )
    except WorkflowAlreadyStartedError:
        raise ConversationExists(
            f"there is a conversation {id!r} already; choose another id for the fork"
        ) from None


async def begun(handle: WorkflowHandle[Any, Any], knows: Coroutine[Any, Any, bool]) -> None:
    """Wait until a fork `knows` its past. Raises Refused when it has ended without it."""
    ended = asyncio.ensure_future(handle.result())
    ready = asyncio.ensure_future(knows)
    try:
        await asyncio.wait([ended, ready], return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            await ended
        if not await ready:
            raise PerdureError(f"{handle.id} waits for its archive; its status tells why")
    except WorkflowFailureError as error:
        cause = error.cause
        said = cause.message if isinstance(cause, ApplicationError) else str(cause)
        raise Refused(said) from None
    finally:
        for waiting in (ended, ready):
            waiting.cancel()
        await asyncio.gather(ended, ready, return_exceptions=True)
