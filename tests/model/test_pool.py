import asyncio
import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool

import pytest

from perdure.model.extractive import summarise_extractively
from perdure.model.pool import Pool
from perdure.model.tokens import count
from tests.model.calls import observe_call


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    raise ValueError("as asked")


def interrupted() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "alive"


async def test_runs_elsewhere_and_raises_what_was_raised(pool: Pool) -> None:
    assert await pool.run(os.getpid) != os.getpid()
    assert await pool.run(count, "one two") == 2
    with pytest.raises(ValueError, match="as asked"):
        await pool.run(fail)


async def test_children_import_neither_temporal_nor_the_sdk() -> None:
    async with Pool(workers=1) as pool:
        await pool.run(summarise_extractively, observe_call())
        modules = await pool.run(eval, "list(__import__('sys').modules)")
    assert "perdure.model.extractive" in modules
    assert not {"temporalio", "anthropic", "pytest"} & set(modules)


async def test_an_interrupt_does_not_reach_the_children(pool: Pool) -> None:
    assert await pool.run(interrupted) == "alive"


async def test_a_killed_process_is_replaced_and_the_call_tried_again() -> None:
    async with Pool(workers=1) as pool:
        first = await pool.run(os.getpid)
        os.kill(first, signal.SIGKILL)
        calls = await asyncio.gather(*(pool.run(count, "one two") for _ in range(5)))
        assert calls == [2] * 5
        assert await pool.run(os.getpid) != first


async def test_a_call_that_kills_its_process_twice_is_given_up_and_the_pool_goes_on() -> None:
    async with Pool(workers=1) as pool:
        with pytest.raises(BrokenProcessPool):
            await pool.run(die)
        assert await pool.run(count, "one two") == 2


async def test_closing_is_quick_and_final() -> None:
    pool = Pool(workers=1)
    await pool.close()
    pool = Pool(workers=1)
    await pool.run(count, "")
    begin = time.monotonic()
    await pool.close()
    await pool.close()
    assert time.monotonic() - begin < 5
    with pytest.raises(RuntimeError, match="closed"):
        await pool.run(count, "")


PROGRAM = """
import asyncio, os
from perdure.model.pool import Pool

async def main():
    async with Pool(workers=1) as pool:
        print(await pool.run(os.getpid), flush=True)
        await asyncio.Event().wait()

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""


def start() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_ctrl_c_is_quiet() -> None:
    """The whole process group gets SIGINT, as from a terminal; only the parent speaks of it."""
    with start() as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (out, err, process.returncode) == ("interrupted\n", "", 0)


def test_children_end_with_a_killed_parent() -> None:
    with start() as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.kill()
        # The child holds the other end of the pipe: it closes when the child is gone.
        process.communicate(timeout=30)
