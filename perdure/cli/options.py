"""What several commands take: the conversation, its configuration, the form of the output."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from perdure.contract import ConversationConfig
from perdure.entrance import parse_config
from perdure.errors import Refused
from perdure.memory.blocks import ContentError, clean

MAX_ID = 1_000
"""Temporal's limit for the length of a workflow id."""
DEFAULT_ID = "chat"


def conversation_id(value: str) -> str:
    """A conversation id from the command line, checked."""
    if not value.strip():
        raise typer.BadParameter("a conversation needs an id that is not blank")
    if len(value) > MAX_ID:
        raise typer.BadParameter(f"the id has {len(value):,} characters; {MAX_ID:,} are possible")
    return str(clean(value))


Id = Annotated[
    str, typer.Argument(metavar="ID", help="The conversation.", callback=conversation_id)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="JSON|@FILE",
        help='For a new conversation, such as \'{"policy": {"message_budget": 2000}}\'.',
    ),
]


def read_config(option: str | None) -> ConversationConfig | None:
    """The configuration of a `--config`. Raises Refused with one sentence."""
    if option is None:
        return None
    payload = read_object("--config", option)
    try:
        return parse_config(payload)
    except ContentError as error:
        raise Refused(f"--{error}") from None


def read_object(name: str, option: str) -> dict[str, Any]:
    """The JSON object that an option gives, or `@` and a file. Raises Refused."""
    try:
        payload: Any = json.loads(read_text(name, option))
    except ValueError as error:
        raise Refused(f"{name} is not JSON: {error}") from None
    if not isinstance(payload, dict):
        raise Refused(f"{name} must be a JSON object, not {type(payload).__name__}")
    return payload


def read_text(name: str, option: str) -> str:
    """The text that an option gives, or `@` and a file. Raises Refused."""
    if not option.startswith("@"):
        return option
    path = option[1:]
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Refused(f"{name}: {path} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise Refused(f"{name}: {path} is not UTF-8 text") from None
