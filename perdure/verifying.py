"""Is what a conversation holds, byte for byte, what was imported into it?"""

from collections.abc import AsyncIterator, Sequence

from pydantic import BaseModel

from perdure.contract import ImportedMessage
from perdure.memory.message import Message
from perdure.memory.wire import canonical_json

TOLD = 20
"""How many differences are told in words."""


class Verified(BaseModel):
    """Messages compared by their place, with role, content and, where the source has it, time.

    `missing` are those of the source that the conversation has not got; `extra` came after
    the last of them, which is no fault.
    """

    equal: int = 0
    different: int = 0
    missing: int = 0
    extra: int = 0
    differences: list[str] = []

    @property
    def identical(self) -> bool:
        """Whether every message of the source is there as it was."""
        return not self.different and not self.missing


async def compare(
    messages: AsyncIterator[Message], source: Sequence[ImportedMessage], *, first_seq: int = 0
) -> Verified:
    """`messages`, from `first_seq` on and with their big blocks expanded, against their source."""
    found = Verified()
    met = 0
    async for message in messages:
        if met == len(source):
            found.extra += 1
            continue
        if message.seq != first_seq + met:
            # A client without an archive begins later: what it cannot see is missing.
            break
        fault = _fault(message, source[met])
        met += 1
        if fault is None:
            found.equal += 1
            continue
        found.different += 1
        if len(found.differences) < TOLD:
            found.differences.append(f"message {message.seq}: {fault}")
    found.missing = len(source) - met
    return found


def _fault(message: Message, source: ImportedMessage) -> str | None:
    if message.role != source.role:
        return f"the role is {message.role}, in the source {source.role}"
    if source.at is not None and message.at != source.at:
        return f"the time is {message.at.isoformat()}, in the source {source.at.isoformat()}"
    ours, theirs = canonical_json(message.content), canonical_json(source.content)
    if ours == theirs:
        return None
    pairs = enumerate(zip(ours, theirs, strict=False))
    place = next((i for i, (a, b) in pairs if a != b), min(len(ours), len(theirs)))
    return (
        f"the content differs from character {place:,} on: {ours[place : place + 40]!r}, "
        f"in the source {theirs[place : place + 40]!r}"
    )
