"""`perdure export` and `perdure restore`."""

import sys
from pathlib import Path
from typing import Annotated, TextIO

import typer

from perdure.cli.options import Id, Json, conversation_id
from perdure.cli.output import counted, emit, remark, say
from perdure.cli.session import run, session
from perdure.errors import ArchiveMissing, Refused
from perdure.settings import Settings
from perdure.transfer import Restored
from perdure.transfer import export as export_lines
from perdure.transfer import restore as restore_file


def export(
    id: Id,  # noqa: A002
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Where to write it; - is stdout.")
    ] = "-",
) -> None:
    """Write a whole conversation, running or closed, as JSON lines.

    Messages, observations, ledger, replies, big contents and the memory: `restore` makes the
    same conversation of it, here or elsewhere.
    """
    if file == "-":
        run(_export(id, sys.stdout))
        return
    # A file that exists is replaced by a whole one, or stays.
    path = Path(file)
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8") as target:
            lines = run(_export(id, target))
        partial.replace(path)
    except OSError as error:
        raise Refused(f"{file} cannot be written ({error.strerror})") from None
    finally:
        partial.unlink(missing_ok=True)
    remark(f"exported {id} to {file}: {counted(lines, 'line')}")


async def _export(id: str, target: TextIO) -> int:  # noqa: A002
    lines = 0
    async with session(Settings()) as opened:
        past = await opened.conversation(id).past()
        if past.held.queued:
            remark(f"{counted(past.held.queued, 'message')} of {id} wait and are not exported")
        async for line in export_lines(past):
            target.write(f"{line}\n")
            lines += 1
    return lines


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `export` has written.")],
    id: Annotated[  # noqa: A002
        str | None,
        typer.Option("--id", help="Another id for it; by default its own.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make the conversation of an export again, and start it.

    The file is checked first; if anything in it is missing or changed, nothing is restored.
    """
    name = None if id is None else conversation_id(id)

    async def restored() -> Restored:
        async with session(Settings()) as opened:
            if opened.archive is None:
                raise ArchiveMissing(
                    "a conversation is restored into the archive of a worker; set "
                    "PERDURE_DATABASE_URL to it"
                )
            return await restore_file(
                opened.client,
                opened.archive,
                file,
                id=name,
                task_queue=opened.settings.task_queue,
            )

    try:
        done = run(restored())
    except Refused as error:
        raise Refused(f"{file}: {error}") from None
    if as_json:
        emit(done.model_dump(mode="json"))
    else:
        context = "identical" if done.identical else "DIFFERENT"
        say(
            f"restored {done.conversation}: {counted(done.messages, 'message')}, "
            f"{counted(done.turns, 'turn')}, {counted(done.blobs, 'blob')}; context {context}, "
            f"sha256 {done.context_sha256[:12]}"
        )
    if not done.identical:
        raise typer.Exit(1)
