"""The memory's types as rows of the archive, each with a hash that tells equal from changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from perdure.archive.storable import refuse_naive, refuse_unstorable
from perdure.contract import LedgerRow
from perdure.memory.event import Event
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.terms import terms
from perdure.memory.wire import canonical_json, sha256


@dataclass(frozen=True)
class Row:
    """A record: its key in the chain, its hash, and the rest in the order of its columns."""

    key: int | str
    sha256: str
    values: tuple[object, ...]


def message_hash(message: Message) -> str:
    """SHA-256 over role, content and instant, hex: counts and marks may differ."""
    at = message.at.astimezone(UTC).isoformat()
    return sha256({"role": message.role, "content": message.content, "at": at})


def message_row(message: Message) -> Row:
    """Columns role, content, at, tokens, pinned, failed, text, terms; raises `ArchiveError`."""
    subject = f"Message {message.seq}"
    refuse_unstorable(message.content, subject)
    refuse_naive(message.at, subject)
    text = message.text
    return Row(
        message.seq,
        message_hash(message),
        (
            message.role,
            canonical_json(message.content),
            message.at,
            message.tokens,
            message.pinned,
            message.failed,
            text,
            terms(text),
        ),
    )


def observation_row(entry: Observation) -> Row:
    """Columns level to identity, as in the model; raises `ArchiveError`."""
    subject = f"Observation {entry.id!r}"
    refuse_unstorable(entry.model_dump(), subject)
    times = {name: getattr(entry, name) for name in ("start_time", "end_time", "created_at")}
    for time in times.values():
        refuse_naive(time, subject)
    instants = {name: time.astimezone(UTC).isoformat() for name, time in times.items()}
    # Without defaults, so that a field which is added later does not change older hashes.
    digest = sha256(entry.model_dump(mode="json", exclude_defaults=True) | instants)
    return Row(
        entry.id,
        digest,
        (
            entry.level,
            entry.content,
            entry.facts,
            entry.start_time,
            entry.end_time,
            entry.first_seq,
            entry.last_seq,
            entry.message_count,
            entry.original_tokens,
            entry.compressed_tokens,
            entry.created_at,
            entry.sources,
            entry.method,
            entry.model,
            entry.prompt_version,
            entry.identity,
        ),
    )


def ledger_row(n: int, row: LedgerRow) -> Row:
    """Columns observation_id, entry; raises `ArchiveError`.

    The summary's text and facts are left out: they stand in the observation, and a conversation's
    own window of rows drops them too, which must not make another row of it.
    """
    refuse_unstorable(row.model_dump(), f"Ledger row {n}")
    entry = row.model_dump(mode="json", exclude_defaults=True)
    entry["observation"].pop("content")
    entry["observation"].pop("facts", None)
    return Row(n, sha256(entry), (row.observation.id, canonical_json(entry)))


def reply_row(turn: int, reply: Mapping[str, Any]) -> Row:
    """Column reply; raises `ArchiveError`."""
    refuse_unstorable(reply, f"The reply of turn {turn}")
    return Row(turn, sha256(dict(reply)), (canonical_json(dict(reply)),))


def event_row(event: Event) -> Row:
    """Columns turn, event; raises `ArchiveError`."""
    written = event.model_dump(mode="json", exclude_defaults=True)
    refuse_unstorable(written, f"Event {event.n}")
    turn = event.turned.turn if event.turned else None
    return Row(event.n, sha256(written), (turn, canonical_json(written)))
