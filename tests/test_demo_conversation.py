"""The demo conversation is whole: enough messages, and every planted fact stands where it says."""

import json
from importlib.resources import files
from typing import Any

import pytest


@pytest.fixture(scope="module")
def conversation() -> dict[str, Any]:
    text = files("perdure.demo").joinpath("conversation.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def test_title_and_system_are_given(conversation: dict[str, Any]) -> None:
    assert conversation["title"].strip()
    assert conversation["system"].strip()


def test_messages_are_many_distinct_and_never_blank(conversation: dict[str, Any]) -> None:
    messages: list[str] = conversation["messages"]
    assert len(messages) >= 150
    assert all(isinstance(message, str) and message.strip() for message in messages)
    assert len({message.strip().casefold() for message in messages}) == len(messages)


def test_every_question_asks_for_a_fact_planted_early(conversation: dict[str, Any]) -> None:
    questions: list[dict[str, Any]] = conversation["questions"]
    assert len(questions) == 5
    for question in questions:
        assert set(question) == {"question", "expected_answer", "fact_turn"}
        assert question["question"].strip()
        assert 0 <= question["fact_turn"] < 20
        assert question["expected_answer"].strip()
        assert question["expected_answer"] in conversation["messages"][question["fact_turn"]]
        assert question["expected_answer"] not in question["question"]
