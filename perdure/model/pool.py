"""Processes for what would hold up the event loop: counting tokens and extracting."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection, get_context, parent_process
from types import ModuleType, TracebackType
from typing import ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

WORKERS = min(2, os.cpu_count() or 1)


class Pool:
    """At most two processes, started when they are first needed.

    What is run must be a function at the top of an importable module, with arguments and a
    result that can be pickled. Processes are spawned, not forked: the worker has threads.
    """

    def __init__(self, workers: int = WORKERS) -> None:
        self._workers = workers
        self._executor: ProcessPoolExecutor | None = None
        self._closed = False

    async def run(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`fn(*args)` in another process.

        If a process died, by the system's memory killer for example, all of them are replaced
        and the call is tried once more; BrokenProcessPool is raised if that fails as well.
        """
        executor = self._running()
        try:
            return await asyncio.wrap_future(_submit(executor, fn, *args, **kwargs))
        except BrokenProcessPool:
            self._discard(executor)
        return await asyncio.wrap_future(_submit(self._running(), fn, *args, **kwargs))

    async def close(self) -> None:
        """Ends the processes; a call in progress finishes first, waiting ones are cancelled."""
        self._closed = True
        executor, self._executor = self._executor, None
        if executor is not None:
            await asyncio.to_thread(executor.shutdown, wait=True, cancel_futures=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def _running(self) -> ProcessPoolExecutor:
        if self._closed:
            raise RuntimeError("the process pool is closed")
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self._workers, get_context("spawn"), initializer=_end_with_parent
            )
        return self._executor

    def _discard(self, broken: ProcessPoolExecutor) -> None:
        # Every call in progress meets the same break; the first one replaces the processes.
        if self._executor is broken:
            self._executor = None
            broken.shutdown(wait=False, cancel_futures=True)


def _end_with_parent() -> None:
    """Runs in each child. A parent that is killed cannot end it, and its own pipe stays open."""
    parent = parent_process()
    assert parent is not None

    def wait_and_end() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=wait_and_end, daemon=True).start()


def _submit(
    executor: ProcessPoolExecutor, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> Future[T]:
    with _plain_children():
        return executor.submit(fn, *args, **kwargs)


@contextmanager
def _plain_children() -> Iterator[None]:
    """Processes started here take no notice of Ctrl-C and do not import the main program.

    They inherit the blocked signal. A spawned process imports its parent's `__main__`, which
    would cost each of them the seconds that the command line and Temporal's client take.
    """
    main = sys.modules["__main__"]
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
