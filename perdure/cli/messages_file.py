"""Message lists in files: Anthropic's form as JSON, or one message per line."""

import json
from dataclasses import dataclass
from typing import Any

from perdure.batches import parse_import
from perdure.entrance import parse_imported
from perdure.errors import Refused
from perdure.memory.blocks import ContentError, to_text

TIMES = ("at", "timestamp", "created_at")
"""Where a message may say when it was spoken; the first that it has counts."""


@dataclass(frozen=True)
class MessageFile:
    """`messages` as `Conversation.import_messages` takes them, and the system prompt, if any."""

    messages: list[dict[str, Any]]
    system: str | None = None


def parse_file(text: str) -> MessageFile:
    """A list of messages, an object with `messages` and perhaps `system`, or JSON lines.

    Fields other than role, content and a time are left out. Raises Refused, naming the message
    or line, if anything in it could not be imported.
    """
    if not text.strip():
        raise Refused("the file is empty")
    found = _whole(text)
    if found is None:
        messages = [(f"line {number}", item) for number, item in _lines(text)]
        system = None
    else:
        items, system = found
        messages = [(f"message {number}", item) for number, item in enumerate(items, start=1)]
    checked = [_message(place, item) for place, item in messages]
    # Checks what only the messages together can show: calls of tools and their results.
    parse_import(checked, stored=True)
    return MessageFile(checked, system)


def _whole(text: str) -> tuple[list[Any], str | None] | None:
    """The messages of a single JSON document; none if the text is lines."""
    try:
        document = json.loads(text)
    except ValueError as error:
        if text.lstrip().startswith("{") and _is_json(text.strip().splitlines()[0]):
            return None
        raise Refused(f"this is not JSON: {error}") from None
    if isinstance(document, dict) and "role" in document:
        return None
    if isinstance(document, dict):
        return _of_object(document)
    if isinstance(document, list):
        return document, None
    raise Refused(
        f"a list of messages is needed, or an object with messages, not {_kind(document)}"
    )


def _of_object(document: dict[str, Any]) -> tuple[list[Any], str | None]:
    messages, system = document.get("messages"), document.get("system")
    if not isinstance(messages, list):
        raise Refused("an object needs messages, a list")
    if isinstance(system, list) and all(isinstance(block, dict) for block in system):
        system = to_text(system)
    if system is not None and not isinstance(system, str):
        raise Refused("system must be a text or a list of text blocks")
    return messages, system


def _lines(text: str) -> list[tuple[int, Any]]:
    items = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                items.append((number, json.loads(line)))
            except ValueError as error:
                raise Refused(f"line {number} is not JSON: {error}") from None
    return items


def _message(place: str, item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise Refused(f"{place}: a message is an object with role and content, not {_kind(item)}")
    message = {name: item[name] for name in ("role", "content") if name in item}
    times = [item[name] for name in TIMES if item.get(name) is not None]
    if times:
        message["at"] = times[0]
    try:
        return parse_imported(message, stored=True).model_dump(mode="json")
    except ContentError as error:
        raise Refused(f"{place}: {error}") from None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _kind(value: Any) -> str:
    kinds = ((list, "a list"), (dict, "an object"), (str, "a text"))
    return next((name for kind, name in kinds if isinstance(value, kind)), repr(value)[:40])
