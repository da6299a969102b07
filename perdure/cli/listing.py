"""`perdure list`."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus
from temporalio.service import RPCError

from perdure.cli.options import Json
from perdure.cli.output import counted, emit, say, show, styled, table, when
from perdure.cli.session import run, session
from perdure.contract import WORKFLOW
from perdure.conversation import Conversation
from perdure.errors import PerdureError
from perdure.settings import Settings

# Whoever is not served by a worker is not waited for as long as Temporal does.
_PATIENCE_SECONDS = 5.0
_TOTALS = (">turns", ">tokens said", ">in context", ">cost")
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


def list_(
    totals: Annotated[
        bool, typer.Option("--totals", help="Ask each one for its turns, tokens and cost.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the conversations."""

    async def found() -> list[dict[str, Any]]:
        async with session(Settings(), worker=totals) as opened:
            conversations = await _conversations(opened.client)
            if totals:
                asked = (_totals(opened.conversation(each["id"])) for each in conversations)
                for each, known in zip(conversations, await asyncio.gather(*asked), strict=True):
                    each.update(known)
            return conversations

    conversations = run(found())
    if as_json:
        emit(conversations)
    elif conversations:
        rows = table("id", "state", "started", "ended", ">runs", *(_TOTALS if totals else ()))
        for each in conversations:
            rows.add_row(
                styled(each["id"]),
                each["state"],
                when(each["started"]),
                when(each["ended"]),
                str(each["runs"]),
                *(_told(each) if totals else ()),
            )
        show(rows)
    else:
        say("there are no conversations yet; `perdure chat` begins one")


async def _totals(conversation: Conversation) -> dict[str, Any]:
    """What a conversation itself knows; its fields are None when it cannot be asked.

    `cost` is in US dollars, without the `unpriced` calls.
    """
    names = ("turns", "raw_tokens", "context_tokens", "cost", "unpriced")
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            status = await conversation.status()
    # RPCError: it was ended before its first workflow task, for example.
    except (PerdureError, TimeoutError, RPCError):
        return dict.fromkeys(names)
    usages = [status["totals"][f"{kind}_usage"] for kind in ("reply", "compaction")]
    values = (
        status["turn"],
        status["raw_tokens"],
        status["context_tokens"],
        sum(usage["cost"] for usage in usages) / 1e6,
        sum(usage["unpriced"] for usage in usages),
    )
    return dict(zip(names, values, strict=True))


def _told(each: Mapping[str, Any]) -> list[str]:
    if each["turns"] is None:
        return ["?", "", "", ""]
    unpriced = f" + {counted(each['unpriced'], 'call')}" if each["unpriced"] else ""
    figures = [f"{each[name]:,}" for name in ("turns", "raw_tokens", "context_tokens")]
    return [*figures, f"${each['cost']:.4f}{unpriced}"]


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
