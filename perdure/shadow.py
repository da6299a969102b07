"""Shadow compaction: recorded ranges summarised once more, in another way, and compared.

It runs where it is asked for, not in the conversation, which it leaves as it is. Only what is
adopted (`adopting`) goes there, with `Conversation.supersede`.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from perdure.contract import ConversationConfig, LedgerRow, Supersede, Usage
from perdure.errors import ArchiveError, ArchiveMissing, Refused
from perdure.memory.apply import Compacted
from perdure.memory.evaluate import Query
from perdure.memory.extract.importance import Importance, importance
from perdure.memory.facts import Fact, told
from perdure.memory.matching import holds, normalised
from perdure.memory.message import Message
from perdure.memory.observation import Method, Observation, body
from perdure.memory.plan import Part, target_of
from perdure.memory.rebuild import Outline
from perdure.memory.sources import previous_end
from perdure.model.choose import Providers
from perdure.model.guarded import Guarded, facts_of, summarise
from perdure.model.pool import Pool
from perdure.model.prices import Price, Prices, price_of, priced
from perdure.model.provider import SummaryCall
from perdure.past import PAGE_ROWS, Past

AT_ONCE = 4
"""Summaries that are made at the same time."""


@dataclass(frozen=True, slots=True)
class Summariser:
    """Who makes summaries here; `model` is for conversations that name none.

    It is a worker's own, where summaries are to be as the worker would make them.
    """

    providers: Providers
    pool: Pool
    prices: Prices
    model: str
    importance: Importance = importance


class Column(BaseModel):
    """One summary of a range. `tokens` are those of content and facts.

    `told` counts the facts of the sources that `content` says, `kept` those that it or `facts`
    say; `score` is the share that is kept. `answered` counts the queries whose expected answer
    stands in it, where there are queries. `usage` comes with its cost, by the prices of the one
    who asks, and is None where no model was called.
    """

    content: str
    facts: list[str]
    method: Method
    model: str
    prompt_version: str
    tokens: int
    ratio: float
    told: int
    kept: int
    score: float
    answered: int | None = None
    usage: Usage | None = None
    ms: int = 0


class Shadow(BaseModel):
    """The row `n` of the ledger, as it `was` made and as it would be `now`.

    `facts` counts what the sources say that should survive, `answers` the queries whose expected
    answer they hold. `stands`: the entry is in the memory
    still, so that the new text can supersede it. `fault` tells why the new one is not the model's,
    where it should have been.
    """

    n: int
    id: str
    identity: str
    level: int
    first_seq: int
    last_seq: int
    source_tokens: int
    facts: int
    answers: int | None = None
    stands: bool = False
    was: Column
    now: Column
    fault: str | None = None

    @property
    def is_new(self) -> bool:
        """Whether it would say anything else than it says."""
        was, now = self.was, self.now
        return (now.content, now.facts) != (was.content, was.facts)

    @property
    def adopting(self) -> Supersede:
        """What is sent to the conversation to adopt the new text."""
        made = self.now
        return Supersede(
            id=self.id,
            identity=self.identity,
            content=made.content,
            facts=made.facts,
            tokens=made.tokens,
            method=made.method,
            model=made.model,
            prompt_version=made.prompt_version,
            usage=made.usage,
            ms=made.ms,
        )


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A row, with the end of what stood before its range when it was made."""

    row: LedgerRow
    previous: str


async def shadow(
    past: Past,
    config: ConversationConfig,
    summariser: Summariser,
    *,
    last: int,
    rows: Sequence[int] = (),
    queries: Sequence[Query] = (),
) -> list[Shadow]:
    """The `last` rows of the ledger, or `rows`, as the conversation would make them with `config`.

    What a summary is made from comes from the archive. `queries` are those of `perdure evaluate`:
    it is counted how many of those that its originals answer a text answers too. Raises Refused
    for a row that there is not, ArchiveMissing and ArchiveError where the originals cannot be
    had, and ModelError when the model fails.
    """
    found = await _recorded(past)
    wanted = list(rows) or list(range(max(0, len(found) - last), len(found)))
    for n in wanted:
        if not 0 <= n < len(found):
            known = f"they are numbered 0 to {len(found) - 1}" if found else "it has none yet"
            raise Refused(f"{past.conversation} has no compaction {n}; {known}")
    room = asyncio.Semaphore(AT_ONCE)

    async def one(recorded: _Recorded) -> Shadow:
        async with room:
            call = await _call(past, config, recorded, summariser)
            started = time.monotonic()
            made = await summarise(summariser.providers.of(call.model), summariser.pool, call)
            ms = round((time.monotonic() - started) * 1000)
        price = price_of(summariser.prices, recorded.row.observation.model)
        both = await summariser.pool.run(compared, recorded.row, call, made, price, queries)
        return both.model_copy(update={"now": both.now.model_copy(update={"ms": ms})})

    made = await asyncio.gather(*(one(found[n]) for n in dict.fromkeys(wanted)))
    return [standing(past, each) for each in made]


