"""The commands that show a conversation; they work on ended ones too."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import typer

from perdure.cli.listing import state_of
from perdure.cli.options import Id, Json
from perdure.cli.output import emit, say, show
from perdure.cli.session import run, session
from perdure.cli.tables import (
    context_lines,
    memory_table,
    status_table,
)
from perdure.conversation import Conversation
from perdure.errors import Refused
from perdure.settings import Settings

T = TypeVar("T")


def _asked(id: str, question: Callable[[Conversation], Awaitable[T]]) -> T:  # noqa: A002
    async def ask() -> T:
        async with session(Settings()) as opened:
            return await question(opened.conversation(id))

    return run(ask())


def context(
    id: Id,  # noqa: A002
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Show what would be left within so many tokens.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="As readable text, memory first.")] = False,
    as_json: Json = False,
) -> None:
    """Show what the model would be sent now."""
    if text and max_tokens is not None:
        raise Refused("--text shows the whole context; it does not go together with --max-tokens")
    if text:
        read = _asked(id, Conversation.context_text)
        emit({"text": read}) if as_json else say(read)
        return
    found = _asked(id, lambda conversation: conversation.context(max_tokens))
    if as_json:
        emit(found)
        return
    for line, style in context_lines(found):
        say(line, style)


def memory(id: Id, as_json: Json = False) -> None:  # noqa: A002
    """Show the levels of the memory, their ranges and budgets."""
    found = _asked(id, Conversation.memory)
    emit(found) if as_json else show(memory_table(found))


def status(id: Id, as_json: Json = False) -> None:  # noqa: A002
    """Show where a conversation stands, and what last went wrong."""

    async def asked() -> dict[str, Any]:
        async with session(Settings()) as opened:
            found = await opened.conversation(id).status()
            described = await opened.client.get_workflow_handle(id).describe()
            return {"state": state_of(described.status), **found}

    found = run(asked())
    emit(found) if as_json else show(status_table(found, id))
