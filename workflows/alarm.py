"""A durable timer that is cheap to put off."""

import asyncio
from datetime import datetime

from temporalio import workflow


class Alarm:
    """Rings once at a time that may be moved as often as one likes.

    Putting it off costs nothing: the timer that runs looks at the clock when it ends, and is
    started again for the rest. Only an earlier time replaces it.
    """

    def __init__(self) -> None:
        self.rang = False
        self._wanted: datetime | None = None
        self._ends: datetime | None = None
        self._timer: asyncio.Task[None] | None = None

    def set(self, at: datetime | None) -> None:
        """Ring at `at`, or not at all; what rang before is over."""
        self.rang, self._wanted = False, at
        if at is None or (self._ends is not None and self._ends <= at):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self._wanted is not None and self._wanted > workflow.now():
            self._ends = self._wanted
            await workflow.sleep(self._ends - workflow.now())
        self._ends = self._timer = None
        self.rang = self._wanted is not None
