"""Where an activity gets what it works on: from the workflow that started it.

The history then holds a reference instead of the material, so it grows by new text only. A worker
that started the activity itself has the material at hand, as is usual; any other queries for it.
"""

import json
from collections import OrderedDict
from contextlib import suppress
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

# What is at hand, by run and reference: of activities that go elsewhere it is never fetched.
AT_HAND: OrderedDict[tuple[str, str], str] = OrderedDict()
MOST_AT_HAND = 32

Ref = StepRef | PartRef | CountRef | ArchiveRef | ClaimRef | CallRef | HeldRef | SessionRef


def keep_at_hand(run_id: str, ref: BaseModel, material: str) -> None:
    """Keep what an activity that is being started will work on; safe from any thread."""
    AT_HAND[run_id, ref.model_dump_json()] = material
    if len(AT_HAND) > MOST_AT_HAND:
        with suppress(KeyError):
            AT_HAND.popitem(last=False)


async def fetch(ref: Ref) -> Any:
    """The material that `ref` names, or None when the workflow has moved on from it.

    Otherwise than at hand it is read from the exact run that scheduled the activity. Raises
    RPCError when no worker answers the query; the activity is then tried again.
    """
    info = activity.info()
    at_hand = AT_HAND.pop((info.workflow_run_id or "", ref.model_dump_json()), None)
    if at_hand is not None:
        return json.loads(at_hand)
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
