"""The decorator that makes a function a tool."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args, overload

from perdure.contract import Approval, ToolCall
from perdure.tools.context import ToolContext
from perdure.tools.schema import Schema
from perdure.tools.signature import Signature, signature_of
from perdure.tools.thread import in_thread

# What the Messages API accepts.
_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")
_DAY = 86_400
_DEFAULTS = ToolCall(id="")


@dataclass(frozen=True)
class Tool:
    """A function that a model may call, and how a call is to be carried out.

    `timeout` is seconds for one attempt. Called like a function it is that function.
    """

    name: str
    description: str
    input_schema: Schema
    approval: Approval
    timeout: int
    attempts: int
    function: Callable[..., Any]
    signature: Signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself, with no checks and in this thread."""
        return self.function(*args, **kwargs)

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What the model gave, as the function's own types. Raises ArgumentError."""
        return self.signature.arguments(given)

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> Any:
        """Carry a call out: async functions here, others in a thread of their own.

        A cancelled call of an async function ends; that of another is left to run out. What is
        generated, step by step, is gathered to a list.
        """
        given = dict(arguments)
        if self.signature.context is not None:
            given[self.signature.context] = context
        if inspect.iscoroutinefunction(self.function):
            value = await self.function(**given)
        else:
            value = await in_thread(lambda: self.function(**given))
        if inspect.iscoroutine(value):
            value = await value
        if inspect.isasyncgen(value):
            return [item async for item in value]
        # Like the function that made it, it may take its time.
        return await in_thread(lambda: list(value)) if isinstance(value, Iterator) else value


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    approval: Approval = ...,
    timeout: int = ...,
    attempts: int = ...,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    approval: Approval = _DEFAULTS.approval,
    timeout: int = _DEFAULTS.timeout_s,
    attempts: int = _DEFAULTS.attempts,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a typed function, sync or async, a tool: `@tool` or `@tool(approval="ask")`.

    An async function shares its loop with the whole worker, so it must await and not block; any
    other runs in a thread of its own.

    The model reads the docstring, or `description`, and a schema made from the parameters'
    types; `Annotated[int, Field(description="in euros")]` describes one of them. A parameter of
    type `ToolContext` is filled in. `approval` says whether a call may run: "always", "never",
    "ask" before each, or "remember" an answer for the conversation. An attempt may take
    `timeout` seconds, and there are `attempts` of them; a ToolError ends them early.

    Raises TypeError or ValueError that says what is wrong with the declaration.
    """

    def made(decorated: Callable[..., Any]) -> Tool:
        called = name if name is not None else getattr(decorated, "__name__", "")
        text = description or inspect.getdoc(decorated) or ""
        if fault := _fault(called, text, approval, timeout, attempts):
            raise ValueError(f"tool {called!r}: {fault}")
        signature = signature_of(decorated, called)
        return Tool(
            name=called,
            description=text,
            input_schema=signature.schema,
            approval=approval,
            timeout=timeout,
            attempts=attempts,
            function=decorated,
            signature=signature,
        )

    return made if function is None else made(function)


def _fault(name: str, text: str, approval: str, timeout: int, attempts: int) -> str | None:
    if not _NAME.fullmatch(name):
        return "a name has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -"
    if not text.strip():
        return "it needs a docstring, which the model reads to know what it does"
    if approval not in get_args(Approval):
        return f"approval is one of {', '.join(get_args(Approval))}, not {approval!r}"
    if not 1 <= timeout <= _DAY:
        return f"timeout is whole seconds from 1 to {_DAY:,}, not {timeout!r}"
    if not 1 <= attempts <= 100:
        return f"attempts is a number from 1 to 100, not {attempts!r}"
    return None
