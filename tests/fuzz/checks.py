"""What must hold after every step of a fuzzed conversation."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from perdure.memory.blocks import to_text
from perdure.memory.groups import cuts
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.plan import MIN_SOURCE
from perdure.memory.project import context_tokens, project
from perdure.memory.state import Memory, check
from perdure.memory.wire import canonical_json
from tests.support.requests import violations
from workflows.state import ConversationState

_MARK = re.compile(r"⟦(\d+)⟧")
_CONSTRAINT = re.compile(r"Never mention price-\d+\.")
# A compaction that is taken in frees at least a fifth of the smallest source.
_FREED = MIN_SOURCE // 5


class Violation(AssertionError):
    """A rule that was broken, and after which step."""


def marks_of(entries: Sequence[Message | Observation]) -> list[int]:
    """The marks in texts and entries, in their order."""
    texts = [e.content if isinstance(e, Observation) else to_text(e.content) for e in entries]
    return [int(n) for n in dict.fromkeys(_MARK.findall(" ".join(texts)))]


@dataclass
class Truth:
    """What was really said and done. `said` holds role and content as JSON by seq.

    `question` is the message that the turn in progress answers.
    """

    said: list[tuple[str, str]] = field(default_factory=list)
    archived: dict[int, tuple[str, str]] = field(default_factory=dict)
    pinned: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    question: int | None = None
    notes: set[str] = field(default_factory=set)
    plans: int = 0
    calls: int = 0
    taken_in: int = 0
    shown: list[str] | None = None

    def decided(self) -> None:
        """The context may now change elsewhere than at its end."""
        self.shown = None

    def archive(self, seq: int, role: str, content: str) -> None:
        """Keep an original; another one in its place is a fault."""
        if self.archived.setdefault(seq, (role, content)) != (role, content):
            raise Violation(f"message {seq} is archived with two contents")

    def marks(self, first: int, last: int) -> list[int]:
        """The marks of a range of messages, both included."""
        contents = " ".join(content for _, content in self.said[first : last + 1])
        return [int(n) for n in dict.fromkeys(_MARK.findall(contents))]

    def check_entry(self, before: Memory, entry: Observation, after: Memory) -> None:
        """A new entry tells what it stands for, and stands behind those that were there."""
        told = [int(n) for n in _MARK.findall(entry.content)]
        if told != self.marks(entry.first_seq, entry.last_seq):
            raise Violation(f"{entry.id} tells of other messages than it stands for")
        if entry.level == 1 and after.observations[:-1] != before.observations:
            raise Violation(f"{entry.id} has rewritten what stood before it")


def check_all(state: ConversationState, truth: Truth, is_open: bool) -> None:
    """Every rule; while a call `is_open` the context is no request yet."""
    memory = state.memory
    check(memory)
    _nothing_is_lost(memory, truth)
    context = project(memory, state.config.system, 4)
    if context.tokens != context_tokens(memory, 4):
        raise Violation("the context does not weigh what it was said to")
    if memory.messages and not is_open and context.messages:
        broken = violations({"system": context.system, "messages": context.messages})
        if broken:
            raise Violation("; ".join(broken))
    shown = [canonical_json(b) for m in context.messages for b in _content(m)]
    if truth.shown is not None and shown[: len(truth.shown)] != truth.shown:
        raise Violation("the context has changed elsewhere than at its end")
    truth.shown = shown
    _what_must_stay(memory, truth, json.dumps(shown, ensure_ascii=False))
    _elisions(memory)
    if truth.taken_in * _FREED > memory.raw_tokens:
        raise Violation(f"{truth.taken_in} compactions for {memory.raw_tokens} tokens")


def _content(message: dict[str, object]) -> list[object]:
    content = message["content"]
    return content if isinstance(content, list) else []


def _nothing_is_lost(memory: Memory, truth: Truth) -> None:
    if memory.next_seq != len(truth.said):
        raise Violation(f"{len(truth.said)} messages were said, {memory.next_seq} are known")
    held = {m.seq: (m.role, canonical_json(m.content)) for m in memory.messages}
    for seq, original in enumerate(truth.said):
        if held.get(seq, truth.archived.get(seq)) != original:
            raise Violation(f"message {seq} is neither here as it was said nor archived")
    told = [int(n) for o in memory.observations for n in _MARK.findall(o.content)]
    if told != truth.marks(0, memory.next_seq - len(memory.messages) - 1):
        raise Violation("the entries tell of messages twice, not at all or out of order")


def _what_must_stay(memory: Memory, truth: Truth, shown: str) -> None:
    asked: set[int] = set() if truth.question is None else {truth.question}
    for seq in sorted((truth.pinned | asked) - truth.failed):
        for text in re.findall(r'"text":"((?:[^"\\]|\\.)*)"', truth.said[seq][1]):
            if json.dumps(text, ensure_ascii=False)[1:-1] not in shown:
                raise Violation(f"message {seq} is pinned or asked and not shown word for word")
    for note in truth.notes:
        if note not in shown:
            raise Violation(f"{note!r} is pinned and not shown")
    kept = {*truth.notes, *truth.pinned, *truth.failed}
    if surplus := [what for what in memory.pinned if what not in kept]:
        raise Violation(f"{surplus} are pinned and nobody wants that any more")
    for message in memory.messages:
        if message.role == "user" and not message.failed:
            for wanted in _CONSTRAINT.findall(canonical_json(message.content)):
                if wanted not in shown:
                    raise Violation(f"the constraint of message {message.seq} is not shown")


def _elisions(memory: Memory) -> None:
    held = {m.seq: m for m in memory.messages}
    for seq, elision in memory.elided.items():
        message = held.get(seq)
        if message is None or message.pinned or message.failed:
            raise Violation(f"message {seq} is elided and should not be")
        if elision.tokens + 4 > message.weight and message.tokens is None:
            raise Violation(f"message {seq} weighs more with its stub")
        if any(not 0 <= i < len(message.content) for i in elision.blocks):
            raise Violation(f"message {seq} has a stub for a block that it does not have")
        stubs = " ".join(elision.blocks.values())
        if stubs.strip() and not re.search(rf"\bmessages? {seq}\b", stubs):
            raise Violation(f"the stubs of message {seq} do not name it")


def check_bounded(state: ConversationState, step_seq: int | None) -> None:
    """When nothing is due any more, every level is within its budget, but for the newest step."""
    memory, policy = state.memory, state.config.policy
    for level in memory.levels:
        if memory.level_tokens(level) > max(policy.budget(level), MIN_SOURCE):
            raise Violation(f"level {level} holds {memory.level_tokens(level)} tokens")
    places = cuts(memory.messages)
    weights = [
        sum(memory.weigh(m) for m in memory.messages[a:b])
        for a, b in zip(places, [*places[1:], len(memory.messages)], strict=False)
    ]
    offset = memory.next_seq - len(memory.messages)
    answered = memory.next_seq if step_seq is None else step_seq
    answering = sum(memory.weigh(m) for m in memory.messages[answered - offset :])
    if memory.message_tokens > policy.message_budget + max(weights, default=0) + answering:
        raise Violation(f"the messages hold {memory.message_tokens} tokens")
