"""`perdure delete`."""

from typing import Annotated

import typer

from perdure.cli.options import Id, Json
from perdure.cli.output import counted, emit, say
from perdure.cli.session import run, session
from perdure.deleting import Deleted
from perdure.deleting import delete as delete_conversation
from perdure.errors import ArchiveMissing
from perdure.settings import Settings


def delete(
    id: Id,  # noqa: A002
    force: Annotated[
        bool, typer.Option("--force", help="Also a conversation that runs; it is ended first.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Until Temporal has removed it, which may take a minute.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Remove a conversation for good, from Temporal and from the archive."""

    async def deleted() -> Deleted:
        async with session(Settings(), worker=False) as opened:
            if opened.archive is None:
                raise ArchiveMissing(
                    "what was archived could not be removed; set PERDURE_DATABASE_URL to the "
                    "archive of its worker"
                )
            return await delete_conversation(
                opened.client, opened.archive, id, force=force, wait=wait
            )

    found = run(deleted())
    if as_json:
        emit(found.model_dump(mode="json"))
        return
    nouns = {
        "runs": "run",
        "chains": "chain",
        "messages": "message",
        "observations": "observation",
        "ledger_rows": "ledger row",
        "events": "event",
        "blobs": "blob",
    }
    counts = [counted(getattr(found, name), noun) for name, noun in nouns.items()]
    replies = f"{found.replies:,} {'reply' if found.replies == 1 else 'replies'}"
    say(f"deleted {id}: {', '.join([*counts, replies])}")
