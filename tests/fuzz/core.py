"""A conversation that everything happens to, in an order drawn with a seed.

The pure core is driven as the workflow drives it, but without its good manners: several
compactions are under way at once, they end late, twice or not at all, the archive comes and goes,
and the whole state may be carried to a new run between any two steps.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from perdure.contract import ConversationConfig
from perdure.entrance import reconfigured
from perdure.memory.apply import Compacted, NoProgress, apply
from perdure.memory.blocks import Block, ContentError, upper_estimate
from perdure.memory.elide.decide import elide
from perdure.memory.message import Message, Role
from perdure.memory.observation import Observation
from perdure.memory.plan import Part, Plan, next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.sources import StalePart, source_hash, sources
from perdure.memory.state import Memory, append, mark, pin, unpin, unpin_passing, with_counts
from perdure.memory.wire import canonical_json
from tests.fuzz.checks import Truth, Violation, check_all, check_bounded, marks_of
from tests.fuzz.words import constraint, results, spoken
from workflows.inbox import take_message
from workflows.state import Carried, ConversationState

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
# More rounds than this, and compaction would never come to an end.
ROUNDS = 100
Apply = Callable[..., tuple[Memory, Observation]]


@dataclass
class Flight:
    """A compaction under way: what was planned, and what its sources were then."""

    plan: Plan
    hashes: list[str]
    archived: bool = False
    made: list[Compacted | None] = field(default_factory=list)


class World:
    """One conversation and what is known to be true of it; `run` raises Violation."""

    def __init__(self, seed: int, apply_part: Apply = apply) -> None:
        self.dice = random.Random(seed)
        self.state = ConversationState(
            config=ConversationConfig(system="Be brief.", policy=self._policy())
        )
        self.truth = Truth()
        self.open_calls: list[str] = []
        self._apply = apply_part
        self._flights: list[Flight] = []
        self._landed: list[Flight] = []
        self._database = True
        self._sent: list[tuple[str, str]] = []
        self._number = 0
        self._open_seq: int | None = None
        self._step_seq: int | None = None

    @property
    def memory(self) -> Memory:
        return self.state.memory

    @memory.setter
    def memory(self, memory: Memory) -> None:
        self.state.memory = memory

    def run(self, steps: int) -> None:
        """So many steps, with every rule checked after each."""
        doings = {
            self.hear: 10,
            self.hear_again: 3,
            self.serve: 14,
            self.answer_calls: 10,
            self.count: 4,
            self.plan: 6,
            self.archive: 6,
            self.summarise: 6,
            self.land: 6,
            self.land_again: 2,
            self.lighten: 5,
            self.pin: 1,
            self.unpin: 1,
            self.database: 2,
            self.configure: 1,
            self.carry: 2,
        }
        for number in range(steps):
            (doing,) = self.dice.choices(list(doings), list(doings.values()))
            try:
                doing()
                check_all(self.state, self.truth, bool(self.open_calls))
            except Exception as error:
                raise Violation(f"step {number}, {doing.__name__}: {error!r}") from error

    # What is said

    def hear(self) -> None:
        """A new message, by itself or with two others; some of them carry a constraint."""
        for _ in range(self.dice.choice([1, 1, 1, 3])):
            self._number += 1
            text = spoken(self.dice, f"⟦{self._number}⟧")
            if self.dice.random() < 0.1:
                text += f"\n{constraint(self._number)}"
            id_ = f"id-{self._number}"
            payload = {"content": text, "id": id_, "pinned": self.dice.random() < 0.03}
            take_message(self.state, payload, self._now())
            self._sent.append((id_, text))

    def hear_again(self) -> None:
        """A message that was sent before, or another one under its id: neither is queued."""
        if not self._sent:
            return
        id_, text = self.dice.choice(self._sent[-200:])
        queued = len(self.state.inbox)
        take_message(self.state, {"content": text, "id": id_}, self._now())
        try:
            take_message(self.state, {"content": text + "!", "id": id_}, self._now())
        except ContentError:
            pass
        else:
            raise Violation(f"{id_} was taken with two contents")
        if len(self.state.inbox) != queued:
            raise Violation(f"{id_} was queued twice")

    def serve(self) -> None:
        """A turn begins: room is made, and the model answers, calls tools, or refuses."""
        if self.open_calls or not self.state.inbox:
            return
        queued = self.state.inbox.pop(0)
        seq = self._say("user", queued.content, pinned=queued.pinned)
        self._open_seq = self._step_seq = self.truth.question = seq
        self.make_room()
        check_all(self.state, self.truth, is_open=False)
        if self.dice.random() < 0.05:
            self.memory = mark(self.memory, seq, failed=True)
            self.truth.failed.add(seq)
            self.truth.decided()
            self._end_turn()
        else:
            self._reply()

    def _end_turn(self) -> None:
        self._open_seq = self._step_seq = self.truth.question = None
        self.memory = unpin_passing(self.memory)
        self.truth.decided()

    def _reply(self) -> None:
        number = self.dice.choice([0, 0, 0, 1, 2, 5])
        self._number += 1
        text: Block = {"type": "text", "text": spoken(self.dice, f"⟦{self._number}⟧")}
        ids = [f"call-{self._number}-{i}" for i in range(number)]
        if number and self.dice.random() < 0.1:
            # A conversation that was joined from two may use an id again.
            ids[0] = "call-again"
        uses: list[Block] = [
            {"type": "tool_use", "id": id_, "name": "look", "input": {"page": i}}
            for i, id_ in enumerate(ids)
        ]
        self._step_seq = self._say("assistant", [text, *uses])
        self.open_calls = ids
        if not ids:
            self._end_turn()

    def answer_calls(self) -> None:
        """Every open call gets its result, or an error since the turn was interrupted."""
        if not self.open_calls:
            return
        self._number += 1
        said = results(self.dice, self.open_calls, f"⟦{self._number}⟧")
        self.open_calls = []
        self._say("user", said)
        if self.dice.random() < 0.2:
            self._end_turn()
            return
        self.make_room()
        self._reply()

    def _say(self, role: Role, content: list[Block], *, pinned: bool = False) -> int:
        seq = self.memory.next_seq
        tokens = upper_estimate(content) * 2 // 3 if self.dice.random() < 0.7 else None
        self.memory = append(self.memory, role, content, self._now(), tokens=tokens, pinned=pinned)
        self.truth.said.append((role, canonical_json(content)))
        if pinned:
            self.truth.pinned.add(seq)
        return seq

    def count(self) -> None:
        """Late counts, some of messages that have left."""
        seqs = self.dice.sample(range(self.memory.next_seq), min(5, self.memory.next_seq))
        counts = {m.seq: upper_estimate(m.content) * 2 // 3 for m in self.memory.messages}
        self.memory = with_counts(self.memory, {s: counts.get(s, 7) for s in seqs})

    def pin(self) -> None:
        """A note, or a message of the tail."""
        if self.dice.random() < 0.5 and self.memory.messages:
            seq = self.dice.choice(self.memory.messages).seq
            self.memory = mark(self.memory, seq, pinned=True)
            if seq not in self.truth.failed:
                self.truth.pinned.add(seq)
        else:
            text = f"note {self.memory.next_seq}"
            self.memory = pin(self.memory, text, self._now(), 4)
            self.truth.notes.add(text)
        self.truth.decided()

    def unpin(self) -> None:
        """A note, a message wherever it stands, or what is not pinned at all."""
        known: list[int | str] = [*sorted(self.truth.notes), *sorted(self.truth.pinned), 10**6]
        what = self.dice.choice(known)
        before, self.memory = self.memory, unpin(self.memory, what, open_seq=self._open_seq)
        if what not in before.pinned and self.memory is not before:
            raise Violation(f"{what!r} was not pinned, and taking it back changed something")
        if isinstance(what, str):
            self.truth.notes.discard(what)
        else:
            self.truth.pinned.discard(what)
        self.truth.decided()

    # What is made of it

    def lighten(self) -> None:
        """Light elision, as at a turn boundary."""
        lighter = elide(
            self.memory,
            self.state.config.policy,
            open_seq=self._open_seq,
            step_seq=self._step_seq,
        )
        if lighter is not self.memory:
            self.memory = lighter
            self.truth.decided()

    def make_room(self) -> None:
        """What a turn does before the model is asked: sometimes everything that is due."""
        if self.dice.random() < 0.5:
            self.lighten()
        if not self._database or self.dice.random() < 0.4:
            return
        for _ in range(ROUNDS):
            plan = self._due()
            if plan is None:
                check_bounded(self.state, self._step_seq)
                return
            flight = self._fly(plan)
            self._archive(flight)
            self._summarise(flight, good=True)
            if self._land(flight) < len(plan.parts):
                raise Violation("a good summary was not taken in")
        raise Violation("compaction does not come to an end")

    def _due(self, *, now: bool = False) -> Plan | None:
        return next_compaction(
            self.memory,
            self.state.config.policy,
            system_tokens=4,
            open_seq=self._open_seq,
            step_seq=self._step_seq,
            now=now,
        )

    def plan(self) -> None:
        """Another compaction begins beside those that are under way."""
        plan = self._due(now=self.dice.random() < 0.2)
        if plan is not None and len(self._flights) < 4:
            self._flights.append(self._fly(plan))

    def _fly(self, plan: Plan) -> Flight:
        self.truth.plans += 1
        return Flight(plan, [source_hash(self.memory, part) for part in plan.parts])

    def archive(self) -> None:
        """The originals of a compaction are archived, if the database is there."""
        waiting = [f for f in self._flights if not f.archived]
        if waiting and self._database:
            self._archive(self.dice.choice(waiting))

    def _archive(self, flight: Flight) -> None:
        end = max((p.last_seq + 1 for p in flight.plan.parts if p.level == 1), default=0)
        for message in self.memory.messages:
            if message.seq < end:
                self.truth.archive(message.seq, message.role, canonical_json(message.content))
        flight.archived = True

    def summarise(self) -> None:
        """The summariser answers, well or badly, or its source has changed meanwhile."""
        waiting = [f for f in self._flights if f.archived and not f.made]
        if waiting:
            self._summarise(self.dice.choice(waiting), good=self.dice.random() < 0.5)

    def _summarise(self, flight: Flight, *, good: bool) -> None:
        for part, wanted in zip(flight.plan.parts, flight.hashes, strict=True):
            try:
                found = sources(self.memory, part)
                same = source_hash(self.memory, part) == wanted
            except StalePart:
                found, same = [], False
            self.truth.calls += 1
            made = self._made(part, found, good=good) if same else None
            flight.made.append(made)

    def _made(
        self, part: Part, found: Sequence[Message | Observation], *, good: bool
    ) -> Compacted | None:
        kind = "good" if good else self.dice.choice(["good", "blank", "long", "failed"])
        if kind == "failed":
            return None
        content = " ".join(f"⟦{n}⟧" for n in marks_of(found)) or "nothing"
        return Compacted(
            content=" " if kind == "blank" else content,
            tokens=part.source_tokens if kind == "long" else part.target_tokens,
            method="model",
            model="fuzz",
            prompt_version="fuzz-1",
            identity=f"{self.truth.calls:032x}",
        )

    def land(self) -> None:
        """One that has ended is taken in: not always the one that began first."""
        ended = [f for f in self._flights if f.made]
        if ended:
            flight = self.dice.choice(ended)
            self._flights.remove(flight)
            self._land(flight)
            self._landed = [*self._landed, flight][-5:]

    def land_again(self) -> None:
        """A result that was taken in or refused before is delivered once more."""
        if self._landed:
            before = self.memory
            if self._land(self.dice.choice(self._landed)) and before is self.memory:
                raise Violation("a result was taken in and changed nothing")

    def _land(self, flight: Flight) -> int:
        for number, (part, made) in enumerate(zip(flight.plan.parts, flight.made, strict=True)):
            if made is None:
                return number
            before = self.memory
            try:
                self.memory, entry = self._apply(
                    before, part, made, self._now(), open_seq=self._open_seq
                )
            except (StalePart, NoProgress):
                return number
            self.truth.decided()
            self.truth.taken_in += 1
            self.truth.check_entry(before, entry, self.memory)
        return len(flight.plan.parts)

    # What happens around it

    def database(self) -> None:
        """The archive goes away, or comes back."""
        self._database = not self._database

    def configure(self) -> None:
        """Other budgets from now on."""
        policy = self._policy().model_dump(mode="json")
        self.state.config = reconfigured(self.state.config, {"policy": policy})

    def carry(self) -> None:
        """Continue-as-new: what is not in the state is gone, compactions under way too."""
        written = Carried(carried=self.state).model_dump_json()
        self.state = Carried.model_validate_json(written).carried
        if Carried(carried=self.state).model_dump_json() != written:
            raise Violation("the carried state is not what was written")
        if self.dice.random() < 0.5:
            self._flights = []

    def _now(self) -> datetime:
        return START + timedelta(minutes=self.memory.next_seq)

    def _policy(self) -> MemoryPolicy:
        dice = self.dice
        budget = dice.choice([200, 500, 1_000, 4_000])
        return MemoryPolicy(
            message_budget=budget,
            observation_budget=dice.choice([100, 300, 1_000]),
            level_budget=dice.choice([100, 300]),
            keep_recent=dice.choice([None, None, 0, budget // 2]),
            keep_recent_messages=dice.choice([0, 1, 4, 4]),
            observe_chunk=dice.choice([100, 400, 2_000]),
            light_at=dice.choice([0.3, 0.7]),
            message_limit=dice.choice([None, None, 12]),
            context_window=dice.choice([1_000_000, 12_000]),
            reserve_output=1_000,
        )
