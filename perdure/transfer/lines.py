"""The form of an export: JSON lines that number themselves and carry a hash of what they hold.

    {"line": 3, "kind": "message", "sha256": "...", "data": {...}}

First the header, then the memory, the messages, observations, ledger rows, replies, events and
blobs, and at last the end with its counts. So a line that is missing, added or changed is
found, and can be named.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from perdure.contract import Resumed
from perdure.errors import Refused
from perdure.memory.wire import canonical_json, sha256

FORMAT = "perdure-conversation"
VERSION = 2
KINDS = ("header", "memory", "message", "observation", "row", "reply", "event", "blob", "end")


class Header(BaseModel):
    """Where a conversation comes from. `queued` messages had no turn yet and are not in it."""

    format: str
    version: int
    namespace: str
    conversation: str
    chain: str
    queued: int = 0


class Kept(BaseModel):
    """What the workflow goes on from, and the hash of the context that it gives."""

    model_config = ConfigDict(frozen=True)

    resumable: Resumed
    context_sha256: str


class End(BaseModel):
    """How many lines there are of each kind; `unknown` are hashes that no blob belongs to."""

    counts: dict[str, int]
    unknown: list[str] = []


@dataclass(frozen=True)
class Line:
    """A line that was read; its hash and its number are right."""

    number: int
    kind: str
    data: dict[str, Any]


class Writer:
    """Makes the lines, and counts them."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def line(self, kind: str, data: Any) -> str:
        """The next line, without its end."""
        number = sum(self.counts.values()) + 1
        self.counts[kind] = self.counts.get(kind, 0) + 1
        made = {"line": number, "kind": kind, "sha256": sha256(data), "data": data}
        return canonical_json(made)


def read(path: Path) -> Iterator[Line]:
    """The lines of an export. Raises Refused, naming the line, for one that is not right."""
    place = 0
    try:
        with path.open(encoding="utf-8") as file:
            for number, text in enumerate(file, start=1):
                line = _line(number, text)
                if KINDS.index(line.kind) < place:
                    raise Refused(f"line {number}: a {line.kind} may not stand here")
                place = KINDS.index(line.kind)
                yield line
    except OSError as error:
        raise Refused(f"it cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise Refused("it is not UTF-8 text, so it is no export of perdure") from None


def _line(number: int, text: str) -> Line:
    try:
        found = json.loads(text)
    except ValueError:
        raise Refused(f"line {number} is not JSON, or cut off") from None
    if not isinstance(found, dict) or found.keys() != {"line", "kind", "sha256", "data"}:
        raise Refused(f"line {number} is not a line of an export of perdure")
    given, kind, data = found["line"], found["kind"], found["data"]
    if kind not in KINDS or not isinstance(data, dict):
        raise Refused(f"line {number}: there is no kind {kind!r} of line")
    if given != number:
        raise Refused(
            f"line {number} says that it is line {given}: a line before it "
            f"{'is missing' if isinstance(given, int) and given > number else 'was added'}"
        )
    if sha256(data) != found["sha256"]:
        raise Refused(f"line {number} was changed: its hash is not that of what it holds")
    return Line(number, kind, data)
