"""`perdure import`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from perdure.cli.messages_file import MessageFile, parse_file
from perdure.cli.options import Config, Json, conversation_id, read_config
from perdure.cli.output import console, counted, emit, remark, say, span
from perdure.cli.session import Session, run, session
from perdure.contract import ConversationConfig
from perdure.conversation import Conversation
from perdure.errors import ConversationExists, Refused
from perdure.settings import Settings


def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Messages as JSON or JSON lines; - is stdin.")
    ],
    id: Annotated[str, typer.Option("--id", help="The conversation.", callback=conversation_id)],  # noqa: A002
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Append messages spoken elsewhere, without replies to them.

    FILE holds Anthropic messages (role, content, perhaps "at"): as a JSON list, as an object
    with "messages" and perhaps "system", or one on each line. If one is wrong, none is imported.
    """
    configured = read_config(config)
    try:
        messages = parse_file(read_file(file))
    except Refused as error:
        raise Refused(f"{'stdin' if file == '-' else file}: {error}") from None
    done = run(_import(id, messages, configured))
    if as_json:
        emit(done)
    else:
        say(
            f"imported {counted(done['messages'], 'message')} into {id} "
            f"as {span(done['first_seq'], done['last_seq'])}"
        )


def read_file(file: str) -> str:
    """The text of a file, or of stdin for `-`. Raises Refused."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Refused(f"it cannot be read ({error.strerror})") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"it is not UTF-8 text (byte {error.start:,})") from None


async def _import(id: str, file: MessageFile, config: ConversationConfig | None) -> dict[str, Any]:  # noqa: A002
    progress = Progress(
        TextColumn("importing", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    async with session(Settings()) as opened:
        conversation = await _opened(opened, id, file, config)
        with progress:
            task = progress.add_task("", total=len(file.messages))
            receipt = await conversation.import_messages(
                file.messages, progress=lambda added: progress.advance(task, added)
            )
    return {
        "conversation": id,
        "messages": receipt.last_seq - receipt.first_seq + 1,
        **receipt.model_dump(mode="json"),
    }


async def _opened(
    opened: Session,
    id: str,  # noqa: A002
    file: MessageFile,
    config: ConversationConfig | None,
) -> Conversation:
    """The conversation; a new one gets the file's system prompt unless `config` has one."""
    if file.system is None or (config is not None and config.system):
        return await opened.open(id, config)
    with_system = (config or ConversationConfig()).model_copy(update={"system": file.system})
    try:
        return await opened.open(id, with_system)
    except ConversationExists:
        if config is not None:
            raise
        remark(f"{id} runs already, so the file's system prompt is not used")
        return await opened.open(id)
