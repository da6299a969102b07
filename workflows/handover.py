"""Material for the worker that starts an activity, which need not query for it then."""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel
from temporalio import workflow
from temporalio.worker import (
    Interceptor,
    StartActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

from perdure.contract import CallRef, StepRef

Keep = Callable[[str, BaseModel, str], None]
# These are never started twice with the same reference, so what is kept cannot be out of date.
_ONCE = (StepRef, CallRef)


class HandoverInterceptor(Interceptor):
    """Worker interceptor; gives `keep` the run, the reference and the material of each step."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002
    ) -> type[WorkflowInboundInterceptor]:
        """The inbound interceptor, one instance per run."""
        keep = self._keep

        class Inbound(WorkflowInboundInterceptor):
            def init(self, outbound: WorkflowOutboundInterceptor) -> None:
                super().init(_Outbound(outbound, keep))

        return Inbound


class _Outbound(WorkflowOutboundInterceptor):
    def __init__(self, next: WorkflowOutboundInterceptor, keep: Keep) -> None:  # noqa: A002
        super().__init__(next)
        self._keep = keep

    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:  # noqa: A002
        for ref in input.args:
            if isinstance(ref, _ONCE) and not workflow.unsafe.is_replaying():
                given = workflow.instance().material_for(ref)
                self._keep(workflow.info().run_id, ref, given)
        return super().start_activity(input)
