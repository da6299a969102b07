"""`perdure list`."""

from datetime import datetime
from typing import Any

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus

from perdure.cli.options import Json
from perdure.cli.output import emit, say, show, styled, table, when
from perdure.cli.session import run, session
from perdure.contract import WORKFLOW
from perdure.settings import Settings

_STATES = {
    None: "unknown",
    WorkflowExecutionStatus.RUNNING: "open",
    # The next run has begun and is not listed yet.
    WorkflowExecutionStatus.CONTINUED_AS_NEW: "open",
    WorkflowExecutionStatus.COMPLETED: "closed",
}


def state_of(status: WorkflowExecutionStatus | None) -> str:
    """`open`, `closed`, or how else its workflow ended."""
    return _STATES[status] if status in _STATES or status is None else status.name.lower()


def list_(as_json: Json = False) -> None:
    """List the conversations."""

    async def found() -> list[dict[str, Any]]:
        async with session(Settings(), worker=False) as opened:
            return await _conversations(opened.client)

    conversations = run(found())
    if as_json:
        emit(conversations)
    elif conversations:
        rows = table("id", "state", "started", "ended", ">runs")
        for each in conversations:
            rows.add_row(
                styled(each["id"]),
                each["state"],
                when(each["started"]),
                when(each["ended"]),
                str(each["runs"]),
            )
        show(rows)
    else:
        say("there are no conversations yet; `perdure chat` begins one")


async def _conversations(client: Client) -> list[dict[str, Any]]:
    """One row for all runs of an id, the latest begun first."""
    runs: dict[str, list[WorkflowExecution]] = {}
    async for execution in client.list_workflows(f'WorkflowType="{WORKFLOW}"'):
        runs.setdefault(execution.id, []).append(execution)
    rows = [_row(id, executions) for id, executions in runs.items()]  # noqa: A001
    return sorted(rows, key=lambda row: str(row["started"]), reverse=True)


def _row(id: str, runs: list[WorkflowExecution]) -> dict[str, Any]:  # noqa: A002
    latest = max(runs, key=lambda run: run.start_time)
    state = state_of(latest.status)
    ended: datetime | None = None if state == "open" else latest.close_time
    return {
        "id": id,
        "state": state,
        "started": min(run.start_time for run in runs).isoformat(),
        "ended": ended.isoformat() if ended else None,
        "runs": len(runs),
    }
