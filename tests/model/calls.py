"""Calls for the tests of the providers."""

from datetime import UTC, datetime, timedelta
from typing import Any

from perdure.memory.blocks import Block
from perdure.memory.message import Message, Role
from perdure.memory.observation import Observation
from perdure.memory.project import CLOSING, OPENING, Context
from perdure.model.provider import ReplyCall, SummaryCall

MODEL = "claude-sonnet-5-5"
SYSTEM = "You are the notebook of a baker."
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def user(*blocks: Block | str) -> dict[str, object]:
    return {"role": "user", "content": [text_block(b) if isinstance(b, str) else b for b in blocks]}


def assistant(*blocks: Block | str) -> dict[str, object]:
    return {**user(*blocks), "role": "assistant"}


def context(
    *messages: dict[str, object], memory: tuple[str, ...] = (), system: str = SYSTEM
) -> Context:
    """A context of `messages`, the first of which the memory's entries are put before."""
    turns: list[dict[str, Any]] = [dict(m) for m in messages]
    blocks = [text_block(t) for t in (OPENING, *memory, CLOSING)] if memory else []
    if blocks:
        turns[0]["content"] = blocks + turns[0]["content"]
    return Context(system=system, messages=turns, tokens=100, memory_blocks=len(blocks))


def reply_call(*messages: dict[str, object], memory: tuple[str, ...] = ()) -> ReplyCall:
    return ReplyCall(MODEL, context(*(messages or (user("Hello."),)), memory=memory), 1_000)


def message(seq: int, text: str | list[Block], role: Role = "user", **fields: Any) -> Message:
    content = [text_block(text)] if isinstance(text, str) else text
    return Message(
        seq=seq, role=role, content=content, at=START + timedelta(hours=12 * seq), **fields
    )


def observation(number: int, content: str) -> Observation:
    return Observation(
        id=f"L1.{number}-{number}",
        level=1,
        content=content,
        start_time=START + timedelta(days=number),
        end_time=START + timedelta(days=number, hours=5),
        first_seq=number,
        last_seq=number,
        message_count=1,
        original_tokens=500,
        compressed_tokens=100,
        created_at=START,
        method="model",
        model=MODEL,
        prompt_version="observe-1",
        identity="",
    )


def observe_call(*messages: Message, **fields: Any) -> SummaryCall:
    given: dict[str, Any] = {"model": MODEL, "level": 1, "target_tokens": 100, **fields}
    return SummaryCall(sources=list(messages) or [message(0, "My cat is called Pixel.")], **given)
