"""Candidates for a question from the index of terms; they are ranked elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC

from psycopg import AsyncConnection

from perdure.archive.candidates import (
    CANDIDATES,
    MOST_HITS,
    REACH,
    Document,
    Filters,
    Matches,
)
from perdure.archive.lineage import Segment, Span, read_line
from perdure.archive.reading import within
from perdure.archive.records import ChainKey

ALL_HITS = 6_000
"""Those that are looked at for all terms of a question, each having an equal share of them."""
MOST_TERMS = 32

_SEGMENTS = """
unnest(%(chains)s::bigint[], %(firsts)s::bigint[], %(lasts)s::bigint[]) as s (chain_id, first, last)
"""
# With "+ 0", since a range of seqs tells the planner to read the whole primary key beside the
# index of terms, and once for every term.
_HOLDS = """
perdure.search_keys(m.chain_id, m.terms) @> array[s.chain_id || ':' || asked.term]
    and m.seq + 0 between s.first and s.last
"""
# A sum of inverse document frequencies, each message's own and a third of those around it: where
# a question is answered, its words are often spread over a few messages.
SEARCH = f"""
with hit as materialized (
    select asked.n, found.seq
    from {_SEGMENTS}
    cross join unnest(%(terms)s::text[]) with ordinality as asked (term, n)
    cross join lateral (
        select m.seq from perdure.messages m
        where {_HOLDS}
            and (%(role)s::text is null or m.role = %(role)s)
            and (%(since)s::timestamptz is null or m.at >= %(since)s)
            and (%(until)s::timestamptz is null or m.at <= %(until)s)
        limit %(most)s
    ) as found
), term as (
    select n, count(*) as hits, max(seq) as last from hit group by n
), own as (
    select seq, sum(ln(1 + %(total)s::float8 / term.hits)) as score
    from hit join term using (n) group by seq
), around as (
    select seq, score + sum(score) over near / 3 as score from own
    window near as (order by seq range between %(reach)s preceding and %(reach)s following)
), best as (
    select seq from around order by score desc, seq desc limit %(limit)s
)
select (select array_agg(seq) from best), (select array_agg(n) from term),
    (select array_agg(hits) from term), (select array_agg(last) from term)
"""
_LAST_SEQ = f"""
select max(found.seq) from {_SEGMENTS} cross join lateral (
    select seq from perdure.messages m
    where m.chain_id = s.chain_id and m.seq between s.first and s.last order by seq desc limit 1
) as found
"""
_DOCUMENTS = f"""
select m.seq, m.role, m.at, m.terms from {_SEGMENTS} join perdure.messages m
    on m.chain_id = s.chain_id and m.seq between s.first and s.last
where m.seq = any(%(seqs)s::bigint[])
"""
MENTIONS = f"""
select asked.word, found.role, found.text
from unnest(%(words)s::text[], %(terms)s::text[]) as asked (word, term)
cross join lateral (
    select m.role, left(m.text, 500) as text from {_SEGMENTS} join perdure.messages m on {_HOLDS}
    where position(asked.word in m.text) > 0 limit %(limit)s
) as found
"""


async def search(
    connection: AsyncConnection,
    key: ChainKey,
    terms: Sequence[str],
    filters: Filters,
    before: int | None,
) -> Matches:
    """See `Archive.search`."""
    line = _until(await read_line(connection, key), before)
    marks = _marks(line)
    row = await (await connection.execute(_LAST_SEQ, marks)).fetchone()
    if row is None or row[0] is None:
        return Matches()
    total = int(row[0]) + 1
    asked = list(dict.fromkeys(terms))[:MOST_TERMS]
    given = {"role": filters.role, "since": filters.since, "until": filters.until}
    most = min(MOST_HITS, ALL_HITS // max(1, len(asked)))
    limits = {"most": most, "reach": REACH, "limit": CANDIDATES, "total": total}
    cursor = await connection.execute(SEARCH, {**marks, **given, **limits, "terms": asked})
    found = await cursor.fetchone()
    if found is None or found[0] is None:
        return Matches(total)
    best, *counted = found
    seqs = sorted({seq + step for seq in best for step in range(-REACH, REACH + 1)})
    # As text, a thousand times and arrays take longer to read than to find.
    cursor = await connection.execute(_DOCUMENTS, {**marks, "seqs": seqs}, binary=True)
    documents = [
        Document(seq, role, at.astimezone(UTC), words)
        for seq, role, at, words in await cursor.fetchall()
    ]
    return Matches(total, _frequencies(asked, total, most, *counted), sorted(documents))


def _frequencies(
    asked: Sequence[str],
    total: int,
    most: int,
    numbers: list[int],
    hits: list[int],
    lasts: list[int],
) -> dict[str, int]:
    """Hits a term; those that were cut off stand as densely in the rest as before it."""
    return {
        asked[n - 1]: count if count < most else count * total // (last + 1)
        for n, count, last in zip(numbers, hits, lasts, strict=True)
    }


async def mentions(
    connection: AsyncConnection,
    key: ChainKey,
    words: Mapping[str, str],
    before: int | None,
    limit: int,
) -> dict[str, list[tuple[str, str]]]:
    """See `Archive.mentions`."""
    marks = _marks(_until(await read_line(connection, key), before))
    asked = {"words": list(words), "terms": list(words.values()), "limit": limit}
    found: dict[str, list[tuple[str, str]]] = {word: [] for word in words}
    for word, role, text in await (await connection.execute(MENTIONS, marks | asked)).fetchall():
        found[word].append((role, text))
    return found


def _until(line: Sequence[Segment], before: int | None) -> list[Segment]:
    if before is None:
        return list(line)
    return [replace(s, seqs=within(s.seqs, 0, before - 1)) for s in line]


def _marks(line: Sequence[Segment]) -> dict[str, object]:
    spans: list[Span] = [segment.seqs for segment in line]
    return {
        "chains": [segment.chain_id for segment in line],
        "firsts": [span.first for span in spans],
        "lasts": [span.last for span in spans],
    }
