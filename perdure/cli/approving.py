"""Tool calls that wait for somebody to approve of them: `perdure approve`, and how they look."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from perdure.cli.options import Id, Json
from perdure.cli.output import emit, say
from perdure.cli.session import Call, run, session
from perdure.conversation import Conversation
from perdure.errors import Refused
from perdure.settings import Settings

Waiting = Mapping[str, Any]

_QUESTION = "may it run? [y]es, [n]o, [a]lways> "
_ANSWERS = ("y", "n", "a")
_LOOK_SECONDS = 0.2


def approve(
    id: Id,  # noqa: A002
    tool_use_id: Annotated[
        str | None,
        typer.Argument(metavar="TOOL_USE_ID", help="The call; needed when several wait."),
    ] = None,
    deny: Annotated[bool, typer.Option("--deny", help="Say no.")] = False,
    always: Annotated[
        bool, typer.Option("--always", help="Say yes to later calls of this tool too.")
    ] = False,
    note: Annotated[
        str | None, typer.Option(help="Why not; the model is told.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Let a tool call that waits for it run, or deny it."""
    if not deny and note is not None:
        raise Refused("--note is for the model when a call is denied; it needs --deny")
    if deny and always:
        raise Refused("--always says yes to a tool; it does not go together with --deny")

    async def answered() -> Waiting:
        async with session(Settings()) as opened:
            conversation = opened.conversation(id)
            call = the_call((await conversation.status())["awaiting"], tool_use_id)
            await conversation.approve(call["tool_use_id"], not deny, note=note, always=always)
            if opened.servers.owns:
                # The worker ends with this command, and should not leave the call half done.
                await at_rest(conversation)
            return call

    call = run(answered())
    if as_json:
        emit({"conversation": id, "approved": not deny, **call})
    else:
        say(f"{'denied' if deny else 'approved'} {described(call)}")


def the_call(waiting: Sequence[Waiting], tool_use_id: str | None) -> Waiting:
    """The call that is meant: the one of that id, or the only one. Raises Refused."""
    if not waiting:
        raise Refused("no tool call waits for an approval")
    listed = ", ".join(f"{call['tool_use_id']} ({call['name']})" for call in waiting)
    if tool_use_id is None:
        if len(waiting) > 1:
            raise Refused(f"{len(waiting)} tool calls wait; name one of them: {listed}")
        return waiting[0]
    for call in waiting:
        if call["tool_use_id"] == tool_use_id:
            return call
    raise Refused(f"no tool call {tool_use_id!r} waits for an approval; there is {listed}")


def decide(call: Call[Any], conversation: Conversation, waiting: Sequence[Waiting]) -> None:
    """Ask at the terminal whether each call may run; what is left unanswered waits on."""
    for number, each in enumerate(waiting):
        # A yes to an earlier one may have been one to all of its tool.
        if number and each not in call(conversation.status())["awaiting"]:
            continue
        say(described(each), "bold")
        answer = ""
        while answer not in _ANSWERS:
            answer = input(_QUESTION).strip().lower()[:1]
        id_, always = str(each["tool_use_id"]), answer == "a"
        call(conversation.approve(id_, answer != "n", always=always))


async def answered(conversation: Conversation) -> None:
    """Wait until no call waits for an approval any more."""
    while (await conversation.status())["awaiting"]:
        await asyncio.sleep(_LOOK_SECONDS)


async def at_rest(conversation: Conversation) -> dict[str, Any]:
    """The status, as soon as no turn is in progress, or one waits for an approval again."""
    while True:
        status = await conversation.status()
        if status["running"] is None or status["awaiting"]:
            return status
        await asyncio.sleep(_LOOK_SECONDS)


def described(call: Waiting) -> str:
    """A call as a person reads it: its tool and what it would be given."""
    return f"{call['name']} {call['input']}"
