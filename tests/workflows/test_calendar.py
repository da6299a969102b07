"""The calendar on a real server: old messages become tiers, and the time zone is looked up once."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.errors import Refused
from perdure.memory.policy import MemoryPolicy
from perdure.replay import fetch_chain
from tests.support.talk import Talk, until

CALENDAR = {"calendar": True, "timezone": "Europe/Berlin", "keep_recent_messages": 2}


def past(days: int) -> list[dict[str, Any]]:
    """Two messages for each of the last days, of about 120 tokens each."""
    now = datetime.now(UTC)
    return [
        {"role": role, "content": f"{days - n} days ago: " + "word " * 90, "at": at.isoformat()}
        for n in range(days)
        for role, at in (
            ("user", now - timedelta(days=days - n, minutes=1)),
            ("assistant", now - timedelta(days=days - n)),
        )
    ]


async def activities(talk: Talk) -> Counter[str]:
    """How many activities of each name were scheduled, in all runs."""
    histories, _ = await fetch_chain(talk.client, talk.id)
    scheduled = [
        event.activity_task_scheduled_event_attributes.activity_type.name
        for history in histories
        for event in history.events
    ]
    return Counter(name for name in scheduled if name)


async def test_what_was_imported_stands_in_its_tiers(talk: Talk) -> None:
    await talk.start({"policy": {**CALENDAR, "idle_after": 1}})
    await talk.facade.import_messages(past(45))

    async def settled() -> bool:
        memory = await talk.query("memory")
        return [level["level"] for level in memory["levels"]] == [2, 1] and (
            memory["messages"]["count"] <= 16
        )

    await until(settled)
    memory = await talk.check_tiling()
    entries = memory["observations"]
    days = [entry for entry in entries if entry["level"] == 1]
    assert all(entry["message_count"] == 2 for entry in days)
    assert len(days) >= 22
    assert all(entry["message_count"] <= 14 for entry in entries if entry["level"] == 2)
    assert memory["messages"]["count"] >= 12
    assert (await activities(talk))["zone"] == 1
    await talk.ask("Where are we?")
    await talk.check_context()


async def test_facts_are_what_is_left_after_a_year(offline_talk: Talk) -> None:
    await offline_talk.start({"policy": {**CALENDAR, "reflect_ratio": 1.5}})
    old = (datetime.now(UTC) - timedelta(days=450)).isoformat()
    words = "We walked along the river and talked about the weather for quite a while. " * 12
    said = f"My dentist is Dr. Okafor, extension 4417. {words}"
    await offline_talk.facade.import_messages(
        [{"role": role, "content": said, "at": old} for role in ("user", "assistant") * 7]
    )

    async def reached() -> bool:
        return [o["level"] for o in (await offline_talk.query("memory"))["observations"]] == [4]

    await until(reached)
    row = (await offline_talk.query("compactions"))[-1]
    assert row["prompt_version"] == "facts-1"
    assert row["observation"]["content"] == "Of this time only the facts are kept."
    assert "extension 4417" in str(row["observation"]["facts"])
    assert "weather" not in str(row["observation"]["facts"])
    await offline_talk.check_tiling()


async def test_a_time_zone_that_is_none_is_refused(talk: Talk) -> None:
    await talk.start({"policy": {"calendar": True, "timezone": "Europe/Nowhere"}})
    await talk.ask("hello")
    await talk.noted("there is no time zone 'Europe/Nowhere'; names are such as Europe/Berlin")
    for name, fault in (("Mars/Base", "no time zone 'Mars/Base'"), ("../etc", "policy.timezone")):
        with pytest.raises(Refused, match=fault):
            await talk.facade.configure(policy={"timezone": name})
    changed = await talk.facade.configure(policy={"timezone": "Asia/Tokyo"})
    assert changed.policy.timezone == "Asia/Tokyo"
    config = ConversationConfig(policy=MemoryPolicy(timezone="Europe/Nowhere"))
    with pytest.raises(Refused, match="no time zone 'Europe/Nowhere'"):
        await Conversation.open(talk.client, f"{talk.id}-2", config, task_queue=talk.queue)
