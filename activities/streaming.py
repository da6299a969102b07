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
        info = activity.info()
        while (piece := await speech.next()) is not None:
            if time.monotonic() < self._not_before:
                continue
            try:
                await self._archive.put_piece(info.namespace, info.workflow_id or "", piece)
            except PerdureError as error:
                self._not_before = time.monotonic() + PAUSE_SECONDS
                activity.logger.warning("replies are not streamed: %s", error)
            await speech.pause()


class _Speech:
    """The words of one step that are still to be passed on."""

    def __init__(self, piece: Piece) -> None:
        self._piece = piece
        self._words: list[str] = []
        self._news = asyncio.Event()
        self._ended = asyncio.Event()

    def take(self, text: str) -> None:
        self._words.append(text)
        self._news.set()

    def end(self) -> None:
        self._ended.set()
        self._news.set()

    async def next(self) -> Piece | None:
        """What has been said since the last piece; None after the end."""
        await self._news.wait()
        text = clean("".join(self._words))
        self._words.clear()
        if not self._ended.is_set():
            self._news.clear()
        if not text:
            return None
        before = self._piece
        self._piece = before.model_copy(update={"start": before.end, "text": text})
        return self._piece

    async def pause(self) -> None:
        """Let words gather; not at the end, when there is nothing to wait for."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), EVERY_SECONDS)
