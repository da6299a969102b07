"""Which facts are written beside a summary."""

from collections.abc import Sequence

from perdure.memory.extract.lines import read
from perdure.memory.extract.sentences import sentences
from perdure.memory.extract.types import Count
from perdure.memory.extract.words import words
from perdure.memory.facts.fact import Fact, Kind
from perdure.memory.facts.tools import GAVE, noted, written
from perdure.memory.observation import ENTRY_OVERHEAD, body

SHARE = 300
"""Thousandths of an entry's target that are kept for facts; the rest belongs to the summary. Where
that leaves room unused, strong facts may take it: a summariser that forgets loses them at no level.
"""
EXACT = (Kind.IDENTIFIER, Kind.ADDRESS, Kind.RECORD)
"""Kinds with values that nobody can guess or put in other words."""
PIECE = 5_000
"""Tokens of a source from which on exact values get by with that share. A smaller one may hold as
many of them, but its share is a few words: they have what the share of so many tokens would be."""
HALF = 500
"""Thousandths of its source that an entry may weigh for the sake of exact values."""
COVERED = 700
"""Thousandths of a clause's words that one line of the summary must hold to have said it."""
TELLING = 2
"""Words beside a value that make it one with a meaning."""
FRAME = 20
"""Tokens added to a fact's cost when worth is weighed, so that short facts do not win always."""
STRONG = 500
"""Rank from which on room is kept for a fact; weaker ones take what the summary leaves free."""


def reserve(facts: Sequence[Fact], target: int, count: Count) -> int:
    """Tokens of `target` to keep free for facts, before there is a summary."""
    lines = guard([fact for fact in facts if fact.rank >= STRONG], "", target, count)
    return count(body("", lines)) if lines else 0


def guard(
    facts: Sequence[Fact],
    content: str,
    target: int,
    count: Count,
    *,
    share: int = SHARE,
    source: int = 0,
) -> list[str]:
    """Those of the `facts` of a source that `content` does not say, as lines `day: clause`.

    The most important that fit, in the order in which they were told. Strong ones take up to
    `share` of `target` tokens, or all that the content leaves unused of it if that is more;
    weak ones only what is unused, within that share. Exact values may pass the target when
    `source`, the tokens of the source (0: unknown), is small: see `PIECE` and `HALF`. A fact is
    said when its values stand in a sentence of the content, or most of its words do.
    """
    summary = count(content)
    part, free = target * share // 1000, target - summary
    strong, weak = max(part, free) if content else part, min(part, free)
    exact = _of_a_piece(part, source, summary)
    said = _Said(content)
    page = _Page(count)
    for fact in _by_worth(facts, content, count):
        room = strong if fact.rank >= STRONG else weak
        if fact.kind in EXACT:
            room = max(room, exact)
        if page.tokens < room and not said.holds(fact) and page.cost(fact) <= room - page.tokens:
            page.add(fact)
            said.add(fact.text)
    lines = _distinct(page.lines())
    while lines and count(body("", lines)) > max(strong, exact):
        # What was added last is worth least.
        page.facts.pop()
        lines = _distinct(page.lines())
    return lines


def told(facts: Sequence[Fact], text: str) -> int:
    """How many of the facts a text says."""
    said = _Said(text)
    return sum(said.holds(fact) for fact in facts)


