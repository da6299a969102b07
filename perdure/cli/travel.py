"""The commands that go back in time: `diff` and `fork`, and what `context --at` shows."""

from typing import Annotated, Any

import typer

from perdure.archive.moments import Moment, Source
from perdure.cli.options import Id, Json, conversation_id
from perdure.cli.output import counted, emit, remark, say, show
from perdure.cli.session import Session, run, session
from perdure.cli.tables import difference_table
from perdure.errors import Refused
from perdure.memory.difference import Difference, difference
from perdure.settings import Settings

From = Annotated[
    Source | None,
    typer.Option(
        "--from", help="Rebuild it only from this; by default the history, else the archive."
    ),
]


async def moment_of(
    opened: Session,
    id: str,  # noqa: A002
    turn: int,
    step: int | None = None,
    source: Source | None = None,
) -> Moment:
    """What a model was sent, from Temporal's history where that is left, else from the archive."""
    if source != "archive":
        # The only way from the clients to the workflows, and slow to import.
        from worker import sent

        found = await sent(opened.client, id, turn, step)
        if found is not None:
            return found
        if source == "history":
            raise Refused(f"no history that Temporal keeps of {id} tells of turn {turn}")
    return await opened.conversation(id).moment(turn, step)


def _about(moment: Moment) -> dict[str, Any]:
    told = moment.as_json()
    return {name: told[name] for name in ("turn", "step", "tokens", "sha256", "source")}


def diff(
    id: Id,  # noqa: A002
    before: Annotated[int, typer.Argument(min=1, metavar="A", help="A turn.")],
    after: Annotated[int, typer.Argument(min=1, metavar="B", help="Another one.")],
    other: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="OTHER",
            help="Turn B of another conversation, such as a fork.",
            show_default=False,
        ),
    ] = None,
    source: From = None,
    as_json: Json = False,
) -> None:
    """Show what changed between the contexts that were sent in two turns."""
    second = id if other is None else conversation_id(other)

    async def compared() -> tuple[Moment, Moment]:
        async with session(Settings()) as opened:
            return (
                await moment_of(opened, id, before, source=source),
                await moment_of(opened, second, after, source=source),
            )

    was, now = run(compared())
    found = difference(was.memory, was.context, now.memory, now.context)
    if as_json:
        emit({"before": _about(was), "after": _about(now), **found.model_dump(mode="json")})
    else:
        _say_difference(was, now, found)


def _say_difference(was: Moment, now: Moment, found: Difference) -> None:
    tokens = f"{found.tokens_before:,} to {counted(found.tokens_after, 'token')}"
    say(f"turn {was.turn} to turn {now.turn}: {tokens}")
    say(
        f"the same: {counted(found.messages_kept, 'message')}, "
        f"{found.entries_kept:,} {'entry' if found.entries_kept == 1 else 'entries'}"
    )
    if found.changes:
        show(difference_table(found))
    else:
        say("nothing else: they are the same")


def fork(
    id: Id,  # noqa: A002
    at: Annotated[
        int, typer.Option("--at", min=1, metavar="TURN", help="The last turn that both share.")
    ],
    as_: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="NEW",
            help="The id of the fork; by default ID-TURN.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Begin a new conversation from how a turn had left this one, which stays as it is."""
    name = None if as_ is None else conversation_id(as_)

    async def forked() -> dict[str, Any]:
        async with session(Settings()) as opened:
            made = await opened.conversation(id).fork(at, name)
            memory = await made.memory()
            return {
                "conversation": made.id,
                "forked_from": id,
                "turn": at,
                "messages": memory["next_seq"],
                "context_tokens": memory["context_tokens"],
            }

    found = run(forked())
    if as_json:
        emit(found)
        return
    messages = counted(found["messages"], "message")
    say(f"{found['conversation']} goes on from turn {at} of {id}: {messages} shared, none copied")
    remark(f"perdure chat {found['conversation']}")
