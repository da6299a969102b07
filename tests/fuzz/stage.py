"""A server and an archive for the seeds that are played on the real workflow."""

from collections.abc import Sequence

from bench.stage import database, server
from tests.fuzz.checks import Violation
from tests.fuzz.real import play


async def run_all(seeds: Sequence[int]) -> dict[int, str]:
    """The violations by seed."""
    broken: dict[int, str] = {}
    async with server() as client, database() as url:
        for seed in seeds:
            try:
                await play(client, url, seed)
            except Violation as violation:
                broken[seed] = str(violation)
    return broken