def _of_a_piece(part: int, source: int, summary: int) -> int:
    """Tokens that exact values have, where `part` of the target is what all facts have."""
    if source == 0:
        return 0
    return min(part * PIECE // source, source * HALF // 1000 - ENTRY_OVERHEAD - summary)


def _distinct(lines: Sequence[str]) -> list[str]:
    """The lines without those that a longer one begins with, word for word."""
    return [
        line
        for line in lines
        if not any(len(other) > len(line) and other.startswith(line) for other in lines)
    ]


class _Page:
    """Facts as they are written: date lines, and the values of one tool call on one line."""

    def __init__(self, count: Count) -> None:
        self.count = count
        self.tokens = count(body("", [""]))
        self.opened: dict[str, None] = {}
        self.facts: list[tuple[int, str, Fact]] = []

    def cost(self, fact: Fact) -> int:
        """Tokens that the page grows by."""
        starts = sum(
            self.count(text) for name, text in self._starts(fact) if name not in self.opened
        )
        return starts + self.count(_own(fact))

    def add(self, fact: Fact) -> None:
        """Writes a fact."""
        self.tokens += self.cost(fact)
        self.facts.append((fact.place, self._line_of(fact), fact))
        self.opened.update(dict.fromkeys(name for name, _ in self._starts(fact)))

    def lines(self) -> list[str]:
        """The facts in the order in which they were told."""
        calls: dict[str, tuple[str, str, list[tuple[str, str]]]] = {}
        texts: dict[str, str] = {}
        for _, name, fact in sorted(self.facts, key=lambda each: each[0]):
            called = noted(fact.text)
            if called is None:
                texts.setdefault(name, name)
                continue
            tool, pairs = called
            calls.setdefault(name, (fact.day, tool, []))[2].extend(pairs)
            texts.setdefault(name, "")
        for name, (day, tool, pairs) in calls.items():
            keys = list(dict.fromkeys(key for key, _ in pairs))
            keys.sort(key=lambda key: key.startswith(GAVE))
            distinct = dict.fromkeys(pairs)
            ordered = [pair for key in keys for pair in distinct if pair[0] == key]
            texts[name] = _line(day, "tool", written(tool, ordered))
        return list(texts.values())

    def _line_of(self, fact: Fact) -> str:
        """The name of the line that a fact stands on; for most facts that is the line itself.

        What a tool gave stands with what it was told. Where nothing of that is written, all that
        tools of one name gave shares a line.
        """
        called = noted(fact.text)
        if called is None:
            return _line(fact.day, fact.role, fact.text)
        tool, ((key, _), *_) = called
        own = f"{fact.day} {fact.place} {tool}"
        return own if own in self.opened or not key.startswith(GAVE) else f"{fact.day} {tool}"

    def _starts(self, fact: Fact) -> list[tuple[str, str]]:
        """What a fact needs before it once: the name under which that is known, and its text."""
        starts = [(f"day {fact.day}", f"\n{fact.day}:")] if fact.day else []
        if called := noted(fact.text):
            tool, ((key, _), *_) = called
            line = self._line_of(fact)
            starts += [(line, f"\ncalled {tool}:"), (f"{line} {key}", f" {key}")]
        return starts


def _own(fact: Fact) -> str:
    return f", {fact.values[0]}" if noted(fact.text) else f"\n{fact.text}"


def _line(day: str, role: str, text: str) -> str:
    said = f"assistant: {text}" if role == "assistant" else text
    said = " ".join(said.split())
    return f"{day}: {said}" if day else said


def _by_worth(facts: Sequence[Fact], content: str, count: Count) -> list[Fact]:
    """By rank for the words used; a value itself costs nothing here, since it cannot be shorter.

    Behind all others comes what the assistant repeats of exact values: each is told once before any
    is told twice.
    """
    known = dict.fromkeys(v for fact in facts if fact.role != "assistant" for v in fact.values)
    worth = []
    for i, fact in enumerate(facts):
        again = fact.role == "assistant" and fact.kind in EXACT
        again = again and all(value in known or value in content for value in fact.values)
        wording = max(1, count(_own(fact)) - sum(count(value) for value in fact.values))
        worth.append((again, -(fact.rank * 1000 // (wording + FRAME)), i))
    return [facts[i] for *_, i in sorted(worth)]


class _Said:
    """The lines of a text as words, to ask what it says already."""

    def __init__(self, content: str) -> None:
        self.sentences: list[tuple[str, list[str]]] = []
        for line in read(content):
            for sentence in sentences(line.text):
                self.add(sentence)

    def add(self, sentence: str) -> None:
        self.sentences.append((sentence, [w.stem for w in words(sentence)]))

    def holds(self, fact: Fact) -> bool:
        if fact.role == "tool":
            return any(all(v in text for v in fact.values) for text, _ in self.sentences)
        stems = list(dict.fromkeys(w.stem for w in words(fact.text)))
        if fact.values:
            return all(self._tells(value, stems) for value in fact.values)
        return any(_covers(own, stems) for _, own in self.sentences)

    def _tells(self, value: str, stems: Sequence[str]) -> bool:
        inside = [w.stem for w in words(value)]
        for text, own in self.sentences:
            if value in text:
                meaning = [s for s in stems if s not in inside]
                shared = sum(stem in own for stem in meaning)
                if shared >= min(TELLING, len(meaning)):
                    return True
        return False


def _covers(own: Sequence[str], stems: Sequence[str]) -> bool:
    return sum(stem in own for stem in stems) * 1000 >= len(stems) * COVERED
