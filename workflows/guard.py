"""Calls with the wrong number of arguments, which would fail a workflow task for ever."""

from typing import Any

from temporalio import workflow
from temporalio.worker import (
    ExecuteWorkflowInput,
    HandleQueryInput,
    HandleSignalInput,
    HandleUpdateInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from workflows.failure import refusal


def _surplus(name: str, args: Any) -> str:
    return f"{name} takes one argument, got {len(args)}; only the first was used"


class _Guard(WorkflowInboundInterceptor):
    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:  # noqa: A002
        if len(input.args) > 1:
            workflow.instance().note(_surplus("the workflow", input.args))
            input.args = input.args[:1]
        return await self.next.execute_workflow(input)

    async def handle_signal(self, input: HandleSignalInput) -> None:  # noqa: A002
        known = workflow.get_signal_handler(input.signal) is not None
        if known and len(input.args) > 1:
            workflow.instance().note(_surplus(input.signal, input.args))
            input.args = input.args[:1]
        await self.next.handle_signal(input)

    def handle_update_validator(self, input: HandleUpdateInput) -> None:  # noqa: A002
        if len(input.args) > 1:
            raise refusal(f"{input.update} takes one argument, got {len(input.args)}")
        self.next.handle_update_validator(input)

    async def handle_query(self, input: HandleQueryInput) -> Any:  # noqa: A002
        input.args = input.args[:1]
        return await self.next.handle_query(input)


class GuardInterceptor(Interceptor):
    """Worker interceptor; trims surplus arguments and notes them in `status`."""

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002
    ) -> type[WorkflowInboundInterceptor]:
        """The inbound interceptor, one instance per run."""
        return _Guard
