"""Is an export whole? Asked before anything of it is restored."""

import base64
import binascii
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from perdure.archive.rows import message_hash
from perdure.contract import LedgerRow
from perdure.entrance import sentence
from perdure.errors import Refused
from perdure.memory.event import Event
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.state import InvariantError, check
from perdure.memory.stored import hashes
from perdure.transfer.lines import FORMAT, VERSION, End, Header, Kept, Line, read


@dataclass
class Checked:
    """What a whole export says of itself; `sha256` is that of its hashes in their order."""

    header: Header
    kept: Kept
    end: End
    sha256: str


@dataclass
class _Seen:
    """What the lines until now have shown."""

    header: Header | None = None
    kept: Kept | None = None
    end: End | None = None
    tail: dict[int, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    entries: set[str] = field(default_factory=set)
    blobs: set[str] = field(default_factory=set)
    wanted: dict[str, int] = field(default_factory=dict)
    turn: int = -1


def checked(path: Path) -> Checked:
    """Read a whole export. Raises Refused with a sentence that names the line that is wrong."""
    seen = _Seen()
    digest = hashlib.sha256()
    number = 0
    for line in read(path):
        number = line.number
        if number == 1 and line.kind != "header":
            raise Refused("line 1 is not the header of an export of perdure")
        if number == 2 and line.kind != "memory":
            raise Refused("line 2 is not the memory of the conversation")
        try:
            _TAKE[line.kind](seen, line)
        except ValidationError as error:
            raise Refused(f"line {number}: {sentence(error, line.kind)}") from None
        seen.counts[line.kind] = seen.counts.get(line.kind, 0) + 1
        digest.update(repr((line.kind, line.data)).encode())
    if seen.header is None or seen.kept is None:
        raise Refused("it holds no conversation")
    if seen.end is None:
        raise Refused(f"it ends with line {number}, before its end: the rest is missing")
    return Checked(seen.header, seen.kept, seen.end, digest.hexdigest())


def _header(seen: _Seen, line: Line) -> None:
    _once(line, 1)
    if line.data.get("format") != FORMAT:
        raise Refused("line 1: this is not an export of perdure")
    version = line.data.get("version")
    if version != VERSION:
        raise Refused(f"line 1: the form has version {version}; this perdure reads {VERSION}")
    seen.header = Header.model_validate(line.data)


def _once(line: Line, number: int) -> None:
    if line.number != number:
        raise Refused(f"line {line.number}: there is a second {line.kind}")


def _memory(seen: _Seen, line: Line) -> None:
    _once(line, 2)
    seen.kept = Kept.model_validate(line.data)
    memory = seen.kept.resumable.memory
    try:
        check(memory)
    except InvariantError as error:
        raise Refused(f"line 2: the memory is not whole: {error}") from None
    seen.tail = {m.seq: message_hash(m) for m in memory.messages}


def _message(seen: _Seen, line: Line) -> None:
    message = Message.model_validate(line.data)
    _follows(seen, line, message.seq, f"message {message.seq}")
    if seen.tail.get(message.seq, message_hash(message)) != message_hash(message):
        raise Refused(f"line {line.number}: message {message.seq} is not that of the memory")
    for digest in hashes([message.content], full=False):
        seen.wanted.setdefault(digest, line.number)


def _follows(seen: _Seen, line: Line, number: int, name: str) -> None:
    expected = seen.counts.get(line.kind, 0)
    if number != expected:
        raise Refused(f"line {line.number}: {name} stands where {expected} should")


def _observation(seen: _Seen, line: Line) -> None:
    seen.entries.add(Observation.model_validate(line.data).id)


def _row(seen: _Seen, line: Line) -> None:
    row = LedgerRow.model_validate(line.data)
    _follows(seen, line, row.n, f"ledger row {row.n}")
    if row.observation.id not in seen.entries:
        raise Refused(f"line {line.number}: its observation {row.observation.id} is missing")


def _reply(seen: _Seen, line: Line) -> None:
    turn = line.data.get("turn")
    if not isinstance(turn, int) or turn <= seen.turn:
        raise Refused(f"line {line.number}: the reply of turn {turn} may not stand here")
    seen.turn = turn


def _event(seen: _Seen, line: Line) -> None:
    event = Event.model_validate(line.data)
    _follows(seen, line, event.n, f"event {event.n}")


def _blob(seen: _Seen, line: Line) -> None:
    digest, _, data = blob_of(line)
    if hashlib.sha256(data).hexdigest() != digest:
        raise Refused(f"line {line.number}: the blob is not the one of its hash")
    seen.blobs.add(digest)


def blob_of(line: Line) -> tuple[str, str, bytes]:
    """Hash, media type and bytes of a blob's line. Raises Refused."""
    fields: dict[str, Any] = line.data
    try:
        return (
            str(fields["sha256"]),
            str(fields["media_type"]),
            base64.b64decode(fields["data"], validate=True),
        )
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise Refused(f"line {line.number}: the blob cannot be read") from None


def _end(seen: _Seen, line: Line) -> None:
    end = End.model_validate(line.data)
    if seen.end is not None or seen.kept is None:
        raise Refused(f"line {line.number}: there is a second end")
    for kind in {**end.counts, **seen.counts}:
        had, has = end.counts.get(kind, 0), seen.counts.get(kind, 0)
        if had != has:
            raise Refused(f"line {line.number}: it counts {had} lines of {kind}, not {has}")
    resumable = seen.kept.resumable
    marks = resumable.marks
    for kind, due in (("message", marks.seq), ("row", marks.row), ("event", marks.event)):
        if seen.counts.get(kind, 0) != due:
            raise Refused(
                f"line {line.number}: the memory speaks of {due} lines of {kind}, and there are "
                f"{seen.counts.get(kind, 0)}"
            )
    for digest, number in seen.wanted.items():
        if digest not in seen.blobs and digest not in end.unknown:
            raise Refused(f"line {number}: its big block {digest[:12]} is missing")
    seen.end = end


_TAKE: dict[str, Callable[[_Seen, Line], None]] = {
    "header": _header,
    "memory": _memory,
    "message": _message,
    "observation": _observation,
    "row": _row,
    "reply": _reply,
    "event": _event,
    "blob": _blob,
    "end": _end,
}
