"""The scene of `python -m bench.failing_summariser`, shorter."""

from datetime import timedelta

import pytest
from temporalio.client import Client

from tests.faults.summariser import FACTS, play
from workflows import room

TURNS = 30


async def test_whatever_a_summariser_does_every_turn_is_answered_and_nothing_is_lost(
    client: Client, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O16 to O18 and O25, through the wire."""
    monkeypatch.setattr(room, "PATIENCE", timedelta(seconds=0.3))
    figures, api = await play(client, server_url, TURNS, tokens=600, slow=0.5, ways=10)
    assert figures.answered == figures.turns >= TURNS
    assert figures.in_record == len(FACTS)
    assert figures.failed_compactions >= 3
    assert figures.extractive >= 1
    assert 10 <= figures.called <= 3 * figures.turns
    assert len(figures.calls) >= 10
    assert figures.looks >= TURNS
    assert figures.recovered_after is not None
    api.check()
