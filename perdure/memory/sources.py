"""What a planned part is made from."""

from collections.abc import Sequence

from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.plan import Part
from perdure.memory.state import Memory
from perdure.memory.wire import sha256

PREVIOUS_CHARS = 600


class StalePart(ValueError):
    """The part's range no longer stands in the memory as it did when it was planned."""


def sources(memory: Memory, part: Part) -> list[Message] | list[Observation]:
    """The messages (level 1) or entries (above) that `part` is made from.

    Raises StalePart when they do not stand there any more.
    """
    if part.level == 1:
        found = [m for m in memory.messages if part.first_seq <= m.seq <= part.last_seq]
        if len(found) == part.last_seq - part.first_seq + 1:
            return found
    else:
        entries = [
            o
            for o in memory.level(part.level - 1)
            if part.first_seq <= o.first_seq and o.last_seq <= part.last_seq
        ]
        if entries and (entries[0].first_seq, entries[-1].last_seq) == (
            part.first_seq,
            part.last_seq,
        ):
            return entries
    raise StalePart(f"messages {part.first_seq}-{part.last_seq} stand elsewhere by now")


def source_hash(memory: Memory, part: Part) -> str:
    """SHA-256 of what `part` is made from, hex; the activity checks it."""
    return sha256([s.model_dump(mode="json", exclude={"tokens"}) for s in sources(memory, part)])


def previous_end(observations: Sequence[Observation], first_seq: int) -> str:
    """The end of what was written before a range of messages, so that a text can go on from it."""
    before = [o for o in observations if o.last_seq < first_seq]
    return before[-1].content[-PREVIOUS_CHARS:] if before else ""
