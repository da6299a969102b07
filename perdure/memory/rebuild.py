"""A memory as it stood, from what happened until then."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from perdure.memory.apply import pinned_text, placed
from perdure.memory.elision import Elision
from perdure.memory.event import Event
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.state import MEMORY_VERSION, Memory, Pin, checked


class Outline(BaseModel):
    """All of a memory but its messages, which stand verbatim from `tail_seq` on.

    `pins` holds notes, and the numbers of pinned messages that were compacted. `config` is the
    configuration as JSON.
    """

    config: dict[str, Any] = {}
    observations: list[Observation] = []
    tail_seq: int = 0
    pins: list[Pin | int] = []
    elided: dict[int, Elision] = {}
    light_from: int = 0
    pinned: list[int] = []
    failed: list[int] = []
    passing: list[int] = []

    @property
    def pinned_seqs(self) -> list[int]:
        """The compacted messages whose words are still shown."""
        return [pin for pin in self.pins if isinstance(pin, int)]

    def take_entry(self, entry: Observation) -> None:
        """A compaction was taken in."""
        self.observations = placed(self.observations, entry)
        if entry.level == 1 and entry.supersedes is None:
            self.tail_seq = entry.last_seq + 1
            kept = sorted([*self.pinned, *self.passing])
            left = [s for s in kept if entry.first_seq <= s <= entry.last_seq]
            self.pins += [s for s in left if s not in self.failed]
            self.elided = {s: e for s, e in self.elided.items() if s > entry.last_seq}
            self.light_from = 0

    def take_event(self, event: Event) -> None:
        """An event happened."""
        if event.config is not None:
            self.config = event.config
        if event.noted is not None:
            self.pins.append(event.noted)
        if event.elided is not None:
            self.elided = {**self.elided, **event.elided}
        if event.light_from is not None:
            self.light_from = event.light_from
        if event.passing is not None:
            self.passing = [*self.passing, *event.passing]
        if event.taken_back is not None:
            self._take_back(event.taken_back)
        if event.unpinned:
            self.pins = [pin for pin in self.pins if pin not in self.passing]
            self.passing = []
        for seq, marked in ((event.pinned, self.pinned), (event.failed, self.failed)):
            if seq is not None and seq not in marked:
                marked.append(seq)
                self.elided.pop(seq, None)

    def _take_back(self, what: int | str) -> None:
        self.pinned = [seq for seq in self.pinned if seq != what]
        self.pins = [
            pin
            for pin in self.pins
            if pin in self.passing or what != (pin.name if isinstance(pin, Pin) else pin)
        ]


def outline(entries: Sequence[Observation], events: Iterable[Event]) -> Outline:
    """What `entries`, by the number of their compaction, and `events`, in order, have made."""
    made = Outline()
    taken = 0
    for event in events:
        while taken < min(event.row, len(entries)):
            made.take_entry(entries[taken])
            taken += 1
        made.take_event(event)
    for entry in entries[taken:]:
        made.take_entry(entry)
    return made


def filled(
    made: Outline,
    tail: Sequence[Message],
    pinned: Mapping[int, Message],
    *,
    version: int = MEMORY_VERSION,
) -> Memory:
    """The memory of an outline; `tail` begins with its `tail_seq`, `pinned` has `pinned_seqs`.

    The marks of the messages are those of the outline, not those that they bring. Raises
    InvariantError when a message is missing.
    """
    messages = [m.changed(pinned=m.seq in made.pinned, failed=m.seq in made.failed) for m in tail]
    pins = [
        pinned_text(pinned[p], passing=p in made.passing) if isinstance(p, int) else p
        for p in made.pins
    ]
    said = sum(o.original_tokens for o in made.observations)
    return checked(
        Memory(
            version=version,
            observations=made.observations,
            messages=messages,
            pins=pins,
            next_seq=made.tail_seq + len(messages),
            raw_tokens=said + sum(m.weight for m in messages),
            elided={seq: made.elided[seq] for seq in sorted(made.elided)},
            light_from=made.light_from,
        )
    )
