"""The words of a reply while the model still says them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from perdure.archive import Piece
from perdure.errors import PerdureError

# A database that does not answer holds up the end of a reply for at most so long.
_LAST_SECONDS = 1.0


class Order:
    """Which pieces go on from those before them; late ones of a lost attempt do not."""

    def __init__(self) -> None:
        self._at = (0, 0, 0)
        self._end = 0

    def takes(self, piece: Piece) -> bool:
        """Whether a piece continues its step, or begins another one or another attempt of it."""
        place = (piece.turn, piece.step, piece.attempt)
        if place < self._at or piece.start != (self._end if place == self._at else 0):
            return False
        self._at, self._end = place, piece.end
        return True


async def until(
    ended: asyncio.Future[Any], pieces: AsyncGenerator[Piece, None], message_id: str
) -> AsyncIterator[Piece]:
    """The pieces of the answer to one message; none when they cannot be had.

    `pieces` must end by themselves when `ended` is done.
    """
    async with aclosing(pieces):
        while True:
            coming = asyncio.ensure_future(anext(pieces))
            await asyncio.wait([coming, ended], return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                await asyncio.wait([coming], timeout=_LAST_SECONDS)
            if not coming.done():
                coming.cancel()
                await asyncio.wait([coming])
                return
            try:
                piece = coming.result()
            except (PerdureError, StopAsyncIteration):
                return
            if piece.message_id == message_id:
                yield piece
