"""A worker that is lost, stopped or replaced in the middle of a model call, as a real process.

The bounds leave room for a busy machine; `python -m bench.faults` holds the scenes to the promise.
"""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from tests.faults import scenes
from tests.faults.scenes import Stage

HEARTBEAT = 10
"""Seconds after which a call counts as lost; `workflows.turn` says so."""


@pytest.fixture
async def stage(client: Client, server_url: str) -> AsyncIterator[Stage]:
    async with scenes.stage(client, server_url) as opened:
        yield opened


async def test_a_killed_worker_is_replaced_within_its_heartbeat_timeout(stage: Stage) -> None:
    assert await scenes.killed(stage) < HEARTBEAT + 15


async def test_a_stopped_worker_finishes_its_call(stage: Stage) -> None:
    assert await scenes.stopped(stage) < 20


async def test_interrupt_stops_a_streaming_call_and_keeps_its_text(stage: Stage) -> None:
    assert await scenes.interrupted(stage) < 6


async def test_another_version_takes_over_in_the_middle_of_a_call(stage: Stage) -> None:
    assert await scenes.replaced(stage) < 20


async def test_a_worker_killed_in_the_middle_of_a_fork_leaves_one_fork(stage: Stage) -> None:
    assert await scenes.forked(stage) < HEARTBEAT + 25
