"""A look at every activity that a workflow schedules."""

from collections.abc import Callable
from typing import Any

from temporalio import workflow
from temporalio.worker import (
    Interceptor,
    StartActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

Look = Callable[[StartActivityInput], None]


class Scheduled(Interceptor):
    """Worker interceptor; calls `look` inside the workflow, before the activity is scheduled."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002
    ) -> type[WorkflowInboundInterceptor]:
        """The inbound interceptor, which puts the outbound one in its place."""
        look = self._look

        class Outbound(WorkflowOutboundInterceptor):
            def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:  # noqa: A002
                look(input)
                return self.next.start_activity(input)

        class Inbound(WorkflowInboundInterceptor):
            def init(self, outbound: WorkflowOutboundInterceptor) -> None:
                super().init(Outbound(outbound))

        return Inbound
