"""For the duration of a command: a client, and what must run behind it."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from temporalio.client import Client, WorkflowFailureError
from temporalio.service import RPCError

from perdure.cli import core_log
from perdure.cli.output import remark
from perdure.cli.stopping import Stopped, raise_stopped
from perdure.connect import DEFAULT_PORT, Servers, connect, servers
from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.errors import PerdureError
from perdure.settings import Settings

if TYPE_CHECKING:
    from perdure.archive import Archive

T = TypeVar("T")
Call = Callable[[Coroutine[Any, Any, T]], T]


@dataclass(frozen=True)
class Session:
    """A connection to Temporal, with somebody to serve it where that was asked for."""

    settings: Settings
    client: Client
    servers: Servers
    archive: "Archive | None"
    """None beside a Temporal elsewhere whose archive is not named; then messages stay smaller."""

    def conversation(self, id: str) -> Conversation:  # noqa: A002
        """The conversation of this id, which need not exist."""
        return Conversation(
            self.client, id, task_queue=self.settings.task_queue, archive=self.archive
        )

    async def open(self, id: str, config: ConversationConfig | None = None) -> Conversation:  # noqa: A002
        """See `Conversation.open`; says so when a conversation that had ended is resumed."""
        conversation = await Conversation.open(
            self.client, id, config, task_queue=self.settings.task_queue, archive=self.archive
        )
        if conversation.resumed:
            remark(f"{id} had ended and is resumed")
        return conversation


@asynccontextmanager
async def session(
    settings: Settings, *, worker: bool = True, port: int = DEFAULT_PORT
) -> AsyncIterator[Session]:
    """Connected; if the servers are embedded here, also with a worker, unless not needed."""
    core_log.forward()
    async with AsyncExitStack() as stack:
        found = await stack.enter_async_context(servers(settings, port=port))
        client = await connect(settings)
        url = found.database_url
        settings = settings.model_copy(update={"database_url": url})
        archive = await stack.enter_async_context(_archive(url, settings)) if url else None
        if worker and found.owns:
            # The only way from the clients to the workflows, and slow to import.
            from worker import running

            await stack.enter_async_context(running(client, settings))
        yield Session(settings, client, found, archive)


@asynccontextmanager
async def _archive(url: str, settings: Settings) -> AsyncIterator["Archive"]:
    # Brings PostgreSQL's driver with it, which a client without an archive does not need.
    from perdure.archive import Archive

    async with await Archive.open(url, settings.stream_url) as archive:
        yield archive


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a command to its end. Raises Stopped after a signal that asked it to leave."""

    async def stoppable() -> T:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        received: list[int] = []

        def stop(number: int) -> None:
            received.append(number)
            task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop, number)
        try:
            return await main
        except asyncio.CancelledError:
            if received:
                raise Stopped(received[0]) from None
            raise

    with _told_plainly():
        return asyncio.run(stoppable())


@contextmanager
def in_background(opening: AbstractAsyncContextManager[T]) -> Iterator[tuple[T, Call[Any]]]:
    """What `opening` gives, held open in another thread, and a way to run coroutines there.

    For a main thread that must block, in `input` for example. SIGTERM raises Stopped in it.
    """
    signal.signal(signal.SIGTERM, raise_stopped)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def call(coroutine: Coroutine[Any, Any, Any]) -> Any:
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            with _told_plainly():
                return future.result()
        except BaseException:
            future.cancel()
            raise

    opened: asyncio.Future[T] = loop.create_future()
    leave = asyncio.Event()

    async def hold() -> None:
        try:
            async with opening as value:
                opened.set_result(value)
                await leave.wait()
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error)

    async def wait_opened() -> T:
        # A wait that is given up must not take the opening with it.
        return await asyncio.shield(opened)

    holding = asyncio.run_coroutine_threadsafe(hold(), loop)
    try:
        yield call(wait_opened()), call
    finally:
        loop.call_soon_threadsafe(leave.set)
        holding.result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def _told_plainly() -> Iterator[None]:
    """What Temporal reports, as errors with one sentence for the user."""
    try:
        yield
    except RPCError as error:
        raise PerdureError(f"Temporal did not do it: {error.message}") from error
    except WorkflowFailureError as error:
        raise PerdureError(f"the conversation ended without a result: {error.cause}") from error
