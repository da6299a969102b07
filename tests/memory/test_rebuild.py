"""A memory rebuilt from its messages, compactions and events is the one that there was."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.contract import ConversationConfig
from perdure.memory.apply import Compacted, apply
from perdure.memory.difference import Difference, difference
from perdure.memory.elide.decide import elide
from perdure.memory.elision import Elision
from perdure.memory.event import Event
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.plan import next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.project import project
from perdure.memory.rebuild import filled, outline
from perdure.memory.revise import revise
from perdure.memory.state import Memory, append, mark, pin, unpin, unpin_passing
from tests.support.conversations import EXCHANGES, POLICIES, START, Said, say, summary

SYSTEMS = ("", "Be brief.", "Be kind.")


class Told:
    """A memory that notes what happens to it, as the workflow does."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.config = ConversationConfig()
        self.said: list[Message] = []
        self.entries: list[Observation] = []
        self.events: list[Event] = []

    def note(self, **what: object) -> None:
        event = Event(n=len(self.events), row=len(self.entries), **what)
        self.events.append(Event.model_validate_json(event.model_dump_json()))

    def say(self, said: Said, number: int) -> None:
        first = self.memory.next_seq
        self.memory = say(self.memory, said, number)
        # The archive may have other marks of a message than those that hold.
        new = [m for m in self.memory.messages if m.seq >= first]
        self.said += [m.changed(pinned=False) for m in new]
        for message in new:
            if message.pinned:
                self.note(pinned=message.seq)

    def change(self, kind: str, number: int) -> None:
        tail = self.memory.messages
        if kind == "note":
            self.memory = pin(self.memory, f"note {number}", START, 5)
            self.note(noted=self.memory.pins[-1])
        elif kind == "configure":
            self.config = ConversationConfig(system=SYSTEMS[number % 3])
            self.note(config=self.config.model_dump(mode="json", exclude_defaults=True))
        elif kind == "superseded" and self.memory.observations:
            entries = self.memory.observations
            old = entries[number % len(entries)]
            self.memory, entry = revise(self.memory, old.id, old.identity, better(number), START)
            assert entry.supersedes == old.id
            self.entries.append(entry)
        elif kind in ("pinned", "failed") and tail:
            seq = tail[number % len(tail)].seq
            self.memory = mark(self.memory, seq, **{kind: True})
            self.note(**{kind: seq})
        elif kind == "taken back" and self.memory.pinned:
            self.take_back(self.memory.pinned[number % len(self.memory.pinned)])

    def take_back(self, what: int | str, open_seq: int | None = None) -> None:
        before, self.memory = self.memory, unpin(self.memory, what, open_seq=open_seq)
        self.note_passing(before)
        self.note(taken_back=what)

    def note_passing(self, before: Memory) -> None:
        passing = [p.seq for p in self.memory.pins if p.passing and p not in before.pins]
        if passing:
            self.note(passing=passing)

    def tidy(self, policy: MemoryPolicy, open_seq: int | None = None) -> None:
        before, self.memory = self.memory, elide(self.memory, policy, open_seq=open_seq)
        if self.memory is not before:
            new = {s: e for s, e in self.memory.elided.items() if s not in before.elided}
            self.note(elided=new, light_from=self.memory.light_from)
        plan = next_compaction(self.memory, policy, open_seq=open_seq, step_seq=open_seq)
        for part in plan.parts if plan else []:
            held = self.memory
            # Of a turn in progress that is longer than its last two messages.
            asked = None if open_seq is None else max(0, open_seq - 4)
            self.memory, entry = apply(held, part, summary(part), START, open_seq=asked)
            self.note_passing(held)
            self.entries.append(entry)

    def turn_over(self) -> None:
        before, self.memory = self.memory, unpin_passing(self.memory)
        if self.memory is not before:
            self.note(unpinned=True)

    def rebuilt(self) -> tuple[Memory, str]:
        made = outline(self.entries, self.events)
        pinned = {seq: self.said[seq] for seq in made.pinned_seqs}
        return filled(made, self.said[made.tail_seq :], pinned), made.config.get("system", "")


def better(number: int) -> Compacted:
    return Compacted(
        content=f"In short, {number}.",
        tokens=1,
        method="model",
        model="other",
        prompt_version="other-1",
        identity="",
    )


CHANGES = st.sampled_from(
    ["none", "none", "none", "note", "configure", "pinned", "taken back", "failed", "superseded"]
)


@settings(deadline=None)
@given(st.lists(st.tuples(EXCHANGES, CHANGES), min_size=1, max_size=25), POLICIES)
def test_a_rebuilt_memory_is_sent_as_the_same_bytes(
    talk: list[tuple[Said, str]], policy: MemoryPolicy
) -> None:
    told = Told()
    for number, (said, kind) in enumerate(talk):
        told.say(said, number)
        told.change(kind, number)
        told.tidy(policy, told.memory.next_seq - 1 if number % 2 else None)
        if kind == "taken back" and number % 2 and told.memory.pinned:
            # In the middle of a turn that has been compacted already.
            told.take_back(told.memory.pinned[-1], open_seq=0)
        if number % 3 == 2:
            told.turn_over()
        memory, system = told.rebuilt()
        assert system == told.config.system
        assert project(memory, system, 0) == project(told.memory, system, 0)
        assert memory.light_from == told.memory.light_from
        assert memory.messages == told.memory.messages
        assert memory.pins == told.memory.pins


