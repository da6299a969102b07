"""A thread for each call: one that hangs holds nobody else up, nor the end of the process."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """`call()` in a thread of its own; when the wait is cancelled, the thread is left alone."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)  # type: ignore[arg-type]
        else:
            done.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = context.run(call)
        # The program must not be ended by a tool that calls `sys.exit`, and a future cannot hold
        # a StopIteration.
        except BaseException as raised:
            told = isinstance(raised, Exception) and not isinstance(raised, StopIteration)
            error = raised if told else RuntimeError(repr(raised))
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            # The loop has ended meanwhile: nobody waits any more.
            return

    threading.Thread(target=run, name="perdure-tool", daemon=True).start()
    return await done
