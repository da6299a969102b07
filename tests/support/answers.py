"""What the Messages API may say: whole answers, and every way that they go wrong."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Block = dict[str, Any]
Body = dict[str, Any]
PIECE = 24
"""Characters of a text delta."""


@dataclass(frozen=True)
class Answer:
    """One answer. Without `raw` it is a message, streamed or not as the request asks.

    `delay` comes before the first byte: seconds, or an event to wait for. `cut_after` and
    `reset_after` count events of the stream; `hold_at` waits for `held` before that event.
    `error` ends the stream in the place of its last two events. `usage` adds to or replaces
    the counted figures. `escapes` writes the events in ASCII.
    """

    content: Sequence[Block] = ()
    stop_reason: str | None = "end_turn"
    usage: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    delay: float | asyncio.Event | None = None
    cut_after: int | None = None
    reset_after: int | None = None
    hold_at: int | None = None
    held: asyncio.Event | None = None
    error: Body | None = None
    escapes: bool = False
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None
    content_type: str = "application/json"

    def but(self, **changes: Any) -> "Answer":
        """The same answer with changes."""
        return replace(self, **changes)


def text(said: str, **changes: Any) -> Answer:
    """A message of one text."""
    return Answer(content=[{"type": "text", "text": said}]).but(**changes)


def notes(*told: tuple[str, str], **fields: Any) -> Answer:
    """A structured summary: the user said each text on its day, and what `fields` say."""
    entries = [{"day": day, "speaker": "user", "text": said} for day, said in told]
    gist = fields.pop("gist", told[0][1] if told else "They talked.")
    return text(json.dumps({"gist": gist, "entries": entries, **fields}, ensure_ascii=False))


def blocks(*content: Block, stop_reason: str | None = None, **changes: Any) -> Answer:
    """A message of any blocks; calls stop with `tool_use` unless told otherwise."""
    calls = any(block.get("type") == "tool_use" for block in content)
    reason = stop_reason or ("tool_use" if calls else "end_turn")
    return Answer(content=content, stop_reason=reason).but(**changes)


def fails(status: int, kind: str, sentence: str, **headers: str) -> Answer:
    """An error with the body that the real API gives it; headers with _ for -."""
    return Answer(
        status=status,
        raw=json.dumps(_error(kind, sentence)),
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


def _error(kind: str, sentence: str) -> Body:
    return {
        "type": "error",
        "error": {"type": kind, "message": sentence},
        "request_id": "req_011CdufXo8Y2LVfY2veyuQWG",
    }


def overloaded() -> Answer:
    """Status 529."""
    return fails(529, "overloaded_error", "Overloaded")


def rate_limited(retry_after: str | None = None) -> Answer:
    """Status 429, with `retry-after` if given: seconds, or a date."""
    sentence = "This request would exceed your organization's rate limit."
    headers = {} if retry_after is None else {"retry_after": retry_after}
    return fails(429, "rate_limit_error", sentence, **headers)


def wrong_key() -> Answer:
    """Status 401."""
    return fails(401, "authentication_error", "invalid x-api-key")


def unknown_model(name: str) -> Answer:
    """Status 404, as for a misspelt model."""
    return fails(404, "not_found_error", f"model: {name}")


def bad_request(sentence: str = "messages: at least one message is required") -> Answer:
    """Status 400."""
    return fails(400, "invalid_request_error", sentence)


def broken_json() -> Answer:
    """Status 200 with half an object."""
    return Answer(raw='{"id": "msg_01", "type": "message", "content": [{"ty')


def html(status: int = 200) -> Answer:
    """A web page, as from a proxy or a wrong address."""
    return Answer(
        status=status,
        raw="<!doctype html><html><body><h1>Welcome</h1></body></html>",
        content_type="text/html; charset=utf-8",
    )


def error_event(kind: str = "overloaded_error", said: str = "Once upon a time") -> Answer:
    """A stream with status 200 that turns into an error."""
    return text(said, error=_error(kind, kind.replace("_", " ")))


def refusal(said: str = "") -> Answer:
    """The model declines."""
    return Answer(content=[{"type": "text", "text": said}] if said else (), stop_reason="refusal")


def raw_events(*sent: Body) -> Answer:
    """A stream of exactly these events."""
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in sent]
    return Answer(raw="".join(lines), content_type="text/event-stream")


def failing_summaries(slow: float) -> dict[str, Callable[[Body], Answer]]:
    """Every way that people have seen a summariser fail, by its name; given the request.

    `slow` is how many seconds the slow one takes to fail.
    """
    sentence = "The conversation is about a bakery and its oven."
    good = notes(gist=sentence)
    return {
        "400": lambda _: bad_request(),
        "401": lambda _: wrong_key(),
        "429 with retry-after": lambda _: rate_limited("1"),
        "529": lambda _: overloaded(),
        "500": lambda _: fails(500, "api_error", "Internal server error"),
        "reset": lambda _: good.but(reset_after=0),
        "stream cut": lambda _: good.but(cut_after=4),
        "error in the stream": lambda _: error_event(said=sentence),
        "error text": lambda _: text("Error generating summary: overloaded"),
        "empty": lambda _: blocks(),
        "blank": lambda _: text(" \n\t"),
        "max_tokens": lambda _: good.but(stop_reason="max_tokens"),
        "half an object": lambda _: text('{"gist": "The conversation is'),
        "refusal": lambda _: refusal("I would rather not."),
        "repetitive": lambda _: notes(gist=f"{sentence}\n" * 60),
        "as long as its input": lambda r: notes(("2026-03-01", _asked(r)), gist="All of it."),
        "broken JSON": lambda _: broken_json(),
        "200 text/html": lambda _: html(),
        "slow": lambda _: overloaded().but(delay=slow),
    }


def _asked(request: Body) -> str:
    content = request["messages"][-1]["content"]
    return content if isinstance(content, str) else str(content[-1]["text"])


def message(answer: Answer, request: Body) -> Body:
    """The answer in one piece."""
    return {
        "id": "msg_011CcmZuePqiUbLgsWm6JMyp",
        "type": "message",
        "role": "assistant",
        "model": answer.model or request.get("model"),
        "content": list(answer.content),
        "stop_reason": answer.stop_reason,
        "stop_sequence": None,
        "stop_details": None,
        "usage": _usage(answer, request),
    }


def events(answer: Answer, request: Body) -> list[Body]:
    """The answer as the events of a stream, with a ping in it."""
    whole = message(answer, request)
    output = whole["usage"]["output_tokens"]
    start = {**whole, "content": [], "stop_reason": None}
    start["usage"] = {**whole["usage"], "output_tokens": min(1, output)}
    sent: list[Body] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(answer.content):
        sent.extend(_block_events(index, block))
    ending = {"stop_reason": answer.stop_reason, "stop_sequence": None}
    if answer.error is not None:
        return [*sent, answer.error]
    return [
        *sent,
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": output}},
        {"type": "message_stop"},
    ]


def _usage(answer: Answer, request: Body) -> Body:
    return {
        "input_tokens": len(json.dumps(request)) // 4,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": len(json.dumps(list(answer.content))) // 4,
        "service_tier": "standard",
        **answer.usage,
    }


def _block_events(index: int, block: Block) -> list[Body]:
    begun, deltas = _parts(block)
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _parts(block: Block) -> tuple[Block, list[Body]]:
    """How the API begins a block, and the deltas that complete it."""
    kind = block.get("type")
    if kind == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
        cited = block.get("citations")
        begun = {**block, "text": ""} | ({"citations": []} if cited else {})
        return begun, [
            *({"type": "citations_delta", "citation": c} for c in cited or []),
            *deltas,
        ]
    if kind == "thinking":
        return {**block, "thinking": "", "signature": ""}, [
            *({"type": "thinking_delta", "thinking": p} for p in _pieces(block["thinking"])),
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        written = json.dumps(block["input"], ensure_ascii=False)
        return {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": p} for p in ["", *_pieces(written)]
        ]
    if kind == "compaction":
        delta = {"type": "compaction_delta", "content": block["content"]}
        return {**block, "content": None}, [delta]
    return block, []


def _pieces(whole: str) -> list[str]:
    return [whole[i : i + PIECE] for i in range(0, len(whole), PIECE)]
