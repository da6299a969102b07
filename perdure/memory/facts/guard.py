"""Which facts are written beside a summary."""

from collections.abc import Sequence

from perdure.memory.extract.lines import read
from perdure.memory.extract.sentences import sentences
from perdure.memory.extract.types import Count
from perdure.memory.extract.words import words
from perdure.memory.facts.collect import collect
from perdure.memory.facts.fact import Fact
from perdure.memory.facts.tools import noted, written
from perdure.memory.message import Message
from perdure.memory.observation import Observation, body

SHARE = 300
"""Thousandths of an entry's target that its facts may take; the rest belongs to the summary."""
COVERED = 700
"""Thousandths of a clause's words that one line of the summary must hold to have said it."""
TELLING = 2
"""Words beside a value that make it one with a meaning."""
FRAME = 20
"""Tokens added to a fact's cost when worth is weighed, so that short facts do not win always."""
STRONG = 500
"""Rank from which on room is kept for a fact; weaker ones take what the summary leaves free."""

Sources = Sequence[Message] | Sequence[Observation]


def reserve(sources: Sources, target: int, count: Count) -> int:
    """Tokens of `target` to keep free for facts, before there is a summary."""
    strong = [fact for fact in collect(sources) if fact.rank >= STRONG]
    facts = _chosen(strong, "", target, count)
    return count(body("", facts)) if facts else 0


def guard(sources: Sources, content: str, target: int, count: Count) -> list[str]:
    """The facts of `sources` that `content` does not say, as lines `day: clause`.

    The most important that fit `SHARE` of `target` tokens, in the order in which they were told;
    weak ones only where the content leaves `target` tokens unused. A fact is said when its values
    stand in a sentence of the content, or most of its words do.
    """
    return _chosen(collect(sources), content, target, count)


def _chosen(facts: Sequence[Fact], content: str, target: int, count: Count) -> list[str]:
    limit = target * SHARE // 1000
    free = target - count(content)
    said = _Said(content)
    chosen: list[Fact] = []
    spent = count(body("", [""]))
    # What was paid for already: a date line, and the start of a tool's line.
    opened: dict[str, None] = {}
    for fact in _by_worth(facts, count):
        room = limit if fact.rank >= STRONG else min(limit, free)
        if spent >= room or said.holds(fact):
            continue
        cost = 0
        for start, shown in _opens(fact):
            if start not in opened:
                cost += count(shown)
        cost += count(_own(fact))
        if spent + cost > room:
            continue
        spent += cost
        opened.update(dict.fromkeys(start for start, _ in _opens(fact)))
        chosen.append(fact)
        said.add(fact.text)
    chosen.sort(key=lambda fact: fact.place)
    lines = _lines(chosen)
    while lines and count(body("", lines)) > limit:
        lines.pop()
    return lines


def _opens(fact: Fact) -> list[tuple[str, str]]:
    """What a fact needs around it once, with a name under which it is known to be there."""
    opens = [(f"day {fact.day}", f"\n{fact.day}:")] if fact.day else []
    if called := noted(fact.text):
        tool, ((key, _), *_) = called
        at = f"{fact.day} {fact.place} {tool}"
        opens += [(at, f"\ncalled {tool}:"), (f"{at} {key}", f" {key}")]
    return opens


def _own(fact: Fact) -> str:
    return f", {fact.values[0]}" if noted(fact.text) else f"\n{fact.text}"


def _lines(facts: Sequence[Fact]) -> list[str]:
    """The facts as they stand in an entry; the values of one tool call share a line."""
    lines: dict[str, Fact | list[tuple[str, str]]] = {}
    heads: dict[str, tuple[str, str]] = {}
    for fact in facts:
        called = noted(fact.text)
        if called is None:
            lines.setdefault(_line(fact.day, fact.role, fact.text), fact)
            continue
        tool, pairs = called
        name = f"{fact.day} {fact.place} {tool}"
        heads[name] = (fact.day, tool)
        group = lines.setdefault(name, [])
        if isinstance(group, list):
            group.extend(pair for pair in pairs if pair not in group)
    out = []
    for name, held in lines.items():
        if isinstance(held, Fact):
            out.append(name)
        else:
            day, tool = heads[name]
            keys = list(dict.fromkeys(key for key, _ in held))
            pairs = [pair for key in keys for pair in held if pair[0] == key]
            out.append(_line(day, "tool", written(tool, pairs)))
    return out


def _line(day: str, role: str, text: str) -> str:
    said = f"assistant: {text}" if role == "assistant" else text
    said = " ".join(said.split())
    return f"{day}: {said}" if day else said


def _by_worth(facts: Sequence[Fact], count: Count) -> list[Fact]:
    """By rank for the words used; a value itself costs nothing here, since it cannot be shorter."""
    worth = []
    for i, fact in enumerate(facts):
        wording = max(1, count(_own(fact)) - sum(count(value) for value in fact.values))
        worth.append((-(fact.rank * 1000 // (wording + FRAME)), i))
    return [facts[i] for _, i in sorted(worth)]


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
            return all(any(v in text for text, _ in self.sentences) for v in fact.values)
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
