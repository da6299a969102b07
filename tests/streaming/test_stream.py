"""Replies that are watched while they are said."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from temporalio.client import Client

from activities.streaming import Streaming
from perdure.archive import Archive, Piece
from perdure.conversation import Conversation
from perdure.errors import ArchiveMissing
from perdure.replay import fetch_chain
from perdure.reply import Reply
from tests.faults.scenes import Held
from tests.streaming.conftest import QUEUE
from tests.support.answers import overloaded, text
from tests.support.messages_api import MessagesApi
from tests.support.talk import soon

# Twelve deltas of 24 characters.
STORY = "Once upon a time there. " * 12


async def whole(stream: AsyncGenerator[Piece, None], length: int) -> list[Piece]:
    """The pieces up to so many characters of one step."""
    heard: list[Piece] = []
    async for piece in stream:
        heard.append(piece)
        if piece.end >= length:
            return heard
    raise AssertionError("the stream has ended")


def said(pieces: list[Piece]) -> str:
    return "".join(p.text for p in pieces)


async def test_words_come_before_the_reply_and_make_it_up(
    conversation: Conversation, api: MessagesApi
) -> None:
    gate = Held()
    api.script(text(STORY, hold_at=6, held=gate))
    events: list[Piece | Reply] = []
    async for event in conversation.stream("Tell me a story."):
        if not events:
            await soon(gate.reached.wait())
            gate.set()
        events.append(event)
    reply = events.pop()
    assert isinstance(reply, Reply)
    assert reply.text == STORY
    assert said([e for e in events if isinstance(e, Piece)]) == STORY


async def test_words_are_heard_of_a_model_that_thinks_after_it_has_begun(
    conversation: Conversation, api: MessagesApi
) -> None:
    gate = Held()
    api.script(text(STORY, hold_at=1, held=gate))
    events = conversation.stream("Tell me a story.")
    first = asyncio.ensure_future(anext(events))
    await soon(gate.reached.wait())
    gate.set()
    heard = [await soon(first), *[event async for event in events]]
    # What was passed on has a number, what came with the reply has none.
    assert all(e.id for e in heard if isinstance(e, Piece))


async def test_who_comes_late_hears_it_from_the_beginning(
    conversation: Conversation, api: MessagesApi
) -> None:
    gate = Held()
    api.script(text(STORY, hold_at=6, held=gate))
    asking = asyncio.create_task(conversation.ask("Tell me a story."))
    await soon(gate.reached.wait())
    heard = await soon(whole(conversation.watch(), 48))
    assert said(heard) == STORY[: heard[-1].end]
    gate.set()
    assert (await soon(asking)).text == STORY
    again = await soon(whole(conversation.watch(), len(STORY)))
    assert said(again) == STORY


async def test_an_attempt_that_breaks_off_is_begun_again(
    conversation: Conversation, api: MessagesApi
) -> None:
    gate = Held()
    api.script(text("A false start, which nobody wants.", hold_at=4, held=gate, cut_after=4))
    api.script(text(STORY))
    heard: list[Piece] = []
    async for event in conversation.stream("Tell me a story."):
        gate.set()
        if isinstance(event, Piece):
            heard.append(event)
    assert [p.start for p in heard if p.attempt == 1] == [0]
    assert said([p for p in heard if p.attempt == 2]) == STORY


async def test_only_the_last_turn_is_kept(
    conversation: Conversation, api: MessagesApi, archive: Archive
) -> None:
    api.script(text("The first."), text("The second."))
    await soon(conversation.ask("One?"))
    await soon(conversation.ask("Two?"))
    heard = await soon(whole(conversation.watch(), len("The second.")))
    assert said(heard) == "The second."
    assert {p.turn for p in heard} == {2}


async def test_the_history_knows_nothing_of_the_words(
    client: Client, conversation: Conversation, api: MessagesApi
) -> None:
    api.script(text("Yes."), text(STORY * 40))
    sizes = []
    for question in ("Short?", "Long?"):
        async for _ in conversation.stream(question):
            pass
        histories, _missing = await fetch_chain(client, conversation.id)
        sizes.append(sum(len(h.events) for h in histories))
    assert sizes[1] - sizes[0] <= sizes[0]


async def test_a_failed_call_streams_nothing_and_the_next_one_does(
    conversation: Conversation, api: MessagesApi
) -> None:
    api.script(overloaded(), text("Here I am."))
    events = [event async for event in conversation.stream("Are you there?")]
    assert said([e for e in events if isinstance(e, Piece)]) == "Here I am."


async def test_what_was_said_until_an_interruption_has_been_heard(
    conversation: Conversation, api: MessagesApi
) -> None:
    gate = Held()
    api.script(text(STORY, hold_at=6, held=gate))
    heard: list[Piece] = []
    async for event in conversation.stream("Tell me a story."):
        if isinstance(event, Reply):
            assert event.stop_reason == "interrupted"
            assert said(heard).split() == event.text.split()
        else:
            heard.append(event)
            await soon(gate.reached.wait())
            await conversation.interrupt()
    gate.set()
    assert STORY.startswith(said(heard[:-1]))
    # The provider books what it was asked, whether its answer was heard to the end or not.
    assert (await conversation.status())["totals"]["reply_usage"]["input"] > 0


async def test_words_that_the_database_did_not_take_come_with_the_reply(
    conversation: Conversation, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, taken = Held(), Streaming._taken

    async def taken_until_held(streaming: Streaming, piece: Piece) -> bool:
        return not gate.is_set() and await taken(streaming, piece)

    monkeypatch.setattr(Streaming, "_taken", taken_until_held)
    api.script(text(STORY, hold_at=6, held=gate))
    *heard, reply = [event async for event in _opened_at_the_first(conversation, gate)]
    pieces = [e for e in heard if isinstance(e, Piece)]
    assert 0 < pieces[-1].start < len(STORY)
    assert said(pieces) == STORY
    assert isinstance(reply, Reply)
    assert reply.text == STORY


async def _opened_at_the_first(
    conversation: Conversation, gate: Held
) -> AsyncGenerator[Piece | Reply, None]:
    async for event in conversation.stream("Tell me a story."):
        gate.set()
        yield event


async def test_without_an_archive_the_words_come_with_the_reply(
    client: Client, conversation: Conversation, api: MessagesApi
) -> None:
    api.script(text("Hello."))
    bare = Conversation(client, conversation.id, QUEUE)
    words, reply = [event async for event in bare.stream("Hi")]
    assert isinstance(words, Piece)
    assert (words.start, words.text) == (0, "Hello.")
    assert isinstance(reply, Reply)
    with pytest.raises(ArchiveMissing, match="PERDURE_DATABASE_URL"):
        await anext(bare.watch())


async def test_an_archive_that_is_away_for_the_viewer_leaves_the_reply(
    client: Client, conversation: Conversation, api: MessagesApi
) -> None:
    api.script(text("Hello."))
    nowhere = "postgresql://nobody@127.0.0.1:1/nothing"
    async with await Archive.open(nowhere) as away:
        lonely = Conversation(client, conversation.id, QUEUE, archive=away)
        events = [event async for event in lonely.stream("Hi")]
    assert [e.text for e in events] == ["Hello.", "Hello."]


async def test_deleting_a_conversation_removes_its_words(
    conversation: Conversation, api: MessagesApi, archive: Archive
) -> None:
    piece = Piece(message_id="m", turn=1, step=1, attempt=1, start=0, text="secret")
    await archive.put_piece("default", "gone", piece)
    await archive.delete("default", "gone")
    await archive.put_piece("default", "gone", piece.model_copy(update={"text": "new"}))
    assert (await anext(archive.pieces("default", "gone"))).text == "new"
