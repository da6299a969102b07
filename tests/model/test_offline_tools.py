"""The offline assistant calls the tools that it is told to call, and says what they said."""

from typing import Any

import pytest

from perdure.memory.blocks import Block
from perdure.model.offline import compose
from perdure.model.offline_tools import tool_turn
from perdure.tools.registry import as_sent, worker_tools
from tests.model.calls import assistant, context, text_block, user

TOOLS = as_sent(worker_tools(None))


def use(id_: str, name: str) -> Block:
    return {"type": "tool_use", "id": id_, "name": name, "input": {}}


def result(id_: str, text: str, **more: Any) -> Block:
    return {"type": "tool_result", "tool_use_id": id_, "content": [text_block(text)], **more}


def test_tools_of_a_provider_are_not_called() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    content, _ = compose(context(user("use web_search ovens\nuse now")), [*TOOLS, search])
    assert [block["name"] for block in content[1:]] == ["now"]


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ("use now", [("now", {})]),
        ('use now {"zone": "Europe/Vienna"}', [("now", {"zone": "Europe/Vienna"})]),
        ("use expand L2.0-92", [("expand", {"what": "L2.0-92"})]),
        ("use remember [1]", [("remember", {"text": "[1]"})]),
        ("use now\nuse expand 3", [("now", {}), ("expand", {"what": "3"})]),
        ("Please:\nuse now", [("now", {})]),
    ],
)
def test_lines_that_begin_with_use_are_calls(
    said: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    content, tokens = compose(context(user(said)), TOOLS)
    assert content[0]["text"].startswith("(offline) I call ")
    assert [(block["name"], block["input"]) for block in content[1:]] == calls
    ids = [block["id"] for block in content[1:]]
    assert len(set(ids)) == len(ids)
    assert tokens > 5


@pytest.mark.parametrize("said", ["use weather", "I use now and then", "used now", "Use now"])
def test_everything_else_is_talk(said: str) -> None:
    assert tool_turn(context(user(said)), TOOLS) is None
    (block,), _ = compose(context(user(said)), TOOLS)
    assert block["type"] == "text"
    assert tool_turn(context(user("use now")), ()) is None


def test_results_are_told_under_the_names_of_their_tools() -> None:
    called = assistant(use("a", "now"), use("b", "refund"))
    answered = user(result("a", "Monday"), result("b", "no money", is_error=True))
    given = context(user("use now"), called, answered)
    (block,), _ = compose(given, TOOLS)
    assert block["text"] == "(offline) now says: Monday\nrefund could not do it: no money"
    later = context(user("use now"), called, user(result("a", "Monday"), "Thanks!"))
    assert tool_turn(later, TOOLS) is None


def test_the_same_words_later_get_other_ids() -> None:
    once = context(user("use now"))
    later = context(user("use now"), assistant("Monday."), user("use now"))
    first, second = (tool_turn(each, TOOLS) for each in (once, later))
    assert first is not None
    assert second is not None
    assert first[1]["id"] != second[1]["id"]
