"""Calls of a workflow that get no answer, as when the worker that had them is lost."""

import asyncio
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from perdure import served
from perdure.handle import Handle
from tests.support.talk import soon


class Answering:
    """A workflow that answers a query after it has failed in these ways."""

    def __init__(self, *faults: RPCStatusCode) -> None:
        self._faults = list(faults)
        self.asked = 0

    async def query(self, *_: Any, **__: Any) -> str:
        self.asked += 1
        if self._faults:
            raise RPCError("Timeout expired", self._faults.pop(0), b"")
        return "answer"


def handle(client: Client, workflow: Answering, monkeypatch: pytest.MonkeyPatch) -> Handle:
    made = Handle(client, "any", "any")
    monkeypatch.setattr(made, "workflow", workflow)
    return made


async def test_a_query_that_got_no_answer_is_asked_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = Answering(RPCStatusCode.CANCELLED, RPCStatusCode.UNAVAILABLE)
    asked = handle(client, lost, monkeypatch).query("status", None, str)
    assert await soon(asked) == "answer"
    assert lost.asked == 3


async def test_what_asking_again_would_not_mend_is_told_at_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Answering(RPCStatusCode.INVALID_ARGUMENT)
    with pytest.raises(RPCError):
        await soon(handle(client, wrong, monkeypatch).query("status", None, str))
    assert wrong.asked == 1


async def test_a_call_goes_on_while_nobody_can_tell_whether_there_is_a_worker(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = asyncio.Event()

    async def cut_off(*_: Any, **__: Any) -> None:
        looked.set()
        raise RPCError("operation was canceled", RPCStatusCode.CANCELLED, b"")

    async def answer() -> str:
        await looked.wait()
        return "answer"

    monkeypatch.setattr(served, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(client.workflow_service, "describe_task_queue", cut_off)
    assert await soon(served.served(client, "any", answer())) == "answer"
