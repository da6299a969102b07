"""Eight exact facts through the real stack: compacted at least five times at each of three levels.

Once by the offline engine, once by a model, scripted, that forgets everything and still writes as
many words as it may.
"""

import json
import random
import re
import uuid
from collections import Counter
from typing import Any

from temporalio.client import Client

from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from tests.memory.facts.test_guard import FILLER, PLANTED, POLICY
from tests.support.answers import Answer, text
from tests.support.messages_api import is_summary, last_text
from tests.support.wired import wired

_WORDS = re.findall(r"[a-z]+", " ".join(FILLER))
TURNS = 48


def messages() -> list[dict[str, Any]]:
    """Filler, the facts scattered over its first half."""
    said: list[dict[str, Any]] = []
    facts = list(PLANTED)
    for turn in range(TURNS):
        words = " ".join(sentence(f"{turn} {i}", 16) for i in range(10))
        if turn % 3 == 0 and turn // 3 < len(facts):
            words += f" {facts[turn // 3]}"
        said += [
            {"role": "user", "content": words},
            {"role": "assistant", "content": sentence(f"{turn}", 12)},
        ]
    return said


def sentence(seed: str, length: int) -> str:
    """Words that tell nothing; no two are alike, since repeats leave the context early."""
    drawn = random.Random(seed)
    return " ".join(drawn.choice(_WORDS) for _ in range(length)).capitalize() + "."


def forgetful(request: dict[str, Any]) -> Answer:
    """Small talk of the length that was asked for; nothing of the sources is in it."""
    asked = re.search(r"at most (\d+) words", last_text(request))
    if not is_summary(request) or not asked:
        return text("Well.")
    return text(json.dumps({"gist": sentence(last_text(request), int(asked[1]))}))


async def lived(client: Client, queue: str) -> tuple[str, Counter[int]]:
    """The context after everything was said, and how often each level was made."""
    conversation = await Conversation.open(
        client,
        f"planted-{uuid.uuid4().hex[:8]}",
        ConversationConfig(policy=POLICY, model="offline" if queue == "perdure" else "scripted"),
        task_queue=queue,
    )
    said = messages()
    for start in range(0, len(said), 4):
        await conversation.import_messages(said[start : start + 4])
    rows = await conversation.compactions()
    found = await conversation.context_text()
    await conversation.close()
    return found, Counter(row["observation"]["level"] for row in rows)


def check(context: str, made: Counter[int]) -> None:
    assert all(made[level] >= 5 for level in (1, 2, 3)), made
    assert [fact for fact in PLANTED.values() if fact not in context] == []


async def test_with_the_offline_engine(client: Client, offline_worker: None) -> None:
    check(*await lived(client, "perdure"))


async def test_with_a_model_that_forgets_everything(client: Client, server_url: str) -> None:
    queue = f"forgetful-{uuid.uuid4().hex[:8]}"
    async with wired(client, server_url, queue, rule=forgetful) as api:
        context, made = await lived(client, queue)
        assert sum(is_summary(request) for request in api.requests) >= 15
    check(context, made)
