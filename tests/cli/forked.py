"""`perdure` in a process of its own, forked from one that has imported it already.

A command is a whole process with its own environment, streams and exit, and does not pay for the
imports again: of a test with ten commands they would be most of the time.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from multiprocessing import get_context
from pathlib import Path

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.cli.imported", __name__])


async def forked(
    arguments: tuple[str, ...], env: Mapping[str, str], stdin: str, streams: Path
) -> tuple[int, str, str]:
    """Status, stdout and stderr of a command; its streams are files in the directory `streams`."""
    (streams / "0").write_text(stdin, encoding="utf-8")
    process = _CONTEXT.Process(target=_command, args=(arguments, dict(env), streams))
    process.start()
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(process.sentinel, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process.sentinel)
        process.kill()
        process.join()
    code, out, err = process.exitcode, *((streams / name).read_bytes() for name in ("1", "2"))
    assert code is not None
    return code, out.decode(), err.decode()


def _command(arguments: tuple[str, ...], env: Mapping[str, str], streams: Path) -> None:
    from perdure.cli import main

    os.environ.clear()
    os.environ.update(env)
    for number, mode in enumerate(("rb", "wb", "wb")):
        with (streams / str(number)).open(mode) as file:
            os.dup2(file.fileno(), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.argv = ["perdure", *arguments]
    main()
