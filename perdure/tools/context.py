"""What a tool is given beside its arguments, and how it says that something is wrong."""

from dataclasses import dataclass
from typing import Protocol


class ToolError(Exception):
    """Raised by a tool for the model to read: its text becomes the result, and nothing is retried.

    Any other exception is taken for a passing fault, and the tool is tried again.
    """


class OwnConversation(Protocol):
    """What a tool can do with the conversation that called it."""

    @property
    def id(self) -> str:
        """The conversation's id."""

    async def pin(self, text: str) -> None:
        """Never compact `text`, from the next turn on.

        Raises ToolError for a blank or long one, and when too much is pinned already.
        """

    async def recall(self, question: str) -> str:
        """Dated excerpts of what has left the context and fits a question, about 1,000 tokens."""

    async def expand(self, what: str) -> str:
        """The messages that an entry of the memory, or a range such as "12-20", stands for.

        As many as fit about 2,000 tokens; the last line tells how to go on. Raises ToolError.
        """


@dataclass(frozen=True, slots=True)
class ToolContext:
    """One call of a tool; a parameter of this type gets it, and the model does not see it.

    `idempotency_key` has 32 hexadecimal digits, the same for every attempt at this call, also
    after the worker was lost, and for no other call: give it to what must happen only once.
    `attempt` counts from 1.
    """

    conversation: OwnConversation
    turn: int
    tool_use_id: str
    idempotency_key: str
    attempt: int
