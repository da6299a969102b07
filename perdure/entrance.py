"""What may come in from outside: payloads checked by hand, so that a fault gets a sentence."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from perdure.contract import (
    INLINE_BYTES,
    MESSAGE_BYTES,
    PIN_BYTES,
    CompactRequest,
    ConversationConfig,
    Fork,
    ImportBatch,
    ImportedMessage,
    PinRequest,
    Supersede,
    UserMessage,
    Verdict,
)
from perdure.memory.blocks import IMPORT_BLOCKS, USER_BLOCKS, Block, ContentError, clean, to_blocks
from perdure.memory.wire import canonical_json, without_nulls


def sentence(error: ValidationError, subject: str) -> str:
    """A pydantic error as one sentence that names the field and what is wrong with it."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(p) for p in first["loc"])
    place = f"{subject} {field}" if field else subject
    if first["type"] == "extra_forbidden":
        return f"{place}: there is no such field"
    text = first["msg"].removeprefix("Value error, ")
    given = "" if isinstance(first["input"], Mapping) else f", got {first['input']!r}"[:100]
    return f"{place}: {text[0].lower()}{text[1:]}{given}"


def parse_config(payload: Any) -> ConversationConfig:
    """A configuration; raises ContentError with one sentence."""
    if payload is None:
        return ConversationConfig()
    try:
        return ConversationConfig.model_validate(without_nulls(clean(payload)))
    except ValidationError as error:
        raise ContentError(sentence(error, "config")) from None


def parse_start(payload: Any) -> tuple[ConversationConfig, Fork | None]:
    """The workflow's argument, which may say what to fork; raises ContentError."""
    if not isinstance(payload, Mapping) or "fork" not in payload:
        return parse_config(payload), None
    rest = {name: value for name, value in payload.items() if name != "fork"}
    try:
        fork = Fork.model_validate(without_nulls(clean(payload["fork"])))
    except ValidationError as error:
        raise ContentError(sentence(error, "fork")) from None
    return parse_config(rest), fork


