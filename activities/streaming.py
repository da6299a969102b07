"""What a reply says goes to whoever watches while it is said; the history knows nothing of it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from temporalio import activity

from perdure.archive import Archive, Piece
from perdure.contract import StepRef
from perdure.errors import PerdureError
from perdure.memory.blocks import clean
from perdure.model.provider import OnText

# What comes within so many seconds goes out together: often enough for an eye, and PostgreSQL
# commits notifications one after the other.
EVERY_SECONDS = 0.03
# The end of a reply waits at most so long for its last words to be on their way.
LAST_WORDS_SECONDS = 1.0
# A database that did not take a piece is left alone for so long.
PAUSE_SECONDS = 15.0


class Streaming:
    """Nothing that goes wrong here reaches the reply: whoever watches gets its words at its end."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._not_before = 0.0

    @asynccontextmanager
    async def of(self, ref: StepRef, message_id: str) -> AsyncIterator[OnText]:
        """Takes the words of a step as they come; when the block ends all are passed on."""
        attempt = activity.info().attempt
        piece = Piece(
            message_id=message_id, turn=ref.turn, step=ref.step, attempt=attempt, start=0, text=""
        )
        speech = _Speech(piece)
        passing = asyncio.create_task(self._pass_on(speech))
        try:
            yield speech.take
        finally:
            speech.end()
            with suppress(TimeoutError):
                await asyncio.wait_for(passing, LAST_WORDS_SECONDS)

    async def _pass_on(self, speech: "_Speech") -> None:
        while (piece := await speech.next()) is not None:
            if await self._taken(piece):
                speech.passed(piece)
            elif speech.has_ended:
                return
            await speech.pause()

    async def _taken(self, piece: Piece) -> bool:
        """Whether the database has the piece; what it has not goes out with the next words."""
        info = activity.info()
        if time.monotonic() < self._not_before:
            return False
        try:
            await self._archive.put_piece(info.namespace, info.workflow_id or "", piece)
        except PerdureError as error:
            self._not_before = time.monotonic() + PAUSE_SECONDS
            activity.logger.warning("replies are not streamed: %s", error)
            return False
        return True


class _Speech:
    """The words of one step that are still to be passed on."""

    def __init__(self, piece: Piece) -> None:
        self._before = piece
        self._words = ""
        self._news = asyncio.Event()
        self._ended = asyncio.Event()

    def take(self, text: str) -> None:
        # Events without words come too, before the first ones above all.
        if text:
            self._words += clean(text)
            self._news.set()

    def end(self) -> None:
        self._ended.set()
        self._news.set()

    @property
    def has_ended(self) -> bool:
        """Whether no more words come."""
        return self._ended.is_set()

    async def next(self) -> Piece | None:
        """What has been said since the last piece that was passed on; None after the end."""
        await self._news.wait()
        if not self.has_ended:
            self._news.clear()
        if not self._words:
            return None
        return self._before.model_copy(update={"start": self._before.end, "text": self._words})

    def passed(self, piece: Piece) -> None:
        """The next piece begins behind this one."""
        self._before, self._words = piece, self._words[len(piece.text) :]

    async def pause(self) -> None:
        """Let words gather; not at the end, when there is nothing to wait for."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), EVERY_SECONDS)
