"""Words of a reply on their way: who watches, and when that ends."""

import asyncio
import uuid

import pytest

from perdure.archive import Archive, Piece
from tests.support.talk import soon


def piece(start: int, text: str) -> Piece:
    return Piece(message_id="m", turn=1, step=1, attempt=1, start=start, text=text)


@pytest.fixture
def name() -> str:
    """A conversation of its own."""
    return uuid.uuid4().hex


async def heard(archive: Archive, name: str, ended: asyncio.Future[None]) -> list[str]:
    return [piece.text async for piece in archive.pieces("n", name, ended)]


async def test_what_stands_there_at_the_end_is_heard(archive: Archive, name: str) -> None:
    ended = asyncio.get_running_loop().create_future()
    await archive.put_piece("n", name, piece(0, "Once "))
    ended.set_result(None)
    assert await soon(heard(archive, name, ended)) == ["Once "]


async def test_an_end_is_noticed_while_nothing_is_said(archive: Archive, name: str) -> None:
    ended = asyncio.get_running_loop().create_future()
    await archive.put_piece("n", name, piece(0, "Once "))
    pieces = archive.pieces("n", name, ended)
    assert (await soon(anext(pieces))).text == "Once "
    rest = asyncio.ensure_future(anext(pieces, None))
    await archive.put_piece("n", name, piece(5, "upon"))
    ended.set_result(None)
    assert (await soon(rest)).text == "upon"
    assert await soon(anext(pieces, None)) is None
