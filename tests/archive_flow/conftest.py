"""Conversations with an archive on both sides: the worker's, and the client's."""

import uuid
from collections.abc import Awaitable, Callable

import pytest
from temporalio.client import Client

from perdure.archive import Archive
from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.memory.policy import MemoryPolicy

Opening = Callable[..., Awaitable[Conversation]]

# So little room that everything is compacted at once, over several levels.
TIGHT = MemoryPolicy(
    message_budget=400,
    observation_budget=250,
    level_budget=200,
    keep_recent=60,
    keep_recent_messages=2,
    observe_chunk=150,
)


@pytest.fixture
def fresh() -> str:
    """An id that no conversation has."""
    return f"flow-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def opening(client: Client, archive: Archive, offline_worker: None, fresh: str) -> Opening:
    """Opens the conversation `fresh`, or another, with little room for messages."""

    async def opened(
        config: ConversationConfig | None = None,
        id: str = fresh,  # noqa: A002
    ) -> Conversation:
        return await Conversation.open(client, id, config, archive=archive)

    return opened


TIGHT_CONFIG = ConversationConfig(system="You are a baker.", policy=TIGHT, title="the bakery")


def diary(number: int) -> list[dict[str, str]]:
    """So many imported messages, each with facts of its own."""
    return [
        {
            "role": "assistant" if day % 2 else "user",
            "content": f"On day {day} the oven {day * 17} of Hallmoor gave {day * 31} loaves for "
            f"{day * 3} euros, and Piotr delivered them to shop {day * 7} before seven.",
            "at": f"2026-03-{1 + day // 24:02}T{day % 24:02}:00:00+00:00",
        }
        for day in range(number)
    ]
