"""Which tools a worker has, and which of them a conversation has chosen."""

import importlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perdure.contract import ToolCall
from perdure.errors import SettingsError
from perdure.memory.blocks import Block
from perdure.tools.builtin import BUILTIN
from perdure.tools.server import ServerTool
from perdure.tools.signature import ArgumentError
from perdure.tools.tool import Tool

Offered = Tool | ServerTool
"""What a conversation may choose."""
# Chosen in a configuration, it stands for every tool of the worker.
ALL = "*"


class WrongTools(Exception):
    """What a conversation says of its tools does not fit this worker; the text says what would."""


def worker_tools(module: str | None) -> dict[str, Offered]:
    """The built-in tools and those of the user's module, by name, sorted.

    The module may stand in the working directory. Raises SettingsError with one sentence when
    it cannot be imported, has no tools, or two tools have one name.
    """
    tools: dict[str, Offered] = {}
    for each in (*BUILTIN, *(() if module is None else _tools_of(module))):
        if tools.setdefault(each.name, each) is not each:
            raise SettingsError(
                f"PERDURE_TOOLS names {module!r}, where {each.name!r} is a second "
                "tool of that name; rename it with @tool(name=...)."
            )
    return dict(sorted(tools.items()))


def _tools_of(module: str) -> Iterable[Offered]:
    here = str(Path.cwd())
    if here not in sys.path:
        # At the end: a file here must not take the place of a package.
        sys.path.append(here)
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _unusable(module, f"needs the module {error.name!r}, which is missing") from None
        raise _unusable(module, f"is neither installed nor in {here}") from None
    # A script that ends itself must not end the worker without a word.
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split())
        raise _unusable(module, f"fails at its import: {type(error).__name__}: {said}") from error
    tools = [value for value in vars(found).values() if isinstance(value, Tool | ServerTool)]
    if not tools:
        raise _unusable(module, "has no tools; mark functions in it with @tool")
    return tools


def _unusable(module: str, why: str) -> SettingsError:
    return SettingsError(f"PERDURE_TOOLS names {module!r}, which {why}.")


def chosen(tools: Mapping[str, Offered], names: Sequence[str]) -> dict[str, Offered]:
    """The tools that a configuration names, sorted by name. Raises WrongTools."""
    if ALL in names:
        return dict(tools)
    _known(tools, names, "tools")
    return {name: tool for name, tool in tools.items() if name in names}


def check_approvals(tools: Mapping[str, Offered], approvals: Mapping[str, str]) -> None:
    """Raises WrongTools when an approval would not be asked for, by a wrong name for example."""
    _known(tools, approvals, "approvals")
    for name, approval in approvals.items():
        if isinstance(tools[name], ServerTool) and approval != "always":
            raise WrongTools(
                f"{name!r} is carried out by the provider, so its approval can only be "
                f"'always', not {approval!r}: change the conversation's `approvals`, or leave the "
                "tool out of its `tools`"
            )


def _known(tools: Mapping[str, Offered], names: Iterable[str], field: str) -> None:
    unknown = sorted({name for name in names if name not in tools})
    if unknown:
        raise WrongTools(
            f"this worker has no tool {', '.join(map(repr, unknown))}; "
            f"it has {', '.join(tools)}: change the conversation's `{field}`"
        )


def as_sent(tools: Mapping[str, Offered]) -> list[dict[str, Any]]:
    """The tools as a request to the Messages API names them."""
    return [_sent(each) for each in tools.values()]


def _sent(each: Offered) -> dict[str, Any]:
    if isinstance(each, ServerTool):
        return dict(each.definition)
    return {
        "name": each.name,
        "description": each.description,
        "input_schema": each.input_schema,
    }


def calls_in(content: Sequence[Block], tools: Mapping[str, Offered]) -> list[ToolCall]:
    """How each call in a reply is to be carried out, in their order."""
    return [_call(block, tools) for block in content if block.get("type") == "tool_use"]


def _call(block: Block, tools: Mapping[str, Offered]) -> ToolCall:
    id_, name = str(block.get("id")), str(block.get("name"))
    called = tools.get(name)
    if not isinstance(called, Tool):
        return ToolCall(id=id_, error=no_such_tool(name, tools))
    try:
        called.arguments(block.get("input") or {})
    except ArgumentError as error:
        return ToolCall(id=id_, error=f"{name} was not called: {error}")
    return ToolCall(
        id=id_,
        approval=called.approval,
        timeout_s=called.timeout,
        attempts=called.attempts,
    )


def no_such_tool(name: str, tools: Mapping[str, Offered]) -> str:
    """What to tell a model that calls a tool which it was not given."""
    return f"there is no tool {name[:64]!r}; there are {', '.join(tools) or 'none'}"
