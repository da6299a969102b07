"""The commands that show a conversation; they work on ended ones too."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import typer

from perdure.archive.moments import Moment, Source
from perdure.cli.listing import state_of
from perdure.cli.options import Id, Json
from perdure.cli.output import emit, say, show
from perdure.cli.session import run, session
from perdure.cli.tables import (
    context_lines,
    memory_table,
    status_table,
)
from perdure.cli.travel import From, moment_of
from perdure.conversation import Conversation
from perdure.errors import Refused
from perdure.memory.project import context_text
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
    at: Annotated[
        int | None, typer.Option(min=1, metavar="TURN", help="What it was sent in this turn.")
    ] = None,
    step: Annotated[
        int | None, typer.Option(min=1, help="With --at: in this step of it, not the last.")
    ] = None,
    source: From = None,
    as_json: Json = False,
) -> None:
    """Show what the model would be sent now, or was sent in a turn."""
    if text and max_tokens is not None:
        raise Refused("--text shows the whole context; it does not go together with --max-tokens")
    if at is not None:
        if max_tokens is not None:
            raise Refused("--at shows what was sent; it does not go together with --max-tokens")
        _say_sent(id, at, step, source, text=text, as_json=as_json)
        return
    if step is not None or source is not None:
        raise Refused("--step and --from are for a turn; name it with --at")
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


def _say_sent(
    id: str,  # noqa: A002
    turn: int,
    step: int | None,
    source: Source | None,
    *,
    text: bool,
    as_json: bool,
) -> None:
    async def asked() -> Moment:
        async with session(Settings()) as opened:
            return await moment_of(opened, id, turn, step, source)

    moment = run(asked())
    if text:
        read = context_text(moment.memory)
        emit({"text": read}) if as_json else say(read)
    elif as_json:
        emit(moment.as_json())
    else:
        for line, style in context_lines(moment.as_json()):
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
