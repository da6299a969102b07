"""A worker that is lost, stopped or replaced in the middle of a model call, as a real process.

`python -m bench.faults` holds the same scenes to seconds; `bench.travel` has one more, a fork.
"""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from tests.faults import scenes
from tests.faults.scenes import Stage


@pytest.fixture
async def stage(client: Client, server_url: str) -> AsyncIterator[Stage]:
    async with scenes.stage(client, server_url) as opened:
        yield opened


async def test_a_killed_worker_is_replaced(stage: Stage) -> None:
    await scenes.killed(stage)


async def test_a_stopped_worker_finishes_its_call(stage: Stage) -> None:
    await scenes.stopped(stage)


async def test_interrupt_stops_a_streaming_call_and_keeps_its_text(stage: Stage) -> None:
    await scenes.interrupted(stage)


async def test_another_version_takes_over_in_the_middle_of_a_call(stage: Stage) -> None:
    await scenes.replaced(stage)
