"""The commands that change a conversation without a message: interrupt, compact, close."""

import asyncio
from typing import Annotated, Any

import typer

from perdure.cli.options import Id, Json
from perdure.cli.output import counted, emit, say, show
from perdure.cli.session import run, session
from perdure.cli.tables import compactions_table
from perdure.contract import APPROVAL, CALL_TOOL, INTERRUPTED, REPLY
from perdure.conversation import Conversation
from perdure.errors import Refused
from perdure.settings import Settings

_LOOK_SECONDS = 0.1


def interrupt(id: Id, as_json: Json = False) -> None:  # noqa: A002
    """Stop the turn in progress, as Ctrl-C does in a chat; what was said so far is kept."""

    async def interrupted() -> dict[str, Any]:
        async with session(Settings()) as opened:
            conversation = opened.conversation(id)
            turn = await _turn(conversation)
            if turn is None:
                raise Refused(f"{id} has no turn in progress; there is nothing to interrupt")
            await conversation.interrupt()
            while await _turn(conversation) == turn:
                await asyncio.sleep(_LOOK_SECONDS)
            return (await conversation.reply(turn)).model_dump(mode="json")

    stopped = run(interrupted())
    if as_json:
        emit(stopped)
        return
    in_time = stopped["stop_reason"] == INTERRUPTED
    say(f"turn {stopped['turn']} {'was interrupted' if in_time else 'had just ended'}", "dim")
    if stopped["text"]:
        say(stopped["text"])


async def _turn(conversation: Conversation) -> int | None:
    """The number of the turn in progress."""
    status = await conversation.status()
    turn: int = status["turn"]
    return turn if status["running"] in (REPLY, CALL_TOOL, APPROVAL) else None


def compact(
    id: Id,  # noqa: A002
    instructions: Annotated[
        str | None, typer.Option(help="What the summary must pay attention to.")
    ] = None,
    end_session: Annotated[
        bool, typer.Option("--session", help="End a session: compact everything and go on.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compact now what stands before the newest messages, and show the result."""
    if end_session:
        _end_session(id, instructions, as_json)
        return

    async def compacted() -> list[dict[str, Any]]:
        async with session(Settings()) as opened:
            conversation = opened.conversation(id)
            before = {row["n"] for row in await conversation.compactions()}
            await conversation.compact(instructions)
            await _until_idle(conversation)
            rows = await conversation.compactions()
            return [row for row in rows if row["n"] not in before]

    rows = run(compacted())
    if as_json:
        emit(rows)
    elif rows:
        show(compactions_table(rows))
    else:
        say("nothing to compact: there is nothing before the newest messages")


def _end_session(id: str, instructions: str | None, as_json: bool) -> None:  # noqa: A002
    if instructions:
        raise typer.BadParameter("either --session or --instructions can be given")

    async def ended() -> dict[str, Any]:
        async with session(Settings()) as opened:
            return await opened.conversation(id).end_session()

    result = run(ended())
    if as_json:
        emit(result)
        return
    say(f"ended a session of {counted(result['messages'], 'message')}", "dim")
    _tell(result)


def _tell(ended: dict[str, Any]) -> None:
    """What a session came to, a line a thing."""
    for name in ("topic", "goal"):
        if ended[name]:
            say(f"{name}: {ended[name]}")
    for name in ("decisions", "outcome", "action_items", "preferences"):
        if ended[name]:
            say("\n".join([f"{name.replace('_', ' ')}:", *(f"- {line}" for line in ended[name])]))


async def _until_idle(conversation: Conversation) -> None:
    while True:
        status = await conversation.status()
        if not status["queue"] and status["running"] is None:
            return
        await asyncio.sleep(_LOOK_SECONDS)


def close(id: Id, as_json: Json = False) -> None:  # noqa: A002
    """End a conversation after all that was sent; show its last summary."""

    async def closed() -> dict[str, Any]:
        async with session(Settings()) as opened:
            return await opened.conversation(id).close()

    result = run(closed())
    if as_json:
        emit(result)
        return
    say(
        f"closed {id} after a session of {counted(result['turns'], 'turn')} and "
        f"{counted(result['messages'], 'message')}",
        "dim",
    )
    if result["summary"]:
        say(result["summary"])
    _tell(result)
