"""The words of a reply while the model still says them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from perdure.archive import Piece
from perdure.errors import PerdureError
from perdure.memory.blocks import Block, to_text
from perdure.reply import Reply

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


class Heard:
    """The words of the newest step, as far as somebody has heard them."""

    def __init__(self) -> None:
        self._last: Piece | None = None
        self._text = ""

    def add(self, piece: Piece) -> None:
        """Hear a piece, which goes on from the one before or begins anew; see `Order`."""
        self._text = self._text + piece.text if piece.start else piece.text
        self._last = piece

    def rest(self, reply: Reply) -> Piece | None:
        """What is still to be heard of a reply; it begins anew where it was not heard so.

        Blanks at the ends do not count: a reply is kept without those of an interrupted call.
        """
        spoken, last, heard = _spoken(reply.content), self._last, self._text
        piece = Piece(
            message_id=reply.message_id,
            turn=reply.turn,
            step=reply.step,
            attempt=1,
            start=0,
            text=spoken,
        )
        if last is not None and last.step >= reply.step:
            heard = heard if spoken.startswith(heard) else heard.strip()
            piece = piece.model_copy(update={"step": last.step, "attempt": last.attempt + 1})
            if spoken.startswith(heard):
                left = {"attempt": last.attempt, "start": last.end, "text": spoken[len(heard) :]}
                piece = piece.model_copy(update=left)
        return piece if piece.text else None


def _spoken(content: Sequence[Block]) -> str:
    return "".join(to_text([block]) for block in content if block.get("type") == "text")


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
