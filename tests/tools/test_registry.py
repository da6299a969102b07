"""Which tools a worker has, which a conversation has chosen, and how their calls are judged."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.contract import ToolCall
from perdure.errors import SettingsError
from perdure.memory.blocks import Block
from perdure.settings import Settings
from perdure.tools import ServerTool, tool
from perdure.tools.registry import (
    WrongTools,
    as_sent,
    calls_in,
    check_approvals,
    chosen,
    worker_tools,
)

DESK = '''
from perdure.tools import tool

@tool(approval="ask", timeout=7, attempts=1)
def refund(order: str, euros: int) -> str:
    """Pay an order back."""
    return f"{euros} for {order}"

again = refund
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory for modules, none of which stay imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_module_in_the_working_directory_adds_its_tools(here: Path) -> None:
    (here / "desk_tools.py").write_text(DESK, encoding="utf-8")
    tools = worker_tools("desk_tools")
    assert [name for name in tools if name not in worker_tools(None)] == ["refund"]
    assert list(tools) == sorted(tools)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (None, "'desk_tools', which is neither installed nor in "),
        ("import no_such_thing", "needs the module 'no_such_thing', which is missing"),
        ("1 / 0", "fails at its import: ZeroDivisionError: division by zero"),
        ("raise SystemExit('run me alone')", "fails at its import: SystemExit: run me alone"),
        ("def (", "fails at its import: SyntaxError"),
        ("x = 1", "has no tools; mark functions in it with @tool"),
        (f"{DESK}\n@tool(name='now')\ndef f() -> None:\n    'F.'\n", "'now' is a second tool"),
        (f"{DESK}\n@tool\ndef f(x) -> None:\n    'F.'\n", "the parameter 'x' needs a type"),
    ],
)
def test_a_module_that_cannot_be_used_is_named_in_one_sentence(
    here: Path, source: str | None, words: str
) -> None:
    if source is not None:
        (here / "desk_tools.py").write_text(source, encoding="utf-8")
    with pytest.raises(SettingsError) as refused:
        worker_tools("desk_tools")
    assert str(refused.value).startswith("PERDURE_TOOLS names 'desk_tools', ")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_module_of_a_missing_package_is_missing(here: Path) -> None:
    with pytest.raises(SettingsError, match=r"names 'desk\.tools', which is neither installed"):
        worker_tools("desk.tools")


@pytest.mark.parametrize("value", ["desk_tools.py/", "desk-tools", "a..b", "tools/desk.py"])
def test_the_setting_is_the_name_of_a_module(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_TOOLS", value)
    with pytest.raises(SettingsError, match=r"PERDURE_TOOLS is .*; it must look like desk_tools"):
        Settings()


def test_a_conversation_gets_the_tools_that_it_names() -> None:
    tools = worker_tools(None)
    assert chosen(tools, []) == {}
    assert list(chosen(tools, ["remember", "expand", "remember"])) == ["expand", "remember"]
    assert chosen(tools, ["*"]) == tools
    with pytest.raises(WrongTools) as refused:
        chosen(tools, ["now", "weather", "fly"])
    assert str(refused.value) == (
        f"this worker has no tool 'fly', 'weather'; it has {', '.join(tools)}: "
        "change the conversation's `tools`"
    )


SEARCH = ServerTool({"type": "web_search_20250305", "name": "web_search"})


def test_an_approval_that_nobody_would_ask_for_is_refused() -> None:
    tools = {**worker_tools(None), "web_search": SEARCH}
    check_approvals(tools, {"now": "ask", "expand": "never", "web_search": "always"})
    with pytest.raises(WrongTools, match=r"no tool 'noww'; it has .*`approvals`"):
        check_approvals(tools, {"noww": "ask"})
    with pytest.raises(WrongTools, match=r"'web_search' is carried out by the provider.*'always'"):
        check_approvals(tools, {"web_search": "ask"})


@tool(approval="remember", timeout=7, attempts=1)
def refund(order: str, euros: int) -> None:
    """Pay an order back."""


def use(id_: str, name: str, **given: object) -> Block:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def test_every_call_of_a_reply_is_judged_in_its_order() -> None:
    content: list[Block] = [
        {"type": "text", "text": "Let me see."},
        use("a", "refund", order="HM", euros=3),
        use("b", "weather"),
        use("c", "refund", order="HM"),
        use("d", "refund", order="HM", euros="many"),
    ]
    calls = calls_in(content, {"refund": refund})
    assert calls[0] == ToolCall(id="a", approval="remember", timeout_s=7, attempts=1)
    assert [call.id for call in calls] == ["a", "b", "c", "d"]
    assert calls[1].error == "there is no tool 'weather'; there are refund"
    assert calls[2].error == "refund was not called: the argument euros: field required"
    assert "the argument euros: input should be a valid integer" in (calls[3].error or "")
    assert calls_in(content, {})[0].error == "there is no tool 'refund'; there are none"


def test_a_plain_call_costs_the_history_its_id_only() -> None:
    (call,) = calls_in([use("a", "now")], worker_tools(None))
    assert call.model_dump(mode="json") == {"id": "a"}


def test_a_tool_of_the_provider_is_offered_as_it_is_and_never_called_here(here: Path) -> None:
    definition = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
    source = f"from perdure.tools import ServerTool\nsearch = ServerTool({definition})\n"
    (here / "desk_tools.py").write_text(source, encoding="utf-8")
    tools = chosen(worker_tools("desk_tools"), ["web_search"])
    assert as_sent(tools) == [definition]
    (call,) = calls_in([use("a", "web_search")], tools)
    assert "there is no tool 'web_search'" in (call.error or "")


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({}, "needs a type"),
        ({"type": "web_search_20250305"}, "needs a name"),
        ({"type": "x", "name": "a b"}, "needs a name"),
        ({"type": "x", "name": "y", "z": object()}, "the server tool 'y' is not JSON"),
    ],
)
def test_a_faulty_tool_of_the_provider_says_what_is_wrong(
    definition: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        ServerTool(definition)


def test_what_is_sent_is_name_description_and_schema() -> None:
    assert as_sent({"refund": refund}) == [
        {
            "name": "refund",
            "description": "Pay an order back.",
            "input_schema": refund.input_schema,
        }
    ]
