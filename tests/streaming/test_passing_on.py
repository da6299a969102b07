"""Words that the database did not take go out with those that follow."""

import asyncio
from typing import Any, cast

import pytest
from temporalio.testing import ActivityEnvironment

from activities import streaming
from activities.streaming import Streaming
from perdure.archive import Archive, Piece
from perdure.contract import StepRef
from perdure.errors import ArchiveUnavailable
from perdure.model.provider import OnText


class Restarting:
    """A database that is away for its first pieces."""

    def __init__(self, away: int) -> None:
        self.away = away
        self.asked = asyncio.Event()
        self.pieces: list[Piece] = []

    async def put_piece(self, namespace: str, conversation: str, piece: Piece) -> None:
        self.asked.set()
        self.away -= 1
        if self.away >= 0:
            raise ArchiveUnavailable("it is starting or stopping")
        self.pieces.append(piece)


async def _event_without_words(said: OnText) -> None:
    """Such as the one that begins a message, long before its first word."""
    said("")
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("away", "pause", "heard"),
    [
        (0, 0.0, ["Once ", "upon a time."]),
        (1, 0.0, ["Once upon a time."]),
        # Still away at the end: the reply does not wait for it.
        (9, 60.0, []),
    ],
)
async def test_no_words_are_lost_while_the_database_restarts(
    monkeypatch: pytest.MonkeyPatch, away: int, pause: float, heard: list[str]
) -> None:
    monkeypatch.setattr(streaming, "PAUSE_SECONDS", pause)
    archive = Restarting(away)

    async def speak() -> None:
        stream = Streaming(cast("Archive", cast("Any", archive)))
        async with stream.of(StepRef(turn=1, step=1, sha256="0"), "m") as said:
            await _event_without_words(said)
            said("Once ")
            await asyncio.wait_for(archive.asked.wait(), 20)
            said("upon ")
            said("a time.")

    await ActivityEnvironment().run(speak)
    assert [p.text for p in archive.pieces] == heard
    assert [p.start for p in archive.pieces] == [0, 5][: len(heard)]
