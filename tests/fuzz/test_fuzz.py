"""A few seeds of the fuzz; `make fuzz SEEDS=500` runs more."""

import pytest
from temporalio.client import Client

from tests.fuzz.checks import Violation
from tests.fuzz.core import World
from tests.fuzz.faults import apply_by_position
from tests.fuzz.real import play

STEPS = 300


@pytest.mark.parametrize("seed", range(6))
def test_no_order_of_events_breaks_a_conversation(seed: int) -> None:
    World(seed).run(STEPS)


def test_the_same_seed_gives_the_same_conversation() -> None:
    first, second = World(7), World(7)
    first.run(100)
    second.run(100)
    assert first.state.model_dump_json() == second.state.model_dump_json()


def test_cutting_by_position_instead_of_identity_is_found() -> None:
    def broken(seed: int) -> bool:
        try:
            World(seed, apply_by_position).run(STEPS)
        except Violation as violation:
            return "tells of other messages than it stands for" in str(violation)
        return False

    assert any(broken(seed) for seed in range(8))


@pytest.mark.parametrize("seed", [7])
async def test_no_order_of_events_breaks_the_workflow(
    client: Client, server_url: str, seed: int
) -> None:
    await play(client, server_url, seed)
