"""Where an activity gets what it works on: a query to the workflow that started it.

The history then holds a reference instead of the material, so it grows by new text only.
"""

import json
from typing import Any

from pydantic import BaseModel
from temporalio import activity
from temporalio.client import WorkflowHandle

from perdure.contract import (
    MATERIAL,
    ArchiveRef,
    CallRef,
    ClaimRef,
    CountRef,
    HeldRef,
    MaterialPage,
    MaterialQuery,
    PartRef,
    SessionRef,
    StepRef,
)

Ref = StepRef | PartRef | CountRef | ArchiveRef | ClaimRef | CallRef | HeldRef | SessionRef


async def fetch(ref: Ref) -> Any:
    """The material that `ref` names, or None when the workflow has moved on from it.

    Read from the exact run that scheduled the activity. Raises RPCError when no worker
    answers the query; the activity is then tried again.
    """
    info = activity.info()
    handle = activity.client().get_workflow_handle(
        info.workflow_id or "", run_id=info.workflow_run_id
    )
    return await read(handle, ref)


async def read(handle: WorkflowHandle[Any, Any], ref: BaseModel) -> Any:
    """The material that `ref` names in a workflow, or None when it changes while it is read."""
    text, size, digest = "", 1, ""
    while len(text) < size:
        query = MaterialQuery(of=ref.model_dump(mode="json"), offset=len(text))
        page = await handle.query(MATERIAL, query, result_type=MaterialPage)
        if text and page.sha256 != digest:
            return None
        text, size, digest = text + page.text, page.size, page.sha256
    return json.loads(text)