def standing(past: Past, made: Shadow) -> Shadow:
    """`made` with what is true by now of whether its entry `stands`."""
    entries = past.held.resumable.memory.observations
    stands = any((o.id, o.identity) == (made.id, made.identity) for o in entries)
    return made.model_copy(update={"stands": stands})


async def again(past: Past, made: Sequence[Shadow]) -> list[Shadow]:
    """What was made earlier, by the conversation as it is now.

    Raises Refused when it was made for another conversation.
    """
    for each in made:
        entry = await past.entry(each.id)
        if past.archive is not None and (entry is None or entry.identity != each.identity):
            raise Refused(
                f"{past.conversation} has no entry {each.id} like that; it was made for another "
                "conversation"
            )
    return [standing(past, each) for each in made]


async def _recorded(past: Past) -> list[_Recorded]:
    """Every row of the ledger, in order."""
    if past.archive is None:
        raise ArchiveMissing(
            f"what {past.conversation} was summarised from stands in the archive of its worker; "
            "set PERDURE_DATABASE_URL"
        )
    total = past.held.resumable.rows
    memory = Outline()
    found: list[_Recorded] = []
    for start in range(0, total, PAGE_ROWS):
        end = min(total, start + PAGE_ROWS)
        for n, row in await past.rows(end, end - start):
            if n != len(found):
                raise ArchiveError(f"compaction {len(found)} is missing in the archive")
            entry = row.observation
            found.append(_Recorded(row, previous_end(memory.observations, entry.first_seq)))
            memory.take_entry(entry)
    return found


async def _call(
    past: Past, config: ConversationConfig, recorded: _Recorded, summariser: Summariser
) -> SummaryCall:
    """What the summariser is asked for a row."""
    policy, row, entry = config.policy, recorded.row, recorded.row.observation
    ratio = policy.target_ratio if entry.level == 1 else policy.reflect_ratio
    part = Part(
        level=entry.level,
        first_seq=entry.first_seq,
        last_seq=entry.last_seq,
        source_tokens=row.source_tokens,
        target_tokens=target_of(row.source_tokens, ratio),
    )
    return SummaryCall.of(
        part,
        policy,
        await _sources(past, entry),
        model=config.summary_model or config.model or summariser.model,
        previous=recorded.previous,
        window=policy.calibrated(past.held.resumable.calibration).input_limit,
        importance=summariser.importance,
    )


async def _sources(past: Past, entry: Observation) -> list[Message] | list[Observation]:
    if entry.level == 1:
        return [m async for m in past.messages(entry.first_seq, entry.last_seq, expand=True)]
    entries = []
    for id_ in entry.sources:
        found = await past.entry(id_)
        if found is None:
            raise ArchiveError(f"{id_}, from which {entry.id} was made, is missing in the archive")
        entries.append(found)
    return entries


def compared(
    row: LedgerRow,
    call: SummaryCall,
    made: Guarded,
    price: Price | None,
    queries: Sequence[Query] = (),
) -> Shadow:
    """Both summaries of a row, weighed and scored; `price` is that of the older one's model."""
    said = [normalised(s.text if isinstance(s, Message) else s.body) for s in call.sources]
    wanted = [normalised(query.expected_answer) for query in queries]
    answers = [answer for answer in wanted if any(holds(text, answer) for text in said)]
    entry, facts = row.observation, facts_of(call)
    was = Compacted(
        content=entry.content,
        facts=entry.facts,
        tokens=entry.compressed_tokens,
        method=entry.method,
        model=entry.model,
        prompt_version=entry.prompt_version,
        identity=entry.identity,
    )
    usage = row.usage and priced(row.usage, price)

    def column(text: Compacted, usage: Usage | None, ms: int = 0) -> Column:
        shown = normalised(body(text.content, text.facts))
        answered = sum(holds(shown, answer) for answer in answers) if queries else None
        found = _column(row.source_tokens, facts, text)
        return found.model_copy(update={"usage": usage, "ms": ms, "answered": answered})

    return Shadow(
        n=row.n,
        id=entry.id,
        identity=entry.identity,
        level=entry.level,
        first_seq=entry.first_seq,
        last_seq=entry.last_seq,
        source_tokens=row.source_tokens,
        facts=len(facts),
        answers=len(answers) if queries else None,
        was=column(was, usage, row.ms),
        now=column(made.compacted(""), made.usage),
        fault=made.fault,
    )


def _column(source_tokens: int, facts: Sequence[Fact], made: Compacted) -> Column:
    kept = told(facts, body(made.content, made.facts))
    return Column(
        **made.model_dump(exclude={"identity"}),
        ratio=round(source_tokens / max(1, made.tokens), 2),
        told=told(facts, made.content),
        kept=kept,
        score=round(kept / len(facts), 3) if facts else 1.0,
    )