def _fields(payload: Any, subject: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(payload, Mapping):
        raise ContentError(f"{subject} takes an object, not {type(payload).__name__}")
    for name in payload:
        if name not in allowed:
            raise ContentError(f"{subject} has no field {name!r}; known are {', '.join(allowed)}")
    return dict(payload)


def _message_id(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and 0 < len(value) <= 200:
        return str(clean(value))
    raise ContentError("id must be a string of 1 to 200 characters")


def size_of(blocks: list[Block]) -> int:
    """UTF-8 bytes of blocks on the wire."""
    return len(canonical_json(blocks).encode())


def parse_user_message(payload: Any) -> UserMessage:
    """A string or `{"content", "id"?, "pinned"?}`; raises ContentError with one sentence."""
    if isinstance(payload, str):
        payload = {"content": payload}
    if payload is None:
        raise ContentError("a message needs text: a string, or an object with content")
    fields = _fields(payload, "a message", ("content", "id", "pinned"))
    content = to_blocks(fields.get("content"), USER_BLOCKS)
    if (size := size_of(content)) > MESSAGE_BYTES:
        raise ContentError(
            f"the message has {size:,} bytes, more than the {MESSAGE_BYTES:,} that fit a payload; "
            "split it, or send it with a client that has the archive"
        )
    pinned = fields.get("pinned")
    if pinned not in (None, True, False):
        raise ContentError("pinned must be true or false")
    return UserMessage(content=content, id=_message_id(fields.get("id")), pinned=bool(pinned))


def parse_time(value: Any) -> datetime | None:
    """An ISO 8601 time; one without an offset is taken as UTC. Raises ContentError."""
    if value is None:
        return None
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise ContentError(f"{str(value)[:60]!r} is not an ISO 8601 time") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def parse_imported(payload: Any, *, stored: bool = False) -> ImportedMessage:
    """`{"role", "content", "at"?}`; raises ContentError with one sentence.

    The content may have any size if its big blocks are going to be `stored`.
    """
    fields = _fields(payload, "an imported message", ("role", "content", "at"))
    role = fields.get("role")
    if role not in ("user", "assistant"):
        raise ContentError(f"unknown role {role!r}; known are user and assistant")
    content = to_blocks(fields.get("content"), IMPORT_BLOCKS)
    if not stored and (size := size_of(content)) > MESSAGE_BYTES:
        raise ContentError(f"the message has {size:,} bytes, more than {MESSAGE_BYTES:,}")
    return ImportedMessage(role=role, content=content, at=parse_time(fields.get("at")))


def parse_batch(payload: Any) -> ImportBatch:
    """`{"messages": [...], "id"?}`; raises ContentError that names the faulty message."""
    fields = _fields(payload, "an import", ("messages", "id"))
    items = fields.get("messages")
    if not isinstance(items, list) or not items:
        raise ContentError("an import needs messages, a list that is not empty")
    messages = []
    for number, item in enumerate(items, start=1):
        try:
            messages.append(parse_imported(item))
        except ContentError as error:
            raise ContentError(f"message {number}: {error}") from None
    if fault := time_fault(messages):
        raise ContentError(fault)
    return ImportBatch(messages=messages, id=_message_id(fields.get("id")))


def time_fault(messages: Sequence[ImportedMessage]) -> str | None:
    """Which message has a time before an earlier one's, in a sentence, or None."""
    latest: datetime | None = None
    for number, message in enumerate(messages, start=1):
        if message.at is None:
            continue
        if latest is not None and message.at < latest:
            return (
                f"message {number}: its time, {message.at.isoformat()}, is before that of an "
                "earlier message; sort them by time"
            )
        latest = message.at
    return None


def parse_pin(payload: Any) -> PinRequest:
    """The argument of `pin`: `{"seq": int}` or `{"text": str}`, with `"pinned": bool?`."""
    fields = _fields(payload, "pin", ("seq", "text", "pinned"))
    seq, text, pinned = fields.get("seq"), fields.get("text"), fields.get("pinned")
    if pinned not in (None, True, False):
        raise ContentError("pinned must be true or false")
    pinned = pinned is None or bool(pinned)
    if isinstance(seq, int) and not isinstance(seq, bool) and seq >= 0 and text is None:
        return PinRequest(what=seq, pinned=pinned)
    if isinstance(text, str) and text.strip() and seq is None:
        if len(text.encode()) > PIN_BYTES:
            raise ContentError(f"a pinned text may have {PIN_BYTES:,} bytes; pin less")
        return PinRequest(what=str(clean(text)), pinned=pinned)
    raise ContentError("pin takes either seq, a message's number, or text that is not blank")


def parse_verdict(payload: Any) -> Verdict:
    """The argument of `approve`; raises ContentError with one sentence."""
    fields = _fields(payload, "approve", tuple(Verdict.model_fields))
    try:
        return Verdict.model_validate(without_nulls(clean(fields)), strict=True)
    except ValidationError as error:
        raise ContentError(sentence(error, "approve")) from None


def parse_supersede(payload: Any) -> Supersede:
    """The argument of `supersede`; raises ContentError with one sentence."""
    fields = _fields(payload, "supersede", tuple(Supersede.model_fields))
    try:
        asked = Supersede.model_validate(without_nulls(clean(fields)), strict=True)
    except ValidationError as error:
        raise ContentError(sentence(error, "supersede")) from None
    size = sum(len(text.encode()) for text in (asked.content, *asked.facts))
    if size > INLINE_BYTES:
        raise ContentError(
            f"the text has {size:,} bytes; an entry of the memory may have {INLINE_BYTES:,}"
        )
    return asked


def reconfigured(config: ConversationConfig, payload: Any) -> ConversationConfig:
    """`config` with the given fields changed; those of `policy` one by one.

    A field that is null goes back to its default. Raises ContentError.
    """
    fields = _fields(payload, "configure", tuple(ConversationConfig.model_fields))
    if not fields:
        raise ContentError("configure needs at least one field to change")
    merged = config.model_dump(mode="json")
    if isinstance(fields.get("policy"), Mapping):
        fields["policy"] = {**merged["policy"], **fields["policy"]}
        fields["policy"] = {k: v for k, v in fields["policy"].items() if v is not None}
    merged.update(fields)
    return parse_config({k: v for k, v in merged.items() if v is not None})


def parse_compact(payload: Any) -> CompactRequest:
    """The argument of `compact`: nothing, or `{"instructions": str?, "session": bool?}`."""
    if payload is None:
        return CompactRequest()
    fields = _fields(payload, "compact", ("instructions", "session"))
    text, session = fields.get("instructions"), fields.get("session")
    if text is not None and not isinstance(text, str):
        raise ContentError("instructions must be a string")
    if session not in (None, True, False):
        raise ContentError("session must be true or false")
    if text and session:
        raise ContentError("compact takes either instructions or session, the end of a session")
    return CompactRequest(instructions=str(clean(text or "")), session=bool(session))
