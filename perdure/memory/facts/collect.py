"""From messages and entries to facts."""

import re
from collections.abc import Sequence

from perdure.memory.extract.lines import TOOL, Line, day_of, read
from perdure.memory.extract.score import is_question
from perdure.memory.facts.clauses import LONGEST, Clause, around, tidy, told
from perdure.memory.facts.fact import IMPORTANCE, Fact, Kind
from perdure.memory.facts.shapes import Shaped, shaped
from perdure.memory.facts.statements import kinds
from perdure.memory.facts.supersede import corrects, current
from perdure.memory.facts.tools import CALLS, RESULTS, Trail, noted, rank_of, stated
from perdure.memory.message import Message
from perdure.memory.observation import Observation, dated

FLOOD = 8
"""Identifiers of one message that count in full; a pasted log would push out all else."""
ELSEWHERE = 350
EXACT_ELSEWHERE = 600
"""Thousandths left to what the assistant said and to what is asked and not told; the second for
identifiers, which the user may well come back to."""
CROWD = 300
"""Thousandths left to the identifiers of a message behind the first `FLOOD`."""
MENTION = 9
"""Words around an identifier that the assistant mentions."""
FURTHER = 60
"""What each further kind of a clause adds to its rank."""
CALENDAR = 150
"""What is added to a day of the calendar, beside which a clock time or "on Friday" is vague."""
PRICED = 120
RECURRING = 300
"""What is added to an amount that is a price of something, and to one that is due again and again:
it is asked for long after what was paid once."""
_LEANT = re.compile(r"[;.] (?=\w)")
_PRICED = re.compile(
    r"\b(?:costs?|price[sd]?|rent|budget|pays?|paid|total|deposit|salary|wage|fee|loan|fare|rate|limit"
    r"|bill|savings?|earns?|asks?|owes?|per \w+|a kilo|apiece|each)\b",
    re.IGNORECASE,
)
_CALENDAR = re.compile(r"\d\D{0,4} ?[a-z]{3}|[a-z]{3}\.? \d|\d-\d|[./]\d|[月年]", re.IGNORECASE)
_RECURRING = re.compile(
    r"\b(?:an?|per|each|every) (?:hour|day|week|month|quarter|year)\b"
    r"|\b(?:dai|week|month|year)ly\b",
    re.IGNORECASE,
)
_EXACT = (Kind.IDENTIFIER, Kind.ADDRESS, Kind.MONEY, Kind.DATE, Kind.QUANTITY)


def collect(sources: Sequence[Message] | Sequence[Observation]) -> list[Fact]:
    """The facts of messages, or of entries (from their facts and their content), in order.

    Of messages: what the user wrote, what tools were told, the telling fields of single records
    that came back, and what the assistant said only where the user has not. What was corrected is
    left out.
    """
    return current(_all(sources))


def outdated(sources: Sequence[Message] | Sequence[Observation]) -> list[str]:
    """The clauses of the same sources that were corrected later in them, each without what it
    leaned on."""
    if not any(corrects(s.text) for s in sources):
        return []
    found = _all(sources)
    newest = current(found)
    return [_LEANT.split(fact.text)[-1] for fact in found if fact not in newest]


def _all(sources: Sequence[Message] | Sequence[Observation]) -> list[Fact]:
    found = _Found()
    for source in sources:
        if isinstance(source, Message):
            found.message(source)
        else:
            found.entry(source)
    return found.all()


class _Found:
    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.trail = Trail()
        self.place = 0

    def message(self, message: Message) -> None:
        if message.failed:
            return
        day = day_of(message.at)
        for block in message.content:
            self.place += 1
            kind = block.get("type")
            if kind == "text":
                text = str(block.get("text") or "")
                self.trail.hear(text)
                self.said(Line(day, message.role, text))
            elif kind in CALLS and "stored" not in block:
                self.trail.call(block, day, self.place)
            elif kind in RESULTS and "stored" not in block:
                self.trail.result(block)

    def entry(self, entry: Observation) -> None:
        start = day_of(entry.start_time)
        for line in read(entry.prose):
            self.place += 1
            if line.role == TOOL:
                self.recorded(line.text, line.day or start)
            else:
                self.said(Line(line.day or start, line.role, line.text))
        for fact in entry.facts:
            self.place += 1
            day, text = dated(fact)
            if not self.recorded(text, day):
                role, said = (
                    ("assistant", text[11:]) if text.startswith("assistant: ") else ("user", text)
                )
                self.clause(Clause(said, said, is_question(said)), Line(day, role, said), 0)

    def recorded(self, text: str, day: str) -> bool:
        """Adds what a line about a call tells; gives whether it is one."""
        called = noted(text)
        if called is None:
            return False
        tool, pairs = called
        for key, value in pairs:
            one, values = stated(tool, pairs, key, value)
            self.add(Kind.RECORD, one, values, day, "tool", rank_of(key, value))
        return True

    def said(self, line: Line) -> None:
        """The facts of what one speaker said; what nobody in particular said counts as told."""
        crowd = 0
        for clause in told(line.text):
            crowd += self.clause(clause, line, crowd)

    def clause(self, clause: Clause, line: Line, crowd: int) -> int:
        """Adds what a clause tells; gives how many identifiers it holds."""
        values = _values(clause.text)
        named = [v for v in values if v.kind is Kind.IDENTIFIER]
        stated = [] if clause.asked else kinds(clause.text)
        every = list(dict.fromkeys([*stated, *(v.kind for v in values)]))
        if every == [Kind.CORRECTION]:
            every = []
        if not every:
            return 0
        best = max(every, key=lambda k: IMPORTANCE[k])
        rank = IMPORTANCE[best] + FURTHER * (len(every) - 1)
        if any(v.kind is Kind.DATE and _CALENDAR.search(v.text) for v in values):
            rank += CALENDAR
        if Kind.MONEY in every:
            rank += PRICED * bool(_PRICED.search(clause.text))
            rank += RECURRING * bool(_RECURRING.search(clause.text))
        if best is Kind.IDENTIFIER and crowd >= FLOOD:
            rank = rank * CROWD // 1000
        if line.role == "assistant" or clause.asked:
            exact_only = best in (Kind.IDENTIFIER, Kind.ADDRESS)
            rank = rank * (EXACT_ELSEWHERE if exact_only else ELSEWHERE) // 1000
        key = named[0] if named else values[0] if values else None
        longest = MENTION if named and line.role == "assistant" else LONGEST
        text = around(clause.whole, key.text if key else "", longest)
        exact = tuple(v.text for v in values if v.text in text)
        if Kind.RULE in stated:
            exact = ()
        self.add(best, text, exact, line.day, line.role or "user", rank)
        return len(named)

    def add(
        self, kind: Kind, text: str, values: tuple[str, ...], day: str, role: str, rank: int = -1
    ) -> None:
        rank = IMPORTANCE[kind] if rank < 0 else rank
        self.facts.append(Fact(kind, tidy(text), values, day, role, rank, self.place))

    def all(self) -> list[Fact]:
        for one in self.trail.lines():
            record = one.record
            self.facts.append(
                Fact(Kind.RECORD, one.text, one.values, record.day, "tool", one.rank, record.place)
            )
        return sorted(self.facts, key=lambda fact: fact.place)


def _values(text: str) -> list[Shaped]:
    return [v for v in shaped(text) if v.kind in _EXACT]
