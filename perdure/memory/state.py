"""The memory of a conversation: levels of entries, then the verbatim tail."""

from collections.abc import Mapping
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from perdure.memory.blocks import Block
from perdure.memory.elision import Elision
from perdure.memory.message import MESSAGE_OVERHEAD, Message, Role
from perdure.memory.observation import Observation

# The projection that a new conversation starts with; raised when its bytes would change.
MEMORY_VERSION = 1


class InvariantError(AssertionError):
    """The memory no longer covers every message exactly once: a fault in this package."""


class Pin(BaseModel):
    """A text that is never compacted: a pinned message that left the tail, or a note.

    `passing`: it stays as long as the turn that answers it.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    at: datetime
    tokens: int
    seq: int | None = None
    passing: bool = False

    @property
    def name(self) -> int | str:
        """What it is called by: the message's seq, or the note's text."""
        return self.text if self.seq is None else self.seq


class Memory(BaseModel):
    """Plain data, changed only by the functions of this package, each giving a new value.

    `observations` stand in the order of what they cover, so highest level first, and
    `messages` follow them without a gap. `raw_tokens` weighs every message ever accepted.
    `elided` holds by seq what messages of the tail show instead of all that they say;
    `light_from` are the message tokens below which nothing more is elided.
    """

    model_config = ConfigDict(frozen=True)

    version: int = MEMORY_VERSION
    observations: list[Observation] = []
    messages: list[Message] = []
    pins: list[Pin] = []
    next_seq: int = 0
    raw_tokens: int = 0
    elided: dict[int, Elision] = {}
    light_from: int = 0

    def level(self, number: int) -> list[Observation]:
        """The entries of one level, oldest first."""
        return [o for o in self.observations if o.level == number]

    @property
    def levels(self) -> list[int]:
        """The levels that hold entries, highest first."""
        return sorted(dict.fromkeys(o.level for o in self.observations), reverse=True)

    @property
    def pinned(self) -> list[int | str]:
        """What stays until it is unpinned: messages by their seq, notes by their text."""
        left = [p.name for p in self.pins if not p.passing]
        return [*left, *(m.seq for m in self.messages if m.pinned)]

    @property
    def message_tokens(self) -> int:
        """Tokens of the verbatim tail, as it is shown."""
        if not self.elided:
            return sum(m.weight for m in self.messages)
        return sum(self.weigh(m) for m in self.messages)

    def weigh(self, message: Message) -> int:
        """Tokens that a message of the tail takes in the context, where it may be elided."""
        elision = self.elided.get(message.seq)
        return message.weight if elision is None else elision.tokens + MESSAGE_OVERHEAD

    def level_tokens(self, number: int) -> int:
        """Tokens of one level above the messages."""
        return sum(o.weight for o in self.observations if o.level == number)


def check(memory: Memory) -> None:
    """Raise InvariantError unless the entries and messages tile `0..next_seq` exactly."""
    expected = 0
    above = None
    for entry in memory.observations:
        if entry.first_seq != expected or entry.last_seq < entry.first_seq:
            raise InvariantError(f"{entry.id} does not start at message {expected}")
        if above is not None and entry.level > above:
            raise InvariantError(f"{entry.id} stands after an entry of a lower level")
        expected, above = entry.last_seq + 1, entry.level
    for message in memory.messages:
        if message.seq != expected:
            raise InvariantError(f"message {message.seq} stands where {expected} should")
        expected += 1
    if expected != memory.next_seq:
        raise InvariantError(f"the memory ends at {expected}, not at {memory.next_seq}")


def checked(memory: Memory) -> Memory:
    """`memory`, after `check`."""
    check(memory)
    return memory


def append(
    memory: Memory,
    role: Role,
    content: list[Block],
    at: datetime,
    *,
    tokens: int | None = None,
    pinned: bool = False,
) -> Memory:
    """The memory with one more message at its end."""
    message = Message(
        seq=memory.next_seq, role=role, content=content, at=at, tokens=tokens, pinned=pinned
    )
    return checked(
        memory.model_copy(
            update={
                "messages": [*memory.messages, message],
                "next_seq": memory.next_seq + 1,
                "raw_tokens": memory.raw_tokens + message.weight,
            }
        )
    )


def with_counts(memory: Memory, counts: Mapping[int, int]) -> Memory:
    """The memory with token counts, by seq, put in where a message had only its estimate."""
    messages = []
    gained = 0
    for message in memory.messages:
        if message.seq in counts and message.tokens is None:
            counted = message.changed(tokens=counts[message.seq])
            gained += counted.weight - message.weight
            message = counted
        messages.append(message)
    return memory.model_copy(
        update={"messages": messages, "raw_tokens": memory.raw_tokens + gained}
    )


def mark(memory: Memory, seq: int, *, failed: bool = False, pinned: bool = False) -> Memory:
    """The memory with one message of the tail marked; unchanged when it is not there.

    A mark puts the whole message back in the place of its stubs.
    """
    messages = [
        m.changed(failed=failed or m.failed, pinned=pinned or m.pinned) if m.seq == seq else m
        for m in memory.messages
    ]
    elided = {s: elision for s, elision in memory.elided.items() if s != seq}
    return memory.model_copy(update={"messages": messages, "elided": elided})


def pin(memory: Memory, text: str, at: datetime, tokens: int) -> Memory:
    """The memory with a note that is never compacted; pinned again, it changes nothing."""
    if any(held.seq is None and held.text == text for held in memory.pins):
        return memory
    note = Pin(text=text, at=at, tokens=tokens)
    return memory.model_copy(update={"pins": [*memory.pins, note]})


def unpin(memory: Memory, what: int | str, *, open_seq: int | None = None) -> Memory:
    """The memory without one of its `pinned`; the same object when it is none.

    What was compacted of the turn in progress, from `open_seq` on, stays until that ends.
    """
    if what not in memory.pinned:
        return memory
    messages = [m.changed(pinned=False) if m.seq == what else m for m in memory.messages]
    asked = isinstance(what, int) and open_seq is not None and what >= open_seq
    pins = [
        p.model_copy(update={"passing": True}) if p.name == what else p
        for p in memory.pins
        if asked or p.name != what
    ]
    return memory.model_copy(update={"messages": messages, "pins": pins})


def unpin_passing(memory: Memory) -> Memory:
    """The memory without what was pinned for a turn that has ended."""
    if not any(p.passing for p in memory.pins):
        return memory
    return memory.model_copy(update={"pins": [p for p in memory.pins if not p.passing]})
