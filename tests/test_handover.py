"""A worker that starts a step itself has its material at hand; any other asks the workflow."""

import pytest
from temporalio.client import Client

from activities import material
from activities.material import AT_HAND, keep_at_hand
from perdure.contract import StepRef
from perdure.conversation import Conversation
from tests.support.talk import soon


async def test_a_step_is_carried_out_without_a_query(
    client: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Conversation.open(client, conversation.id)

    async def asked(_handle: object, ref: object) -> None:
        # Only of a step is it known that its material does not change.
        assert not isinstance(ref, StepRef)

    monkeypatch.setattr(material, "read", asked)
    assert (await soon(conversation.ask("hello"))).stop_reason == "end_turn"


async def test_a_worker_that_did_not_start_a_step_asks_for_its_material(
    client: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(material, "MOST_AT_HAND", 0)
    await Conversation.open(client, conversation.id)
    assert (await soon(conversation.ask("hello"))).stop_reason == "end_turn"


def test_only_the_newest_material_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    refs = [StepRef(turn=1, step=step, sha256="") for step in range(4)]
    monkeypatch.setattr(material, "MOST_AT_HAND", 2)
    for ref in refs:
        keep_at_hand("run", ref, "null")
    kept = [AT_HAND.pop(("run", ref.model_dump_json()), None) for ref in refs]
    assert kept == [None, None, "null", "null"]
