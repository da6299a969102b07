"""Recall covers a whole conversation, wherever its words stand."""

import pytest
from temporalio.client import Client

from perdure.conversation import Conversation
from perdure.errors import ConversationNotFound
from tests.archive_flow.conftest import TIGHT_CONFIG, Opening, diary


async def test_old_and_new_messages_are_found(client: Client, opening: Opening, fresh: str) -> None:
    conversation = await opening(TIGHT_CONFIG)
    source = diary(40)
    await conversation.import_messages(source)
    tail_seq = (await conversation.memory())["messages"]["first_seq"]
    assert 3 < tail_seq < 39
    old = await conversation.recall("Which oven gave 93 loaves?")
    assert (old.excerpts[0].seq, old.excerpts[0].text) == (3, source[3]["content"])
    assert "1 March 2026:\n" in old.text
    assert "#3 assistant: On day 3 the oven" in old.text
    new = await conversation.recall("Which oven gave 1209 loaves?", role="assistant")
    assert new.excerpts[0].text == source[39]["content"]
    assert (await conversation.recall("oven 51", level=1)).excerpts[0].entry is not None

    blind = Conversation(client, fresh)
    assert (await blind.recall("1209 loaves")).excerpts[0].seq == 39
    assert all(e.seq >= tail_seq for e in (await blind.recall("93 loaves")).excerpts)
    with pytest.raises(ConversationNotFound):
        await Conversation(client, f"{fresh}-nobody").recall("oven")
