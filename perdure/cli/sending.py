"""`perdure send`."""

import sys
from typing import Annotated

import typer

from perdure.cli.approving import described
from perdure.cli.options import Config, Id, Json, read_config
from perdure.cli.output import emit, remark, say
from perdure.cli.session import run, session
from perdure.contract import ConversationConfig
from perdure.entrance import parse_user_message
from perdure.errors import Refused
from perdure.memory.blocks import ContentError, clean, to_blocks
from perdure.reply import Reply
from perdure.settings import Settings


def checked(text: str, *, archive: bool) -> str:
    """`text` as it can be sent. Raises Refused where the conversation would refuse it.

    With an `archive` it may be of any size.
    """
    cleaned = str(clean(text))
    try:
        to_blocks(cleaned) if archive else parse_user_message(cleaned)
    except ContentError as error:
        raise Refused(str(error)) from None
    return cleaned


def send(
    id: Id,  # noqa: A002
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The message; - reads it from stdin.")
    ],
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the reply and print it.")] = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Send a message; prints its id. Starts the conversation if there is none."""
    message = checked(sys.stdin.read() if text == "-" else text, archive=True)
    configured = read_config(config)
    if wait:
        reply = run(_ask(id, message, configured))
        if as_json:
            emit(reply.model_dump(mode="json"))
        elif not reply.awaiting:
            say(reply.text)
        for call in reply.awaiting:
            remark(f"{described(call)} waits for an approval; `perdure approve {id}` gives it")
        return
    message_id, kept = run(_send(id, message, configured))
    emit({"conversation": id, "message_id": message_id}) if as_json else say(message_id)
    if kept:
        remark("kept; it is answered when a worker runs (`perdure serve`, or any `perdure chat`)")


async def _ask(id: str, message: str, config: ConversationConfig | None) -> Reply:  # noqa: A002
    async with session(Settings()) as opened:
        checked(message, archive=opened.archive is not None)
        conversation = await opened.open(id, config)
        return await conversation.ask(message)


async def _send(
    id: str,  # noqa: A002
    message: str,
    config: ConversationConfig | None,
) -> tuple[str, bool]:
    """The message's id, and whether nobody is there to answer it yet."""
    async with session(Settings(), worker=False) as opened:
        checked(message, archive=opened.archive is not None)
        conversation = await opened.open(id, config)
        return await conversation.send(message), opened.servers.owns
