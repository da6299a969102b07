"""The commands that show what a conversation was, from the workflow and the archive."""

from typing import Annotated, Any

import typer

from perdure.cli.options import Id, Json
from perdure.cli.output import DIM, console, counted, emit, remark, say, show, span, styled, when
from perdure.cli.session import Session, run, session
from perdure.cli.tables import compactions_table
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.past import PAGE_ROWS, Shown
from perdure.settings import Settings

NO_ARCHIVE = "set PERDURE_DATABASE_URL to the archive of its worker to see the rest"


def as_json_message(message: Message) -> dict[str, Any]:
    """A message as the commands print it for machines."""
    return {**message.model_dump(mode="json", exclude_none=True), "text": message.text}


def transcript(
    id: Id,  # noqa: A002
    first: Annotated[int, typer.Option(min=0, metavar="SEQ", help="Begin with this message.")] = 0,
    last: Annotated[
        int | None, typer.Option(min=0, metavar="SEQ", help="End with this message.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Show big blocks in full, not by head and tail.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the messages word for word, compacted or not."""

    async def told() -> None:
        found = []
        async with session(Settings()) as opened:
            messages = opened.conversation(id).transcript(first, last, expand=whole)
            number = 0
            async for message in messages:
                if not number and message.seq > first:
                    missing = counted(message.seq - first, "earlier message")
                    remark(f"{missing} not shown: {NO_ARCHIVE}")
                number += 1
                found.append(as_json_message(message)) if as_json else say_message(message)
        if as_json:
            emit(found)
        elif not number:
            say("there are no such messages")

    run(told())


def say_message(message: Message) -> None:
    """A message for people: who, when, and the text."""
    marks = "".join(f", {mark}" for mark in ("pinned", "failed") if getattr(message, mark))
    heading = styled(f"{message.seq} {message.role}", "bold")
    heading.append(f"  {when(message.at)}{marks}", DIM)
    console().print(heading)
    say(message.text)


def compactions(
    id: Id,  # noqa: A002
    before: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only rows with a smaller number.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many rows to show.")] = PAGE_ROWS,
    as_json: Json = False,
) -> None:
    """Show the last compactions: what became of how much."""

    async def asked() -> list[dict[str, Any]]:
        async with session(Settings()) as opened:
            return await opened.conversation(id).compactions(before, limit=limit)

    found = run(asked())
    if as_json:
        emit(found)
    elif not found:
        say("nothing has been compacted yet" if before is None else "there are no such rows")
    else:
        show(compactions_table(found))
        if found[0]["n"]:
            say(f"earlier ones: --before {found[0]['n']}", DIM)


def show_(
    id: Id,  # noqa: A002
    observation: Annotated[
        str, typer.Argument(metavar="OBSERVATION", help="Its id, such as L1.0-12; see `memory`.")
    ],
    messages: Annotated[
        int, typer.Option(min=0, help="How many of its messages to show at most.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """Show an entry of the memory, what it was made from, and the messages it covers."""

    async def asked() -> Shown:
        async with session(Settings()) as opened:
            found = await opened.conversation(id).show(observation, limit=messages)
            _say_incomplete(opened, found)
            return found

    found = run(asked())
    if as_json:
        shown = [as_json_message(m) for m in found.messages]
        notes = found.entry.notes
        fields = None if notes is None else notes.model_dump(mode="json")
        emit({**found.model_dump(mode="json"), "messages": shown, "notes": fields})
        return
    for entry in (found.entry, *found.made_from):
        _say_entry(entry)
    for message in found.messages:
        say_message(message)
    entry = found.entry
    if found.complete and len(found.messages) < entry.message_count:
        first = entry.first_seq + len(found.messages)
        more = counted(entry.message_count - len(found.messages), "message")
        say(f"{more} more: perdure transcript {id} --first {first} --last {entry.last_seq}", DIM)


def _say_incomplete(opened: Session, found: Shown) -> None:
    if opened.archive is None:
        remark(f"{found.entry.id} covers more than this client can see: {NO_ARCHIVE}")


def _say_entry(entry: Observation) -> None:
    heading = styled(entry.id, "bold")
    about = f"  messages {span(entry.first_seq, entry.last_seq)}, {when(entry.start_time)} to "
    heading.append(f"{about}{when(entry.end_time)}, {entry.method}, {entry.model}", DIM)
    console().print(heading)
    say(entry.body)
    say()
