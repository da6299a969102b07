"""The body of a request to the Messages API, from a context."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from perdure.errors import RequestRefused
from perdure.memory.blocks import Block, is_blank, to_text
from perdure.memory.project import Context
from perdure.memory.thinking import is_thinking
from perdure.model.server_tools import paired

Body = dict[str, Any]
# The Messages API takes 32 MB.
LARGEST = 32_000_000
_MARK = {"type": "ephemeral"}
# Blocks that may carry a cache mark; thinking may not.
_MARKABLE = ("text", "image", "document", "search_result", "tool_use", "tool_result")
# Blocks whose own content is a list of blocks.
_NESTING = ("tool_result", "mcp_tool_result", "document", "search_result")


def reply_request(
    model: str,
    context: Context,
    max_tokens: int,
    tools: Sequence[Mapping[str, Any]] = (),
    background: str = "",
) -> Body:
    """A streaming request for the next message, with three cache marks at most.

    The marks stand where the prefix stays the same from one request to the next: after the
    tools and the system prompt, after the last entry of the memory (an observation is added
    behind it) and at the end of the conversation. Marks that came in with the messages are
    dropped, and so is what the API refuses: blank texts, empty messages, white space at the end
    of a prefill, calls of the server's own tools that were given up. A `background` is put behind
    what the user said last, and at the end behind the last mark, since the next request may have
    another. Raises RequestRefused if the body is over 32 MB.
    """
    messages: list[Body] = [
        {"role": str(m["role"]), "content": _clean(cast("Sequence[Block]", m["content"]))}
        for m in context.messages
    ]
    if context.memory_blocks > 1:
        # The last of the memory's blocks closes it and moves with every new entry.
        _mark(messages[0]["content"][: context.memory_blocks - 1])
    messages = paired(messages)
    place = last_words(context)[0]
    spoken = messages[place]["content"] if background and place is not None else None
    messages = [m for m in messages if m["content"]]
    if messages:
        _mark(messages[-1]["content"])
        if messages[-1]["role"] == "assistant":
            _trim(messages[-1]["content"])
    if spoken is not None:
        spoken.append({"type": "text", "text": background})
    body: Body = {"model": model, "max_tokens": max_tokens, "messages": messages, "stream": True}
    if tools:
        body["tools"] = [dict(tool) for tool in tools]
    if context.system.strip():
        body["system"] = [{"type": "text", "text": context.system, "cache_control": _MARK}]
    elif tools:
        body["tools"][-1]["cache_control"] = _MARK
    return checked(body)


def last_words(context: Context) -> tuple[int | None, str]:
    """Which message has the user's last words, and those; results of tools are none."""
    for number in range(len(context.messages) - 1, -1, -1):
        message = context.messages[number]
        blocks = cast("Sequence[Block]", message["content"])
        said = blocks[context.memory_blocks :] if number == 0 else blocks
        text = to_text([block for block in said if block.get("type") == "text"])
        if message["role"] == "user" and text.strip():
            return number, text
    return None, ""


def checked(body: Body) -> Body:
    """`body`, unless it is larger than the API takes: then raises RequestRefused."""
    size = len(json.dumps(body, ensure_ascii=False).encode())
    if size > LARGEST:
        raise RequestRefused(
            f"the request has {size:,} bytes, more than the {LARGEST:,} that the API takes",
            kind="request_too_large",
            retryable=False,
            status=413,
        )
    return body


def without_thinking(body: Body) -> Body:
    """The same request with all thinking left out whole."""
    messages = []
    for message in body["messages"]:
        content = [b for b in message["content"] if not is_thinking(b)]
        if content:
            messages.append({**message, "content": content})
    return {**body, "messages": messages}


def _clean(blocks: Sequence[Mapping[str, Any]]) -> list[Block]:
    cleaned = []
    for block in blocks:
        if is_blank(block):
            continue
        kept = {k: v for k, v in block.items() if k != "cache_control"}
        if kept.get("type") in _NESTING and isinstance(kept.get("content"), list):
            kept["content"] = _clean(kept["content"])
            if not kept["content"]:
                del kept["content"]
        cleaned.append(kept)
    return cleaned


def _mark(blocks: list[Block]) -> None:
    """Puts the mark on the last block of `blocks` that may carry one."""
    for block in reversed(blocks):
        if block.get("type") in _MARKABLE:
            block["cache_control"] = _MARK
            return


def _trim(blocks: list[Block]) -> None:
    if blocks[-1].get("type") == "text":
        blocks[-1]["text"] = str(blocks[-1]["text"]).rstrip()
