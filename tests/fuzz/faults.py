"""Faults put in on purpose, to see that the fuzz finds them. Nothing else may use them."""

from datetime import datetime

from perdure.memory.apply import Compacted, apply
from perdure.memory.observation import Observation
from perdure.memory.plan import Part
from perdure.memory.sources import StalePart
from perdure.memory.state import Memory


def apply_by_position(
    memory: Memory, part: Part, result: Compacted, at: datetime, *, open_seq: int | None = None
) -> tuple[Memory, Observation]:
    """Takes as many of the oldest messages as were planned, whichever they are by now."""
    if part.level == 1 and memory.messages:
        first = memory.messages[0].seq
        last = first + part.last_seq - part.first_seq
        if last >= memory.next_seq:
            raise StalePart("there are not so many")
        part = part.model_copy(update={"first_seq": first, "last_seq": last})
    return apply(memory, part, result, at, open_seq=open_seq)


FAULTS = {"position": apply_by_position}
