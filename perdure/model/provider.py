"""What a provider of models is asked and what it gives back."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from perdure.contract import Usage
from perdure.memory.blocks import Block
from perdure.memory.extract.importance import Importance, importance
from perdure.memory.message import Message
from perdure.memory.observation import Method, Observation
from perdure.memory.plan import Part
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import Context

OnText = Callable[[str], None]
"""Takes each new piece of the reply; an empty piece says only that the call is alive."""


@dataclass(frozen=True, slots=True)
class ReplyCall:
    """Asks for the next message; `max_tokens` bounds the output.

    `tools` are what it may call, as the Messages API takes them. `background` is a text that is
    sent behind what the user said last, and is no part of the context.
    """

    model: str
    context: Context
    max_tokens: int
    tools: Sequence[Mapping[str, Any]] = ()
    background: str = ""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What the model said: blocks in Anthropic form, as they were received, without nulls.

    `content` may be empty and `stop_reason` may be a word that we do not know. `model` is the
    name that the provider reports, which can be more exact than the one asked for.
    """

    content: list[Block]
    stop_reason: str
    usage: Usage
    model: str


@dataclass(frozen=True, slots=True)
class SummaryCall:
    """Asks for one entry of `level`: from messages at level 1, from entries above it.

    `target_tokens` is what the result should weigh, `source_tokens` what its sources weigh now (0:
    unknown, so there is no upper limit), and `window` the tokens of input that the model takes.
    `previous` is the end of the entry before, so that the new one can go on from it, and
    `instructions` are the user's for the summariser. `schema` and `template` are the user's own
    form of a summary (see MemoryPolicy). `fault` tells what was wrong with an earlier answer,
    `importance` weighs the sentences of an extract. With `thinking`
    the model is asked to think before it writes. All but the first four are optional.
    """

    model: str
    level: int
    target_tokens: int
    sources: list[Message] | list[Observation]
    previous: str = ""
    instructions: str = ""
    schema: dict[str, Any] | None = None
    template: str = ""
    window: int = 192_000
    source_tokens: int = 0
    fault: str = ""
    thinking: bool = False
    importance: Importance = importance

    @classmethod
    def of(
        cls,
        part: Part,
        policy: MemoryPolicy,
        sources: list[Message] | list[Observation],
        *,
        model: str,
        previous: str,
        window: int,
        importance: Importance,
    ) -> Self:
        """Asks for `part` as a policy wants its entries; `sources` are what it is made from."""
        return cls(
            model=model,
            level=part.level,
            target_tokens=part.target_tokens,
            sources=sources,
            previous=previous,
            instructions=policy.instructions,
            schema=policy.summary_schema,
            template=policy.summary_template,
            window=window,
            source_tokens=part.source_tokens,
            thinking=policy.reflect_thinking and part.level > 1,
            importance=importance,
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """The text of an entry and how it was made; `usage` is None where no model was called.

    `answer` holds the fields that a model's text was written from.
    """

    content: str
    method: Method
    model: str
    prompt_version: str
    usage: Usage | None = None
    answer: dict[str, Any] | None = None


class Stopped(asyncio.CancelledError):
    """A call that was cancelled while it was answered; `usage` is what was booked until then.

    Providers book the input at the beginning and most of the output at the end.
    """

    def __init__(self, usage: Usage) -> None:
        super().__init__()
        self.usage = usage


class Provider(Protocol):
    """Both calls are tried once: who calls decides about trying again."""

    async def reply(self, call: ReplyCall, on_text: OnText) -> ModelReply:
        """The next message of the conversation. Raises ModelError, and Stopped if cancelled."""

    async def count(self, call: ReplyCall) -> int | None:
        """Tokens of input that a reply would book, None where nobody can tell."""

    async def summarise(self, call: SummaryCall) -> Summary:
        """A shorter text of the sources. Raises ModelError; never returns a doubtful text."""
