"""From a function to a tool: its schema, its arguments, and what is wrong with it."""

import enum
import subprocess
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal, Optional

import jsonschema
import pytest
from pydantic import BaseModel, Field

from perdure.memory.wire import canonical_json
from perdure.model.tokens import count
from perdure.tools import Tool, ToolContext, tool
from perdure.tools.registry import as_sent, worker_tools
from perdure.tools.signature import ArgumentError
from tests.support.hash_seeds import outputs


class Grain(enum.Enum):
    RYE = "rye"
    SPELT = "spelt"


class Line(BaseModel):
    """One line of an order."""

    title: str
    grain: Grain = Grain.RYE
    grams: Annotated[int, Field(ge=1, description="of flour")] = 500


class Chain(BaseModel):
    following: "Chain | None" = None


@tool(approval="ask", timeout=5, attempts=2)
def order(
    line: Line,
    copy: Annotated[int, Field(description="how often")] = 1,
    *,
    other: Line | None = None,
    day: date | None = None,
    kind: Literal["bread", "roll"] = "bread",
    note: str = Field("", description="for the baker"),
    context: ToolContext | None = None,
) -> str:
    """Order bread.

    The baker is told at once.
    """
    return f"{copy} {line.title} {kind} {day} {note} {context is not None}"


LINE = {
    "description": "One line of an order.",
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "grain": {"enum": ["rye", "spelt"], "type": "string", "default": "rye"},
        "grams": {"type": "integer", "minimum": 1, "description": "of flour", "default": 500},
    },
    "required": ["title"],
}


def test_the_schema_is_written_out_without_references_titles_and_the_context() -> None:
    assert order.input_schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "line": LINE,
            "copy": {"type": "integer", "description": "how often", "default": 1},
            "other": {"anyOf": [LINE, {"type": "null"}], "default": None},
            "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}
            | {"default": None},
            "kind": {"type": "string", "enum": ["bread", "roll"], "default": "bread"},
            "note": {"type": "string", "description": "for the baker", "default": ""},
        },
        "required": ["line"],
    }
    jsonschema.Draft202012Validator.check_schema(order.input_schema)


def test_a_tool_carries_what_was_declared_and_stays_a_function() -> None:
    assert (order.name, order.approval, order.timeout, order.attempts) == ("order", "ask", 5, 2)
    assert order.description == "Order bread.\n\nThe baker is told at once."
    assert order(Line(title="loaf"), note="now") == "1 loaf bread None now False"


def test_arguments_become_the_function_s_own_types() -> None:
    given = order.arguments({"line": {"title": "x", "grain": "spelt"}, "day": "2026-03-01"})
    assert given["line"] == Line(title="x", grain=Grain.SPELT)
    assert (given["day"], given["copy"], given["other"]) == (date(2026, 3, 1), 1, None)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "the argument line: field required"),
        ({"line": {"title": 7}}, "the argument line.title: input should be a valid string, got 7"),
        ({"line": {"title": "x", "grams": 0}}, "the argument line.grams: input should be greater"),
        ({"line": {"title": "x"}, "loaves": 2}, "the argument loaves: there is no such field"),
        ({"line": {"title": "x"}, "kind": "cake"}, "the argument kind: input should be 'bread'"),
    ],
)
def test_a_wrong_argument_is_named(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        order.arguments(given)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_parameters_may_be_called_like_what_a_model_has() -> None:
    @tool
    def odd(json: str, model_config: int, schema: bool = True) -> None:
        """Odd names."""

    assert list(odd.input_schema["properties"]) == ["json", "model_config", "schema"]
    assert odd.arguments({"json": "x", "model_config": 1}) == {
        "json": "x",
        "model_config": 1,
        "schema": True,
    }


def test_a_default_that_is_not_json_stays_out_of_the_schema() -> None:
    marker = object()

    @tool
    def look(where: Any = marker) -> None:
        """Look."""

    assert look.input_schema["properties"] == {"where": {}}
    assert look.arguments({})["where"] is marker


def untyped(x) -> None:  # type: ignore[no-untyped-def]
    """Documented."""


def gathers(*values: int) -> None:
    """Documented."""


def by_place(value: int, /) -> None:
    """Documented."""


def unreadable(thing: "NoSuchType") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Documented."""


def foreign(größe: int) -> None:
    """Documented."""


def recursive(chain: Chain) -> None:
    """Documented."""


def strange(pool: subprocess.Popen[bytes]) -> None:
    """Documented."""


def silent(x: int) -> None:
    pass


def fine(x: int) -> None:
    """Documented."""


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (untyped, {}, "tool 'untyped': the parameter 'x' needs a type"),
        (gathers, {}, "tool 'gathers': *values: int cannot be given by name"),
        (by_place, {}, "tool 'by_place': value: int cannot be given by name"),
        (unreadable, {}, "its types cannot be read (name 'NoSuchType' is not defined)"),
        (foreign, {}, "tool 'foreign': the parameter 'größe' must have a name of 1 to 64 of"),
        (recursive, {}, "the type Chain contains itself"),
        (strange, {}, "Unable to generate pydantic-core schema for subprocess.Popen"),
        (silent, {}, "it needs a docstring"),
        (lambda: None, {}, "tool '<lambda>': a name has 1 to 64 of the characters"),
        (fine, {"name": "a b"}, "tool 'a b': a name has 1 to 64"),
        (fine, {"name": "x" * 65}, "a name has 1 to 64"),
        (fine, {"name": ""}, "a name has 1 to 64"),
        (fine, {"approval": "maybe"}, "approval is one of always, never, ask, remember"),
        (fine, {"timeout": 0}, "timeout is whole seconds from 1 to 86,400, not 0"),
        (fine, {"attempts": 0}, "attempts is a number from 1 to 100, not 0"),
    ],
)
def test_a_faulty_declaration_says_what_is_wrong(
    function: Callable[..., Any], options: dict[str, Any], words: str
) -> None:
    with pytest.raises((TypeError, ValueError)) as refused:
        tool(**options)(function)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_type_of_the_result_need_not_be_known_at_run_time() -> None:
    @tool
    def fetch(page: int) -> "NoSuchType":  # type: ignore[name-defined]  # noqa: F821
        """Fetch."""

    assert list(fetch.input_schema["properties"]) == ["page"]


def test_the_context_may_be_optional_in_the_old_spelling() -> None:
    @tool
    def old(context: Optional[ToolContext] = None) -> None:  # noqa: UP045
        """Old."""

    assert old.input_schema["properties"] == {}
    assert old.signature.context == "context"


def test_the_built_in_tools_are_small() -> None:
    tools = worker_tools(None)
    assert all(isinstance(each, Tool) for each in tools.values())
    assert list(tools) == sorted(tools)
    assert {each.approval for each in tools.values() if isinstance(each, Tool)} == {"always"}
    assert count(canonical_json(as_sent(tools))) < 450


def test_the_schemas_are_the_same_in_every_process() -> None:
    """They stand before everything else in the request: the provider's cache depends on it."""
    code = (
        "from perdure.memory.wire import canonical_json\n"
        "from perdure.tools.registry import as_sent, worker_tools\n"
        "print(as_sent(worker_tools(None)))"
    )
    assert len(set(outputs(code))) == 1
