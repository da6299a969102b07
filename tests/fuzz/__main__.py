"""`python -m tests.fuzz --seeds N [--steps N] [--first N] [--real] [--fault position] [--json]`.

The status is 1 when a seed breaks a rule; with `--fault`, when none does.
"""

import argparse
import asyncio
import json
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from perdure.memory.apply import apply
from tests.fuzz.checks import Violation
from tests.fuzz.core import World
from tests.fuzz.faults import FAULTS

STEPS = 300


def _pure(seed: int, steps: int, fault: str | None) -> str | None:
    try:
        World(seed, FAULTS[fault] if fault else apply).run(steps)
    except Violation as violation:
        return str(violation)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--fault", choices=sorted(FAULTS))
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    started = time.monotonic()
    if given.real:
        from tests.fuzz.stage import run_all

        broken = asyncio.run(run_all(seeds))
    else:
        with ProcessPoolExecutor() as pool:
            run = partial(_pure, steps=given.steps, fault=given.fault)
            found = zip(seeds, pool.map(run, seeds, chunksize=5), strict=True)
            broken = {seed: fault for seed, fault in found if fault is not None}
    took = round(time.monotonic() - started, 1)
    if given.json:
        print(json.dumps({"seeds": given.seeds, "violations": broken, "seconds": took}))
    else:
        for seed, fault in broken.items():
            print(f"seed {seed}: {fault}")
        print(f"{given.seeds} seeds, {len(broken)} violations, {took} s")
    return int(bool(broken) is not bool(given.fault))


if __name__ == "__main__":
    raise SystemExit(main())
