"""The entries of the memory that fit a question."""

from collections import Counter
from collections.abc import Iterable

from perdure.archive.candidates import Document, Filters
from perdure.memory.observation import Observation
from perdure.memory.terms import terms
from perdure.recall.asked import Asked, Found
from perdure.recall.found import Excerpt
from perdure.recall.rank import rank, weights


async def from_entries(asked: Asked, level: int) -> Found:
    """The entries of a level that fit best, whole, best first.

    All of the level are read: they are few beside the messages they stand for. Those that another
    text has superseded are left out.
    """
    made = await asked.archive.observations(asked.key) if asked.archive is not None else []
    left = [e for e in made if asked.before is None or e.last_seq < asked.before]
    of_level = [e for e in newest([*left, *asked.entries]) if e.level == level]
    entries = [entry for entry in of_level if _overlaps(entry, asked.filters)]
    documents = [
        Document(place, f"level {level}", entry.start_time, terms(entry.body))
        for place, entry in enumerate(entries)
    ]
    frequencies = Counter(term for document in documents for term in set(document.terms))
    heavy = weights(asked.terms, frequencies, len(documents))
    excerpts = []
    for score, document in rank(documents, heavy, reach=0)[: asked.most]:
        entry = entries[document.seq]
        excerpts.append(
            Excerpt(
                seq=entry.first_seq,
                role=document.role,
                at=entry.start_time,
                text=entry.body,
                score=round(score, 3),
                entry=entry.id,
            )
        )
    return Found(len(of_level), heavy, excerpts)


def newest(entries: Iterable[Observation]) -> list[Observation]:
    """Each entry once, without those that another one of them supersedes, in their order."""
    known = {entry.id: entry for entry in entries}
    superseded = {entry.supersedes for entry in known.values()}
    return [entry for id_, entry in known.items() if id_ not in superseded]


def _overlaps(entry: Observation, filters: Filters) -> bool:
    return (filters.since is None or entry.end_time >= filters.since) and (
        filters.until is None or entry.start_time <= filters.until
    )
