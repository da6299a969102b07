"""Waiting for a worker, but not for one that does not exist."""

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from perdure.errors import NoWorker

T = TypeVar("T")

PATIENCE_SECONDS = 5.0
# A worker's long poll lasts up to a minute, so an idle one may not have been seen for that long.
_SEEN_WITHIN = timedelta(seconds=70)


async def _has_worker(client: Client, task_queue: str) -> bool:
    asked = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    try:
        response = await client.workflow_service.describe_task_queue(asked, retry=True)
    except RPCError:
        # Temporal ends a connection every five minutes, and what is under way with it. Not to
        # know of a worker is no reason to give up what it may be doing.
        return True
    now = datetime.now(UTC)
    return any(
        now - poller.last_access_time.ToDatetime(UTC) < _SEEN_WITHIN for poller in response.pollers
    )


def _nobody(task_queue: str) -> NoWorker:
    return NoWorker(
        f"no worker serves the task queue {task_queue!r}; start one with `perdure worker`"
    )


async def served(client: Client, task_queue: str, call: Awaitable[T]) -> T:
    """`await call`, which only a worker can answer.

    Raises NoWorker after five seconds when none polls, and when the server gives up waiting.
    """
    task = asyncio.ensure_future(call)
    try:
        done, _ = await asyncio.wait({task}, timeout=PATIENCE_SECONDS)
        if not done and not await _has_worker(client, task_queue):
            raise _nobody(task_queue)
        return await task
    except RPCError as error:
        # What the server says of a conversation that stands on a queue of its own.
        if error.status == RPCStatusCode.DEADLINE_EXCEEDED or "no poller seen" in str(error):
            raise _nobody(task_queue) from None
        raise
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
