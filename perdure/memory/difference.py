"""What changed between two memories, as they are sent."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel

from perdure.memory.blocks import Block
from perdure.memory.message import Message, Role
from perdure.memory.observation import Observation
from perdure.memory.project import Context
from perdure.memory.state import Memory


class EntryLine(BaseModel):
    """An entry of the memory, and what it weighs in the context."""

    id: str
    level: int
    first_seq: int
    last_seq: int
    tokens: int


class Stretch(BaseModel):
    """Messages that follow each other and changed alike; `into` is the entry they are now in."""

    first_seq: int
    last_seq: int
    tokens: int
    into: str | None = None


class Difference(BaseModel):
    """What one context has that another has not, in the order of the conversation.

    Messages are `gone` when they are not shown word for word any more: compacted, or failed.
    `elided` are those of both that are shown in part now, `restored` those that were.
    """

    tokens_before: int
    tokens_after: int
    system_changed: bool = False
    entries_gone: list[EntryLine] = []
    entries_new: list[EntryLine] = []
    entries_kept: int = 0
    messages_gone: list[Stretch] = []
    messages_new: list[Stretch] = []
    messages_kept: int = 0
    elided: list[int] = []
    restored: list[int] = []
    pins_gone: list[str] = []
    pins_new: list[str] = []

    @property
    def changes(self) -> bool:
        """Whether the two differ at all."""
        same = Difference(
            tokens_before=self.tokens_before,
            tokens_after=self.tokens_after,
            entries_kept=self.entries_kept,
            messages_kept=self.messages_kept,
        )
        return self != same


def difference(before: Memory, sent: Context, after: Memory, sent_then: Context) -> Difference:
    """What is gone from `before`, sent as `sent`, and new in `after`, sent as `sent_then`.

    They may be of two conversations: what has a number or an id in both is the same if its words
    are.
    """
    # Not by their identity: a model tells the same compaction in other words the next time.
    entries = {(o.id, o.text): o for o in before.observations}
    others = {(o.id, o.text): o for o in after.observations}
    pins, other_pins = [p.text for p in before.pins], [p.text for p in after.pins]
    was, now = _shown(before), _shown(after)
    both = [s for s in was if s in now and _says(was[s]) == _says(now[s])]
    return Difference(
        tokens_before=sent.tokens,
        tokens_after=sent_then.tokens,
        system_changed=sent.system != sent_then.system,
        entries_gone=_lines(o for key, o in entries.items() if key not in others),
        entries_new=_lines(o for key, o in others.items() if key not in entries),
        entries_kept=sum(key in others for key in entries),
        messages_gone=_stretches(before, [m for s, m in was.items() if s not in both], after),
        messages_new=_stretches(after, [m for s, m in now.items() if s not in both], before),
        messages_kept=len(both),
        elided=[s for s in both if _stubs(after, s) and _stubs(before, s) != _stubs(after, s)],
        restored=[s for s in both if _stubs(before, s) and not _stubs(after, s)],
        pins_gone=[text for text in pins if text not in other_pins],
        pins_new=[text for text in other_pins if text not in pins],
    )


def _shown(memory: Memory) -> dict[int, Message]:
    return {m.seq: m for m in memory.messages if not m.failed}


def _says(message: Message) -> tuple[Role, list[Block]]:
    return message.role, message.content


def _stubs(memory: Memory, seq: int) -> dict[int, str]:
    elision = memory.elided.get(seq)
    return elision.blocks if elision else {}


def _lines(entries: Iterable[Observation]) -> list[EntryLine]:
    return [
        EntryLine(
            id=o.id, level=o.level, first_seq=o.first_seq, last_seq=o.last_seq, tokens=o.weight
        )
        for o in entries
    ]


def _covering(observations: Sequence[Observation], seq: int) -> str | None:
    found = (o.id for o in observations if o.first_seq <= seq <= o.last_seq)
    return next(found, None)


def _stretches(memory: Memory, messages: Sequence[Message], other: Memory) -> list[Stretch]:
    made: list[Stretch] = []
    for message in messages:
        seq, tokens = message.seq, memory.weigh(message)
        into = _covering(other.observations, seq)
        last = made[-1] if made else None
        if last is not None and (last.last_seq, last.into) == (seq - 1, into):
            longer = {"last_seq": seq, "tokens": last.tokens + tokens}
            made[-1] = last.model_copy(update=longer)
        else:
            made.append(Stretch(first_seq=seq, last_seq=seq, tokens=tokens, into=into))
    return made
