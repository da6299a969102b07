"""`perdure verify`."""

from typing import Annotated

import typer

from perdure.cli.importing import read_file
from perdure.cli.messages_file import parse_file
from perdure.cli.options import Id, Json
from perdure.cli.output import counted, emit, say
from perdure.cli.session import run, session
from perdure.entrance import parse_imported
from perdure.errors import Refused
from perdure.settings import Settings
from perdure.verifying import Verified, compare


def verify(
    id: Id,  # noqa: A002
    against: Annotated[
        str, typer.Option(metavar="FILE", help="What was imported, in any form of `import`.")
    ],
    first: Annotated[
        int, typer.Option(min=0, metavar="SEQ", help="The message that FILE begins with.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Compare the messages, byte for byte, with the file that they were imported from.

    Messages after those of the file are fine. The status is 1 if one is missing or different.
    """
    try:
        messages = parse_file(read_file(against)).messages
    except Refused as error:
        raise Refused(f"{'stdin' if against == '-' else against}: {error}") from None
    source = [parse_imported(message, stored=True) for message in messages]

    async def compared() -> Verified:
        async with session(Settings()) as opened:
            transcript = opened.conversation(id).transcript(first, expand=True)
            return await compare(transcript, source, first_seq=first)

    found = run(compared())
    if as_json:
        emit({"identical": found.identical, **found.model_dump(mode="json")})
    else:
        verdict = "identical" if found.identical else "not identical"
        say(
            f"{verdict}: {counted(found.equal, 'message')} equal, {found.different:,} different, "
            f"{found.missing:,} missing, {found.extra:,} extra"
        )
        for line in found.differences:
            say(line)
    if not found.identical:
        raise typer.Exit(1)
