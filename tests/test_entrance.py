"""Every payload that is not one gets a sentence that says what would be right."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from perdure.contract import ConversationConfig, PinRequest
from perdure.entrance import (
    parse_batch,
    parse_compact,
    parse_config,
    parse_pin,
    parse_time,
    parse_user_message,
    reconfigured,
)
from perdure.memory.blocks import ContentError
from perdure.memory.policy import MemoryPolicy


@pytest.mark.parametrize(
    ("parse", "payload", "sentence"),
    [
        (parse_user_message, None, "needs text"),
        (parse_user_message, 5, "takes an object, not int"),
        (parse_user_message, {"text": "hi"}, "no field 'text'; known are content, id, pinned"),
        (parse_user_message, {"content": "hi", "id": ""}, "id must be a string"),
        (parse_user_message, {"content": "hi", "id": 7}, "id must be a string"),
        (parse_user_message, {"content": "hi", "pinned": "yes"}, "true or false"),
        (parse_user_message, "x" * 2_000_000, "2,000,0.. bytes, more than the 1,900,000"),
        (parse_batch, {"messages": []}, "not empty"),
        (parse_batch, {"messages": [{"role": "user", "content": "hi"}, "x"]}, "message 2: "),
        (parse_batch, {"messages": [{"role": "system", "content": "x"}]}, "role 'system'"),
        (
            parse_batch,
            {"messages": [{"role": "user", "content": "x", "at": "yesterday"}]},
            "'yesterday' is not an ISO 8601 time",
        ),
        (
            parse_batch,
            {
                "messages": [
                    {"role": "user", "content": "x", "at": "2026-03-02"},
                    {"role": "assistant", "content": "y"},
                    {"role": "user", "content": "z", "at": "2026-03-01"},
                ]
            },
            "message 3: its time, 2026-03-01T00:00:00.00:00, is before",
        ),
        (parse_config, "hello", "config: "),
        (parse_config, {"sytem": "x"}, "config sytem: there is no such field"),
        (parse_config, {"policy": {"message_budget": -5}}, "greater than or equal to 100, got -5"),
        (parse_config, {"policy": {"target_ratio": "a lot"}}, "policy.target_ratio: "),
        (
            parse_config,
            {"policy": {"message_budget": 1_000, "keep_recent": 1_000}},
            "keep_recent must be smaller than message_budget",
        ),
        (
            parse_config,
            {"policy": {"message_budget": 500_000}},
            "message_budget must be smaller than context_window - reserve_output",
        ),
        (parse_compact, "now", "takes an object"),
        (parse_compact, {"instructions": 7}, "must be a string"),
        (parse_compact, {"session": "yes"}, "session must be true or false"),
        (parse_compact, {"session": True, "instructions": "x"}, "either instructions or session"),
        (parse_pin, {"seq": -1}, "either seq"),
        (parse_pin, {"seq": 1, "text": "x"}, "either seq"),
        (parse_pin, {"text": "  "}, "not blank"),
        (parse_pin, {"text": "x" * 30_000}, "pin less"),
        (parse_pin, {"seq": 1, "pinned": "no"}, "pinned must be true or false"),
        (parse_pin, {"pinned": False}, "either seq"),
        (parse_pin, {"seq": 1, "off": True}, "known are seq, text, pinned"),
    ],
)
def test_a_wrong_payload_is_named(
    parse: Callable[[Any], object], payload: Any, sentence: str
) -> None:
    with pytest.raises(ContentError, match=sentence):
        parse(payload)


def test_a_pin_is_set_unless_it_says_otherwise() -> None:
    for payload in ({"seq": 0}, {"seq": 0, "pinned": True}, {"seq": 0, "pinned": None}):
        assert parse_pin(payload) == PinRequest(what=0, pinned=True)
    assert parse_pin({"seq": 0, "pinned": False}) == PinRequest(what=0, pinned=False)
    assert parse_pin({"text": "7", "pinned": False}) == PinRequest(what="7", pinned=False)


def test_everything_in_a_configuration_has_a_default() -> None:
    assert parse_config(None) == parse_config({}) == ConversationConfig()


def test_a_time_without_an_offset_is_utc() -> None:
    expected = datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert parse_time("2026-03-01T09:00:00") == expected
    assert parse_time("2026-03-01T10:00:00+01:00") == expected
    assert parse_time(None) is None


def test_configure_changes_single_fields_and_null_restores_a_default() -> None:
    config = ConversationConfig(system="s", policy=MemoryPolicy(message_budget=5_000))
    changed = reconfigured(config, {"policy": {"target_ratio": 8}, "model": "offline"})
    assert changed.policy == MemoryPolicy(message_budget=5_000, target_ratio=8)
    assert (changed.system, changed.model) == ("s", "offline")
    assert reconfigured(changed, {"model": None, "policy": {"target_ratio": None}}) == config
    with pytest.raises(ContentError, match="at least one field"):
        reconfigured(config, {})
    with pytest.raises(ContentError, match="less than or equal to 100"):
        reconfigured(config, {"policy": {"target_ratio": 1_000}})
