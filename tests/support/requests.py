"""The rules of the Messages API that a long conversation tends to break, checked on a request."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perdure.model.tokens import count, count_blocks

Request = Mapping[str, Any]
MARKS = 4
# JSON's escape of NUL, and not the same letters behind an escaped backslash.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_UNMARKABLE = ("thinking", "redacted_thinking")


def violations(request: Request, window: int | None = None) -> list[str]:
    """One sentence for each rule that the request breaks; `window` is in input tokens."""
    return [
        *_encoding(request),
        *_system(request),
        *_shape(request),
        *_texts(request),
        *_pairs(request),
        *_marks(request),
        *_size(request, window),
    ]


def _content(message: Request) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _messages(request: Request) -> list[Any]:
    messages = request.get("messages")
    return messages if isinstance(messages, list) else []


def _system_blocks(request: Request) -> list[Any]:
    return _content({"content": request.get("system") or []})


def _encoding(request: Request) -> Iterator[str]:
    try:
        text = json.dumps(request, ensure_ascii=False, allow_nan=False).encode().decode()
    except (ValueError, TypeError) as error:
        yield f"the body is not valid UTF-8 JSON: {error}"
    else:
        if _NUL.search(text):
            yield "a text holds a NUL character"


def _system(request: Request) -> Iterator[str]:
    if not _system_blocks(request):
        yield "there is no system prompt"


def _shape(request: Request) -> Iterator[str]:
    messages = _messages(request)
    if not messages:
        yield "there are no messages"
        return
    if messages[0].get("role") != "user":
        yield "the first message is not the user's"
    for number, message in enumerate(messages):
        if message.get("role") not in ("user", "assistant"):
            yield f"message {number} has the role {message.get('role')!r}"
        if not _content(message):
            yield f"message {number} has no content"
    last = messages[-1]
    if last.get("role") == "assistant" and (blocks := _content(last)):
        text = str(blocks[-1].get("text", "")) if blocks[-1].get("type") == "text" else ""
        if text != text.rstrip():
            yield "the last message is the assistant's and ends in white space"


def _every_block(request: Request) -> Iterator[tuple[str, Any]]:
    for number, message in enumerate(_messages(request)):
        for block in _content(message):
            yield f"message {number}", block
            if isinstance(block.get("content"), list):
                yield from ((f"message {number}", inner) for inner in block["content"])
    yield from (("the system prompt", block) for block in _system_blocks(request))


def _texts(request: Request) -> Iterator[str]:
    for place, block in _every_block(request):
        if block.get("type") == "text" and not str(block.get("text") or "").strip():
            yield f"{place} has a blank text block"
        if block.get("type") == "thinking" and not block.get("signature"):
            yield f"{place} has thinking without its signature"


def _ids(message: Request, kind: str, key: str) -> list[str]:
    return [str(b.get(key)) for b in _content(message) if b.get("type") == kind]


def _pairs(request: Request) -> Iterator[str]:
    messages = _messages(request)
    calls = [_ids(m, "tool_use", "id") if m.get("role") == "assistant" else [] for m in messages]
    results = [_ids(m, "tool_result", "tool_use_id") for m in messages]
    yield from _repeated("tool_use", [i for ids in calls for i in ids])
    yield from _repeated("tool_result", [i for ids in results for i in ids])
    for number, message in enumerate(messages):
        before = calls[number - 1] if number else []
        after = results[number + 1] if number + 1 < len(messages) else []
        for i in results[number]:
            if i not in before:
                yield f"message {number} answers {i}, which the message before does not call"
        for i in calls[number]:
            if i not in after:
                yield f"message {number} calls {i}, which the message after does not answer"
        kinds = [b.get("type") == "tool_result" for b in _content(message)]
        if kinds != sorted(kinds, reverse=True):
            yield f"message {number} has a tool_result behind other blocks"


def _repeated(kind: str, ids: Sequence[str]) -> Iterator[str]:
    for i in dict.fromkeys(ids):
        if ids.count(i) > 1:
            yield f"{kind} {i} occurs {ids.count(i)} times"


def _marks(request: Request) -> Iterator[str]:
    marked = [(place, block) for place, block in _every_block(request) if "cache_control" in block]
    marked += [("tools", tool) for tool in request.get("tools") or [] if "cache_control" in tool]
    number = len(marked) + ("cache_control" in request)
    if number > MARKS:
        yield f"there are {number} cache marks, more than {MARKS}"
    for place, block in marked:
        if block.get("type") in _UNMARKABLE:
            yield f"{place} has a cache mark on {block['type']}"
        elif block.get("type") == "text" and not str(block.get("text") or "").strip():
            yield f"{place} has a cache mark on an empty block"


def _size(request: Request, window: int | None) -> Iterator[str]:
    if window is None:
        return
    tokens = count_blocks(_system_blocks(request)) + sum(
        count_blocks(_content(m)) for m in _messages(request)
    )
    if tools := request.get("tools"):
        tokens += count(json.dumps(tools, ensure_ascii=False))
    if tokens > window:
        yield f"the request holds {tokens:,} tokens, more than the window of {window:,}"
