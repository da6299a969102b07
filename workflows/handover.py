"""Material for the worker that starts an activity, which need not query for it then."""

from collections.abc import Callable

from pydantic import BaseModel
from temporalio import workflow
from temporalio.worker import StartActivityInput

from perdure.contract import CallRef, StepRef
from perdure.scheduled import Scheduled

Keep = Callable[[str, BaseModel, str], None]
# These are never started twice with the same reference, so what is kept cannot be out of date.
_ONCE = (StepRef, CallRef)


def handover(keep: Keep) -> Scheduled:
    """Worker interceptor; gives `keep` the run, the reference and the material of each step."""

    def look(call: StartActivityInput) -> None:
        for ref in call.args:
            if isinstance(ref, _ONCE) and not workflow.unsafe.is_replaying():
                keep(workflow.info().run_id, ref, workflow.instance().material_for(ref))

    return Scheduled(look)
