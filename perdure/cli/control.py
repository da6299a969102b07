"""The commands that change a conversation without a message: compact, close."""

import asyncio
from typing import Annotated, Any

import typer

from perdure.cli.options import Id, Json
from perdure.cli.output import counted, emit, say, show
from perdure.cli.session import run, session
from perdure.cli.tables import compactions_table
from perdure.conversation import Conversation
from perdure.settings import Settings

_LOOK_SECONDS = 0.1


def compact(
    id: Id,  # noqa: A002
    instructions: Annotated[
        str | None, typer.Option(help="What the summary must pay attention to.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compact now what stands before the newest messages, and show the result."""

    async def compacted() -> list[dict[str, Any]]:
        async with session(Settings()) as opened:
            conversation = opened.conversation(id)
            before = {row["sha256"] for row in await conversation.compactions()}
            await conversation.compact(instructions)
            await _until_idle(conversation)
            rows = await conversation.compactions()
            return [row for row in rows if row["sha256"] not in before]

    rows = run(compacted())
    if as_json:
        emit(rows)
    elif rows:
        show(compactions_table(rows))
    else:
        say("nothing to compact: there is nothing before the newest messages")


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
        f"closed {id} after {counted(result['turns'], 'turn')} and "
        f"{counted(result['messages'], 'message')}",
        "dim",
    )
    say(result["summary"])