def test_a_pin_that_was_taken_back_is_gone_from_what_is_rebuilt_and_may_be_set_again() -> None:
    told = Told()
    for number in range(8):
        told.say(Said("The gate code is 4711. " * 20, (), "Noted.", pinned=number < 2), number)
        told.change("note", number)
    told.tidy(MemoryPolicy(message_budget=300, keep_recent=100))
    assert told.memory.pinned[8:] == [0, 2]
    assert told.memory.messages[0].seq > 2
    newest = told.memory.next_seq - 1
    told.change("pinned", len(told.memory.messages) - 1)
    told.take_back("note 3")
    told.take_back(2)
    told.take_back(newest)
    assert told.rebuilt()[0] == told.memory
    assert told.memory.pinned == [*(f"note {n}" for n in range(8) if n != 3), 0]
    told.change("pinned", len(told.memory.messages) - 1)
    told.change("note", 3)
    assert told.rebuilt()[0] == told.memory
    assert told.memory.pinned[-3:] == [0, "note 3", newest]


@settings(deadline=None)
@given(st.lists(EXCHANGES, min_size=2, max_size=20), POLICIES)
def test_a_difference_accounts_for_every_message_and_entry(
    talk: list[Said], policy: MemoryPolicy
) -> None:
    told = Told()
    seen = [told.memory]
    for number, said in enumerate(talk):
        told.say(said, number)
        told.tidy(policy)
        seen.append(told.memory)
    before, after = seen[len(seen) // 2], seen[-1]
    sent, sent_then = project(before, "", 0), project(after, "", 0)
    found = difference(before, sent, after, sent_then)
    gone = sum(s.last_seq - s.first_seq + 1 for s in found.messages_gone)
    new = sum(s.last_seq - s.first_seq + 1 for s in found.messages_new)
    assert found.messages_kept + gone == len(before.messages)
    assert found.messages_kept + new == len(after.messages)
    assert found.entries_kept + len(found.entries_gone) == len(before.observations)
    assert found.entries_kept + len(found.entries_new) == len(after.observations)
    # What left the tail is told by an entry.
    assert all(stretch.into for stretch in found.messages_gone)
    assert not difference(after, sent_then, after, sent_then).changes


def test_a_difference_tells_stubs_marks_and_the_other_way_of_a_fork() -> None:
    told = Told()
    told.say(Said("The gate code is 4711.", (300,), "Noted.", pinned=False), 0)
    told.say(Said("And the shed?", (), "4712.", pinned=False), 1)
    before = told.memory
    stub = Elision(blocks={0: "[left out]"}, tokens=3)
    after = before.model_copy(update={"elided": {2: stub}})
    other = Told()
    other.say(Said("The gate code is 4711.", (300,), "Noted.", pinned=False), 0)
    other.say(Said("And the shed?", (), "No idea.", pinned=False), 1)

    def between(first: Memory, second: Memory, system: str = "") -> Difference:
        return difference(first, project(first, "", 0), second, project(second, system, 0))

    assert between(before, after).elided == [2]
    assert between(after, before).restored == [2]
    assert between(before, before, "Be brief.").system_changed
    failed = mark(before, 0, failed=True)
    gone = between(before, failed).messages_gone
    assert [(s.first_seq, s.last_seq, s.into) for s in gone] == [(0, 0, None)]
    fork = between(before, other.memory)
    assert [(s.first_seq, s.last_seq) for s in fork.messages_new] == [(5, 5)]


def test_two_ways_from_a_fork_may_tell_one_range_in_other_words() -> None:
    told = Told()
    for number in range(6):
        told.say(
            Said(f"{number}: the gate code is 4711. " * 20, (), "Noted.", pinned=False), number
        )
    plan = next_compaction(told.memory, MemoryPolicy(message_budget=300))
    assert plan is not None
    way, other = (
        apply(told.memory, plan.parts[0], made.model_copy(update={"content": words}), START)[0]
        for made in [summary(plan.parts[0])]
        for words in ("One way.", "Another way.")
    )
    # The same compaction of the same messages: a model seldom says it twice in the same words.
    assert [o.identity for o in way.observations] == [o.identity for o in other.observations]
    found = difference(way, project(way, "", 0), other, project(other, "", 0))
    assert (found.entries_kept, found.changes) == (0, True)
    assert [e.id for e in found.entries_gone] == [e.id for e in found.entries_new]


def test_messages_of_two_conversations_with_one_number_may_be_of_two_speakers() -> None:
    first, second = (
        append(Memory(), role, [{"type": "text", "text": "Hello."}], START)
        for role in ("user", "assistant")
    )
    found = difference(first, project(first, "", 0), second, project(second, "", 0))
    assert (found.messages_kept, len(found.messages_gone), len(found.messages_new)) == (0, 1, 1)


def test_a_note_that_was_pinned_at_two_times_is_the_same_note() -> None:
    first, second = (
        pin(Memory(), "Be kind.", at, 5) for at in (START, START + timedelta(minutes=1))
    )
    assert not difference(first, project(first, "", 0), second, project(second, "", 0)).changes
