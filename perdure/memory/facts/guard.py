"""Which facts are written beside a summary."""

from collections.abc import Sequence

from perdure.memory.extract.lines import read
from perdure.memory.extract.sentences import sentences
from perdure.memory.extract.types import Count
from perdure.memory.extract.words import words
from perdure.memory.facts.collect import collect
from perdure.memory.facts.fact import Fact
from perdure.memory.message import Message
from perdure.memory.observation import Observation, body, dated

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
    chosen: list[tuple[Fact, str]] = []
    spent = count(body("", [""]))
    days: dict[str, None] = {}
    for fact in _by_worth(facts, count):
        room = limit if fact.rank >= STRONG else min(limit, free)
        if spent >= room or said.holds(fact):
            continue
        line = written(fact)
        cost = count(f"\n{dated(line)[1]}")
        if fact.day not in days:
            cost += count(f"\n{fact.day}:")
        if spent + cost > room:
            continue
        spent += cost
        days[fact.day] = None
        chosen.append((fact, line))
        said.add(fact.text)
    chosen.sort(key=lambda pair: pair[0].place)
    lines = list(dict.fromkeys(line for _, line in chosen))
    while lines and count(body("", lines)) > limit:
        lines.pop()
    return lines


def written(fact: Fact) -> str:
    """A fact as it stands in an entry."""
    said = f"assistant: {fact.text}" if fact.role == "assistant" else fact.text
    said = " ".join(said.split())
    return f"{fact.day}: {said}" if fact.day else said


def _by_worth(facts: Sequence[Fact], count: Count) -> list[Fact]:
    worth = [(-(f.rank * 1000 // (count(f.text) + FRAME)), i) for i, f in enumerate(facts)]
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
