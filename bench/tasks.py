"""What the workflow tasks of the recorded histories take: recorded, and of CPU when replayed."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer, WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.workflow import _Definition

import worker
from tests.histories.record import STORIES, load
from workflows.guard import GuardInterceptor


class TimedRunner(WorkflowRunner):
    """Runs workflows in the sandbox, as a worker does; `spent` is CPU milliseconds by task."""

    def __init__(self) -> None:
        self.spent: list[float] = []
        self._runner = SandboxedWorkflowRunner()

    def prepare_workflow(self, defn: _Definition) -> None:
        """Like any runner."""
        self._runner.prepare_workflow(defn)

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """An instance whose activations are timed; the first one has the sandbox's imports."""
        before = time.thread_time()
        instance = self._runner.create_instance(det)
        created = time.thread_time() - before
        vars(instance)["activate"] = partial(self._timed, instance.activate)
        self.spent.append(created * 1_000)
        return instance

    def _timed(self, activate: Callable[[Any], Any], act: object) -> Any:
        before = time.thread_time()
        completion = activate(act)
        self.spent.append((time.thread_time() - before) * 1_000)
        return completion


def recorded(history: WorkflowHistory) -> list[float]:
    """Milliseconds from the start to the completion of each workflow task, as the server saw it."""
    spans, started = [], 0
    for event in history.events:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED:
            started = event.event_time.ToNanoseconds()
        elif event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            spans.append((event.event_time.ToNanoseconds() - started) / 1e6)
    return spans


async def measure() -> dict[str, Any]:
    """How many tasks there are, and the longest: recorded, and in CPU time of its replay."""
    runner, spans = TimedRunner(), list[float]()
    for history in (run for name in STORIES for run in load(name)):
        spans += recorded(history)
        await Replayer(
            workflows=worker.WORKFLOWS,
            data_converter=pydantic_data_converter,
            interceptors=[GuardInterceptor()],
            workflow_runner=runner,
        ).replay_workflow(history, raise_on_replay_failure=False)
    return {
        "tasks": len(spans),
        "recorded_ms": round(max(spans), 1),
        "replayed_ms": round(max(runner.spent), 1),
    }
