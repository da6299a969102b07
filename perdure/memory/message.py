"""One message of a conversation, as it was accepted."""

from datetime import datetime
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

from perdure.memory.blocks import Block, to_text, upper_estimate
from perdure.memory.wire import canonical_json

Role = Literal["user", "assistant"]
# Role names and separators that the wire form adds to each message.
MESSAGE_OVERHEAD = 4


class Message(BaseModel):
    """A message at level 0. It is never rewritten: counts and marks make a new value.

    `seq` is its place in the conversation, from 0 without gaps; `at` is aware; `tokens`
    is None until an activity has counted it; `failed` keeps it in the log and out of the
    context.
    """

    model_config = ConfigDict(frozen=True)

    seq: int
    role: Role
    content: list[Block]
    at: datetime
    tokens: int | None = None
    pinned: bool = False
    failed: bool = False

    @cached_property
    def weight(self) -> int:
        """Tokens it takes in a request: counted, or else an estimate that is never too low."""
        if self.failed:
            return 0
        tokens = upper_estimate(self.content) if self.tokens is None else self.tokens
        return tokens + MESSAGE_OVERHEAD

    @cached_property
    def size(self) -> int:
        """UTF-8 bytes of its content in the workflow state."""
        return len(canonical_json(self.content).encode())

    @property
    def text(self) -> str:
        """The content as a person reads it."""
        return to_text(self.content)

    def changed(self, **update: Any) -> Self:
        """A copy with other counts or marks."""
        copy = self.model_copy(update=update)
        copy.__dict__.pop("weight", None)
        return copy
