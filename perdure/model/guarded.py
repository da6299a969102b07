"""A summary with the facts that it must not lose, whoever wrote it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perdure.contract import Usage
from perdure.memory.apply import Compacted, most_tokens
from perdure.memory.facts import Fact, collect, guard, reserve
from perdure.memory.message import Message
from perdure.memory.observation import Observation, body
from perdure.memory.plan import MIN_TARGET
from perdure.model.answer import BadSummary
from perdure.model.extractive import MODEL as EXTRACTIVE
from perdure.model.extractive import summarise_extractively, telling
from perdure.model.graded import Asking
from perdure.model.offline import MODEL as OFFLINE
from perdure.model.pool import Pool
from perdure.model.provider import Provider, Summary, SummaryCall
from perdure.model.tokens import count

SILENT = "Nothing was said in words."
"""The content of an entry whose sources hold no text."""
FACTS_ONLY = "Of this time only the facts are kept."
"""The content of an entry that is left with facts alone."""
FACTS_VERSION = "facts-1"


@dataclass(frozen=True, slots=True)
class Guarded:
    """A summary, the facts that stand beside it, and the tokens of both as they are written.

    `calls` and `usage` are of all that the model was asked for it. `fault` says why the summary
    is not the model's, where it should have been.
    """

    summary: Summary
    facts: list[str]
    tokens: int
    calls: int = 0
    usage: Usage | None = None
    fault: str | None = None

    def compacted(self, identity: str) -> Compacted:
        """What a compaction of that identity gives back."""
        return Compacted(
            content=self.summary.content,
            facts=self.facts,
            tokens=self.tokens,
            method=self.summary.method,
            model=self.summary.model,
            prompt_version=self.summary.prompt_version,
            identity=identity,
        )


async def summarise(provider: Provider, pool: Pool, call: SummaryCall) -> Guarded:
    """An entry that keeps the facts of its sources; what a call says is all that it depends on.

    The provider is asked for the target less what the facts take, so the entry meets
    `call.target_tokens` as far as the provider keeps to that. Bad answers are asked for again
    (see `Asking`), and in the end the entry is made extractively: a model that answers nonsense
    cannot hold up a compaction. Raises ModelError for an outage, a wrong key or a refused request.
    """
    if call.model == OFFLINE:
        return await pool.run(extractively, call)
    facts = await pool.run(facts_of, call)
    asking = Asking(provider, pool)

    async def judged(summary: Summary) -> Guarded:
        made = await pool.run(guarded, call, facts, summary)
        if call.source_tokens and made.tokens > most_tokens(call.source_tokens):
            raise BadSummary("it is not clearly shorter than its source")
        return made

    fault = None
    try:
        made = await asking.graded(with_room(call, facts), judged)
    except BadSummary as error:
        made, fault = await pool.run(extractively, call), str(error)
    return replace(made, calls=asking.calls, usage=asking.usage, fault=fault)


def facts_of(call: SummaryCall) -> list[Fact]:
    """What the sources say that must survive."""
    messages = [s for s in call.sources if isinstance(s, Message)]
    entries = [s for s in call.sources if isinstance(s, Observation)]
    return collect(telling(messages) if messages else entries)


def with_room(call: SummaryCall, facts: Sequence[Fact]) -> SummaryCall:
    """The call with so much taken from its target as the facts need."""
    taken = reserve(facts, call.target_tokens, count)
    return replace(call, target_tokens=max(MIN_TARGET, call.target_tokens - taken))


def guarded(call: SummaryCall, facts: Sequence[Fact], summary: Summary) -> Guarded:
    """The summary with the facts that it does not say."""
    lines = guard(facts, summary.content, call.target_tokens, count, source=call.source_tokens)
    return Guarded(summary, lines, count(body(summary.content, lines)))


def refilled(call: SummaryCall, facts: Sequence[Fact], summary: Summary) -> Guarded:
    """An extractive summary, made again for exactly the room that its facts leave it."""
    first = guarded(call, facts, summary)
    free = call.target_tokens - first.tokens
    if free < MIN_TARGET // 2:
        return first
    exact = replace(call, target_tokens=max(MIN_TARGET, count(summary.content) + free))
    second = guarded(call, facts, summarise_extractively(exact))
    return second if second.tokens <= max(first.tokens, call.target_tokens) else first


def facts_alone(call: SummaryCall) -> Guarded:
    """The facts of the sources and nothing else, the most important that fit the target."""
    room = max(1, call.target_tokens - count(body(FACTS_ONLY, [""])))
    lines = guard(facts_of(call), FACTS_ONLY, room, count, share=1000)
    summary = Summary(FACTS_ONLY, "extractive", EXTRACTIVE, FACTS_VERSION)
    return Guarded(summary, lines, count(body(FACTS_ONLY, lines)))


def extractively(call: SummaryCall) -> Guarded:
    """What `summarise` gives for the extractive engine, and in the end for every other.

    A pure function that cannot fail, and never gives a blank text.
    """
    facts = facts_of(call)
    made = refilled(call, facts, summarise_extractively(with_room(call, facts)))
    if made.summary.content.strip():
        return made
    return guarded(call, facts, replace(made.summary, content=SILENT))
