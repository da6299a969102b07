"""A workflow as a client reaches it: its calls, repeated where that is safe, and their errors."""

import asyncio
import secrets
from collections.abc import Awaitable
from typing import Any, TypeVar

from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from perdure.contract import (
    DRAINING,
    MATERIAL,
    TURN_FAILED,
    Held,
    HeldRef,
    MaterialPage,
    MaterialQuery,
)
from perdure.errors import ConversationClosed, ConversationNotFound, Refused, TurnFailed
from perdure.served import served

T = TypeVar("T")
Start = WithStartWorkflowOperation[Any, Any]

_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 2.0
# Updates in flight are limited per workflow, and an accepted one may outlive its run.
# FAILED_PRECONDITION: a workflow task is being tried again, after a worker was lost.
_BUSY = (
    RPCStatusCode.RESOURCE_EXHAUSTED,
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.ABORTED,
    RPCStatusCode.FAILED_PRECONDITION,
)
_BUSY_SECONDS = 60.0
# CANCELLED: it took too long, as when the worker that it was given to is lost.
_UNANSWERED = (
    RPCStatusCode.RESOURCE_EXHAUSTED,
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.CANCELLED,
)
# How else a conversation can be over than by being closed.
_ENDINGS = {
    WorkflowExecutionStatus.TERMINATED: "was terminated",
    WorkflowExecutionStatus.CANCELED: "was cancelled",
    WorkflowExecutionStatus.TIMED_OUT: "has timed out",
}


def new_id() -> str:
    """An id for a message or an update.

    Of eight characters: they stand in the history of a turn six times, and are forgotten soon.
    """
    return secrets.token_urlsafe(6)


class _Patience:
    """Longer and longer pauses between tries, and the end of them."""

    def __init__(self) -> None:
        self._pause = _PAUSE_SECONDS
        self._until = asyncio.get_running_loop().time() + _BUSY_SECONDS

    @property
    def has_ended(self) -> bool:
        """Whether it has been tried for long enough."""
        return asyncio.get_running_loop().time() > self._until

    async def pause(self) -> None:
        await asyncio.sleep(self._pause)
        self._pause = min(_LONGEST_PAUSE_SECONDS, 2 * self._pause)


class Handle:
    """The workflow of one conversation, which need not exist."""

    def __init__(self, client: Client, id: str, task_queue: str) -> None:  # noqa: A002
        self.id = id
        self.client = client
        self.task_queue = task_queue
        self.workflow = client.get_workflow_handle(id)

    async def status(self) -> WorkflowExecutionStatus | None:
        """How its last run stands, None when there is none."""
        try:
            return (await self.workflow.describe()).status
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return None
            raise

    def missing(self) -> ConversationNotFound:
        """The error of one that does not exist."""
        return ConversationNotFound(f"there is no conversation {self.id!r}")

    def closed(self, how: str = "has ended") -> ConversationClosed:
        """The error of one that takes nothing any more."""
        return ConversationClosed(f"the conversation {self.id!r} {how}")

    async def gone(self) -> Exception:
        """Whichever of the two is true."""
        status = await self.status()
        if status is None:
            return self.missing()
        if status == WorkflowExecutionStatus.FAILED:
            return self.closed(f"has failed: {await self._why()}")
        return self.closed(_ENDINGS.get(status, "has ended"))

    async def _why(self) -> str:
        try:
            await self.workflow.result()
        except WorkflowFailureError as failure:
            return _text(failure.cause)
        return "its workflow has no failure any more"

    async def served(self, call: Awaitable[T]) -> T:
        """`call`, which fails after some seconds when no worker serves the task queue."""
        return await served(self.client, self.task_queue, call)

    async def query(self, name: str, payload: Any, type_: type[T]) -> T:
        """The answer to a query, which is asked again where it got none.

        Raises Refused with the workflow's sentence.
        """
        patience = _Patience()
        while True:
            try:
                call = self.workflow.query(name, payload, result_type=type_)
                return await self.served(call)
            except WorkflowQueryFailedError as error:
                raise Refused(str(error)) from None
            except RPCError as error:
                if error.status == RPCStatusCode.NOT_FOUND:
                    raise self.missing() from None
                if patience.has_ended or error.status not in _UNANSWERED:
                    raise
            await patience.pause()

    async def held(self) -> Held:
        """Everything that the workflow holds at one moment, read in pages."""
        pages: list[MaterialPage] = []
        while not pages or sum(len(p.text) for p in pages) < pages[0].size:
            offset = sum(len(p.text) for p in pages)
            query = MaterialQuery(of=HeldRef().model_dump(mode="json"), offset=offset)
            page = await self.query(MATERIAL, query.model_dump(mode="json"), MaterialPage)
            if pages and page.sha256 != pages[0].sha256:
                # It has changed in between: from the start again.
                pages = []
                continue
            pages.append(page)
        return Held.model_validate_json("".join(p.text for p in pages))

    async def signal(self, name: str, payload: Any) -> None:
        """Send a signal to the running workflow."""
        try:
            await self.workflow.signal(name, payload)
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                raise await self.gone() from None
            raise

    async def update(
        self, name: str, payload: Any, type_: type[T], start: Start | None = None
    ) -> T:
        """Send an update until it has ended in some run; its payload's id makes that safe.

        With `start` the first try starts the workflow too.
        """
        patience = _Patience()
        while True:
            try:
                return await self.served(self._call(name, payload, type_, start))
            except WorkflowUpdateFailedError as error:
                cause = error.cause
                kind = cause.type if isinstance(cause, ApplicationError) else None
                if kind == TURN_FAILED:
                    raise TurnFailed(_text(cause)) from None
                if kind not in (DRAINING, "AcceptedUpdateCompletedWorkflow"):
                    raise Refused(_text(cause)) from None
            except WorkflowUpdateRPCTimeoutOrCancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise asyncio.CancelledError from None
            except RPCError as error:
                if error.status == RPCStatusCode.NOT_FOUND:
                    raise await self.gone() from None
                if patience.has_ended or error.status not in _BUSY:
                    raise
            start = None
            await patience.pause()

    def _call(self, name: str, payload: Any, type_: type[T], start: Start | None) -> Awaitable[T]:
        # A short id: it stands in the history four times.
        if start is None:
            return self.workflow.execute_update(name, payload, id=new_id(), result_type=type_)
        return self.client.execute_update_with_start_workflow(
            name, payload, start_workflow_operation=start, id=new_id(), result_type=type_
        )


def _text(cause: BaseException | None) -> str:
    return cause.message if isinstance(cause, ApplicationError) else str(cause)
