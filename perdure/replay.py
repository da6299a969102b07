"""Does the recorded history, run again on this code, give the same contexts and summaries?

Temporal compares the kind and order of what a workflow schedules, not its arguments. Here
the arguments are compared too, and with them the hash of every context, every summary,
and the state that each run hands to the next.
"""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import Any

from pydantic import BaseModel
from temporalio import workflow
from temporalio.api.common.v1 import Payloads
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ActivityError, CancelledError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import (
    ContinueAsNewInput,
    ExecuteWorkflowInput,
    Interceptor,
    Replayer,
    StartActivityInput,
    UnsandboxedWorkflowRunner,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

from perdure.contract import OBSERVE, REFLECT, REPLY, SUPERSEDE
from perdure.errors import ConversationNotFound
from perdure.memory.observation import body
from perdure.memory.revise import revised_identity
from perdure.memory.wire import sha256, without_nulls

# An activity by its name, and its argument.
Call = tuple[str, Any]


class ReplayReport(BaseModel):
    """What was compared. `missing` names runs whose history Temporal does not keep any more."""

    runs: int = 0
    contexts: int = 0
    summaries: int = 0
    differences: list[str] = []
    missing: list[str] = []

    @property
    def identical(self) -> bool:
        """Whether everything that was compared was the same."""
        return not self.differences


@dataclass
class _Run:
    """One run, as it was recorded or as it was replayed."""

    scheduled: list[Call] = field(default_factory=list)
    summaries: dict[str, str] = field(default_factory=dict)
    received: Any = None
    handed_on: Any = None


def _plain(value: Any) -> Any:
    """As JSON without nulls, the form in which payloads are compared."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    return without_nulls(value)


def decoded(payloads: Payloads) -> Any:
    """The first value of recorded payloads, as JSON without nulls; bytes if it is not JSON."""
    if not payloads.payloads:
        return None
    data = payloads.payloads[0].data
    try:
        return _plain(json.loads(data))
    except (ValueError, RecursionError):
        return data


def _recorded(events: Sequence[HistoryEvent]) -> _Run:
    run = _Run()
    kinds: dict[int, str] = {}
    for event in events:
        which = event.WhichOneof("attributes")
        if which == "workflow_execution_started_event_attributes":
            run.received = decoded(event.workflow_execution_started_event_attributes.input)
        elif which == "activity_task_scheduled_event_attributes":
            scheduled = event.activity_task_scheduled_event_attributes
            kinds[event.event_id] = scheduled.activity_type.name
            run.scheduled.append((scheduled.activity_type.name, decoded(scheduled.input)))
        elif which == "activity_task_completed_event_attributes":
            completed = event.activity_task_completed_event_attributes
            if kinds[completed.scheduled_event_id] in (OBSERVE, REFLECT):
                compacted = decoded(completed.result).get("compacted")
                if compacted is not None:
                    run.summaries[compacted["identity"]] = sha256(
                        body(compacted["content"], compacted.get("facts", []))
                    )
        elif which == "workflow_execution_update_accepted_event_attributes":
            asked = event.workflow_execution_update_accepted_event_attributes.accepted_request
            if asked.input.name == SUPERSEDE:
                run.summaries.update([_adopted(decoded(asked.input.args))])
        elif which == "workflow_execution_continued_as_new_event_attributes":
            run.handed_on = decoded(
                event.workflow_execution_continued_as_new_event_attributes.input
            )
    return run


def _adopted(asked: Any) -> tuple[str, str]:
    """Identity and hash of a text that was sent to supersede an entry."""
    text = body(asked["content"], asked.get("facts", []))
    return revised_identity(asked["identity"], text), sha256(text)


class _Collector(Interceptor):
    """Notes what a replayed workflow does, and keeps the workflow object itself."""

    def __init__(self) -> None:
        self.run = _Run()
        self.handles: list[workflow.ActivityHandle[Any]] = []
        self.instance: Any = None

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002
    ) -> type[WorkflowInboundInterceptor]:
        """The inbound interceptor, which puts the outbound one in its place."""
        collector = self

        class Outbound(WorkflowOutboundInterceptor):
            def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:  # noqa: A002
                argument = _plain(input.args[0]) if input.args else None
                collector.run.scheduled.append((input.activity, argument))
                handle = self.next.start_activity(input)
                collector.handles.append(handle)
                return handle

            def continue_as_new(self, input: ContinueAsNewInput) -> Any:  # noqa: A002
                collector.run.handed_on = _plain(input.args[0])
                self.next.continue_as_new(input)

        class Inbound(WorkflowInboundInterceptor):
            def init(self, outbound: WorkflowOutboundInterceptor) -> None:
                super().init(Outbound(outbound))

            async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:  # noqa: A002
                collector.instance = workflow.instance()
                return await super().execute_workflow(input)

        return Inbound


async def fetch_chain(client: Client, id: str) -> tuple[list[WorkflowHistory], list[str]]:  # noqa: A002
    """The histories of a conversation's runs, oldest first, and the ids of those removed.

    Raises ConversationNotFound.
    """
    histories: list[WorkflowHistory] = []
    missing: list[str] = []
    async for run_id, history in runs(client, id):
        if history is None:
            missing.append(run_id)
        else:
            histories.insert(0, history)
    if not histories:
        raise ConversationNotFound(f"there is no conversation {id!r}")
    return histories, missing


async def runs(
    client: Client,
    id: str,  # noqa: A002
) -> AsyncIterator[tuple[str, WorkflowHistory | None]]:
    """The runs of a conversation, newest first, until one whose history is removed: none for it.

    Nothing at all when Temporal does not know the conversation.
    """
    run_id: str | None = None
    while run_id != "":
        try:
            history = await client.get_workflow_handle(id, run_id=run_id).fetch_history()
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            if run_id is not None:
                yield run_id, None
            return
        yield history.run_id, history
        started = history.events[0].workflow_execution_started_event_attributes
        run_id = started.continued_execution_run_id


async def replayed(
    history: WorkflowHistory, workflows: Sequence[type], interceptors: Sequence[Interceptor]
) -> Exception | None:
    """Run a recorded history again on this code; gives why that failed, if it did."""
    replayer = Replayer(
        workflows=workflows,
        data_converter=pydantic_data_converter,
        interceptors=interceptors,
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    return result.replay_failure


async def replay_histories(
    histories: Sequence[WorkflowHistory],
    workflows: Sequence[type],
    interceptors: Sequence[Interceptor],
) -> ReplayReport:
    """Replay runs that follow each other and compare all that they did with what is recorded."""
    report = ReplayReport(runs=len(histories))
    handed_on: Any = None
    for number, history in enumerate(histories, start=1):
        recorded = _recorded(history.events)
        if number > 1 and recorded.received != handed_on:
            report.differences.append(f"run {number}: it got another state than was handed on")
        handed_on = recorded.handed_on
        collector = _Collector()
        failure = await replayed(history, workflows, [*interceptors, collector])
        if failure is not None:
            report.differences.append(f"run {number}: {failure}")
            continue
        differences = [
            *_activity_differences(recorded.scheduled, collector, report),
            *_summary_differences(recorded, collector.instance.state.ledger, report),
        ]
        if collector.run.handed_on != recorded.handed_on:
            differences.append("it hands on another state")
        report.differences += [f"run {number}: {difference}" for difference in differences]
    return report


def _sent_out(recorded: Sequence[Call], replayed: _Collector) -> list[Call]:
    """What was scheduled, but for what was cancelled before it was sent: no event tells of that.

    The same may be scheduled again at once, so calls that are alike are counted together.
    """
    sent: list[Call] = []
    scheduled = zip(replayed.run.scheduled, replayed.handles, strict=True)
    for call, alike in groupby(scheduled, key=lambda each: each[0]):
        handles = [handle for _, handle in alike]
        told = sum(1 for _ in takewhile(call.__eq__, recorded[len(sent) :]))
        unsent = min(max(0, len(handles) - told), sum(map(_was_cancelled, handles)))
        sent += [call] * (len(handles) - unsent)
    return sent


def _was_cancelled(handle: workflow.ActivityHandle[Any]) -> bool:
    if not handle.done() or handle.cancelled():
        return handle.done()
    error = handle.exception()
    return isinstance(error, ActivityError) and isinstance(error.cause, CancelledError)


def _activity_differences(
    recorded: Sequence[Call], replayed: _Collector, report: ReplayReport
) -> Iterator[str]:
    sent = _sent_out(recorded, replayed)
    # An open run may be about to schedule more than was recorded; less is a difference.
    if len(sent) < len(recorded):
        yield f"{len(recorded)} activities became {len(sent)}"
    for (kind, was), (_, now) in zip(recorded, sent, strict=False):
        if was != now:
            yield f"{kind} of {was} became {now}"
        elif kind == REPLY:
            report.contexts += 1


def _summary_differences(
    recorded: _Run, ledger: Sequence[Any], report: ReplayReport
) -> Iterator[str]:
    for row in ledger:
        was = recorded.summaries.get(row.identity)
        if was is None:
            continue
        if was == row.sha256:
            report.summaries += 1
        else:
            yield f"the summary {row.id} has other words"
