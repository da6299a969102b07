"""Puts the events of a streamed message together, byte for byte as they were sent.

The SDK's own accumulator knows a fixed set of blocks: it loses the input of MCP calls and
whatever the API has learnt since.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from perdure.contract import Usage
from perdure.memory.blocks import Block, clean
from perdure.model.provider import ModelReply


class BrokenStream(ValueError):
    """The events do not make a message."""


class Assembly:
    """One message in the making: feed it with every event, then ask for `reply`."""

    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        self._blocks: dict[int, Block] = {}
        self._inputs: dict[int, str] = {}
        self._stop_reason: str | None = None
        self._usage: dict[str, Any] = {}

    def feed(self, event: Mapping[str, Any]) -> str:
        """Takes one event in; gives the text that it adds to the reply, often none.

        Raises BrokenStream when it refers to a block that was never started. Unknown events
        are skipped: the API announces that there will be some.
        """
        kind = event.get("type")
        if kind == "message_start":
            self._message = _mapping(event.get("message"))
            self._count(self._message.get("usage"))
        elif kind == "content_block_start":
            self._blocks[_index(event)] = _mapping(event.get("content_block"))
        elif kind == "content_block_delta":
            return self._extend(_index(event), _mapping(event.get("delta")))
        elif kind == "message_delta":
            self._stop_reason = _mapping(event.get("delta")).get("stop_reason")
            self._count(event.get("usage"))
        return ""

    @property
    def usage(self) -> Usage:
        """What has been booked so far."""
        return booked(self._usage)

    @property
    def is_complete(self) -> bool:
        """Whether the model has said why it stopped."""
        return self._message is not None and self._stop_reason is not None

    def reply(self) -> ModelReply:
        """The whole message. Raises BrokenStream when the input of a call is no JSON."""
        assert self._message is not None
        content = [self._block(index) for index in sorted(self._blocks)]
        return whole(
            {
                "content": [block for block in content if block is not None],
                "stop_reason": self._stop_reason,
                "usage": self._usage,
                "model": self._message.get("model"),
            }
        )

    def _extend(self, index: int, delta: Mapping[str, Any]) -> str:
        block = self._blocks.get(index)
        if block is None:
            raise BrokenStream(f"block {index} was never started")
        if delta.get("type") == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + str(delta.get("partial_json", ""))
            return ""
        if delta.get("type") == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta.get("citation")]
            return ""
        for key, value in delta.items():
            if key != "type":
                before = block.get(key)
                joins = isinstance(before, str) and isinstance(value, str)
                block[key] = f"{before}{value}" if joins else value
        return str(delta.get("text", "")) if delta.get("type") == "text_delta" else ""

    def _block(self, index: int) -> Block | None:
        """A finished block; None for a call whose input `max_tokens` has cut in two."""
        block, written = self._blocks[index], self._inputs.get(index)
        if not written:
            return block
        try:
            return {**block, "input": json.loads(written, parse_constant=_no_number)}
        except (json.JSONDecodeError, RecursionError):
            if self._stop_reason == "max_tokens":
                return None
            raise BrokenStream(f"the input of block {index} is not JSON") from None

    def _count(self, usage: object) -> None:
        # Figures of later events are totals and replace the earlier ones.
        self._usage.update({k: v for k, v in _mapping(usage).items() if v is not None})


def whole(message: Mapping[str, Any]) -> ModelReply:
    """A message as the API sends it in one piece. Raises BrokenStream if it is none."""
    content = message.get("content")
    stop_reason = message.get("stop_reason")
    if not isinstance(content, list) or not isinstance(stop_reason, str):
        raise BrokenStream("a message needs content and a stop_reason")
    if not all(isinstance(block, Mapping) for block in content):
        raise BrokenStream("content must be a list of blocks")
    return ModelReply(
        content=[_sendable(block) for block in content],
        stop_reason=stop_reason,
        usage=booked(_mapping(message.get("usage"))),
        model=str(message.get("model") or ""),
    )


def booked(usage: Mapping[str, Any]) -> Usage:
    """The figures of the API in our words."""
    return Usage(
        input=_number(usage.get("input_tokens")),
        output=_number(usage.get("output_tokens")),
        cache_read=_number(usage.get("cache_read_input_tokens")),
        cache_write=_number(usage.get("cache_creation_input_tokens")),
        searches=_number(_mapping(usage.get("server_tool_use")).get("web_search_requests")),
    )


def _sendable(block: Mapping[str, Any]) -> Block:
    """`block` without what the request side refuses.

    That is null fields, broken texts, and a call whose input is no object.
    """
    try:
        # JSON joins the halves of a character that two events have brought as escapes.
        joined: Block = json.loads(json.dumps(block), parse_constant=_no_number)
        result: Block = clean(_without_nulls(joined))
    except RecursionError:
        raise BrokenStream("a block is nested too deeply") from None
    if str(block.get("type")).endswith("tool_use"):
        result["input"] = _object(result.get("input"))
    return result


def _object(given: object) -> dict[str, Any]:
    """The input of a call; other endpoints write it as a text, or leave it out."""
    if isinstance(given, str):
        with suppress(ValueError):
            given = json.loads(given or "{}", parse_constant=_no_number)
    if given is None or isinstance(given, dict):
        return given or {}
    return {"input": given}


def _no_number(name: str) -> None:
    raise BrokenStream(f"{name} is not JSON")


def _without_nulls(value: Any) -> Any:
    """Without nulls anywhere but in the input of a call, where they mean something."""
    if isinstance(value, Mapping):
        return {
            k: v if k == "input" else _without_nulls(v) for k, v in value.items() if v is not None
        }
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise BrokenStream("an event names no block")
    return index


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
