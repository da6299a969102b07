"""The messages that fit a question, from the archive and the workflow as one conversation."""

from collections import Counter
from collections.abc import Sequence

from perdure.archive.candidates import Document, Matches
from perdure.memory.terms import terms
from perdure.recall.asked import Asked, Found
from perdure.recall.days import days
from perdure.recall.found import Excerpt
from perdure.recall.names import bearer, capitalised, role_named
from perdure.recall.rank import rank, weights


async def from_messages(asked: Asked) -> Found:
    """The messages that fit best, whole, best first."""
    archive, tail = asked.archive, asked.tail
    ends = [Document(m.seq, m.role, m.at, terms(m.text)) for m in tail]
    named = await _named(asked, ends)
    looked = [term for term in asked.terms if term not in named] or asked.terms
    matches = Matches()
    if archive is not None:
        matches = await archive.search(asked.key, looked, asked.filters, before=asked.before)
    total = matches.total + len(tail)
    frequencies = Counter(matches.frequencies)
    frequencies.update(term for end in ends for term in set(end.terms))
    heavy = weights(looked, frequencies, total)
    speakers = {role_named(asked.question), *named.values()} - {None}
    speaker = speakers.pop() if len(speakers) == 1 else None
    ranked = rank([*matches.documents, *ends], heavy, speaker=speaker, days=days(asked.question))
    best = [pair for pair in ranked if asked.filters.admit(pair[1])][: asked.most]
    texts = {m.seq: m.text for m in tail}
    if archive is not None:
        wanted = [document.seq for _, document in best if document.seq not in texts]
        texts |= {m.seq: m.text for m in await archive.messages_at(asked.key, wanted)}
    excerpts = [
        Excerpt(seq=d.seq, role=d.role, at=d.at, text=texts[d.seq], score=round(score, 3))
        for score, d in best
    ]
    return Found(total, heavy, excerpts)


async def _named(asked: Asked, ends: Sequence[Document]) -> dict[str, str]:
    """Terms of the question that are a name of one of the two, with whose."""
    made = {word: terms(word) for word in capitalised(asked.question)}
    words = {word: of_it[0] for word, of_it in made.items() if len(of_it) == 1}
    heard: dict[str, list[tuple[str, str]]] = {}
    if words and asked.archive is not None:
        heard = await asked.archive.mentions(asked.key, words, before=asked.before)
    found: dict[str, str] = {}
    for word, term in words.items():
        last = ((m.role, m.text) for m, e in zip(asked.tail, ends, strict=True) if term in e.terms)
        if (role := bearer(word, [*last, *heard.get(word, ())])) is not None:
            found[term] = role
    return found
