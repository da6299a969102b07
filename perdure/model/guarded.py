"""A summary with the facts that it must not lose, whoever wrote it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perdure.memory.compact import MIN_TARGET
from perdure.memory.facts import Fact, collect, guard, reserve
from perdure.memory.message import Message
from perdure.memory.observation import Observation, body
from perdure.model.extractive import summarise_extractively, telling
from perdure.model.pool import Pool
from perdure.model.provider import Provider, Summary, SummaryCall
from perdure.model.tokens import count


@dataclass(frozen=True, slots=True)
class Guarded:
    """A summary, the facts that stand beside it, and the tokens of both as they are written."""

    summary: Summary
    facts: list[str]
    tokens: int


async def summarise(provider: Provider, pool: Pool, call: SummaryCall) -> Guarded:
    """An entry that keeps the facts of its sources.

    The provider is asked for the target less what the facts take, so the entry meets
    `call.target_tokens` as far as the provider keeps to that. Raises ModelError.
    """
    facts = await pool.run(facts_of, call)
    summary = await provider.summarise(with_room(call, facts))
    return await pool.run(
        refilled if summary.method == "extractive" else guarded, call, facts, summary
    )


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
    lines = guard(facts, summary.content, call.target_tokens, count)
    return Guarded(summary, lines, count(body(summary.content, lines)))


def refilled(call: SummaryCall, facts: Sequence[Fact], summary: Summary) -> Guarded:
    """An extractive summary, made again for exactly the room that its facts leave it."""
    first = guarded(call, facts, summary)
    free = call.target_tokens - first.tokens
    if 0 <= free < MIN_TARGET // 2:
        return first
    exact = replace(call, target_tokens=max(MIN_TARGET, count(summary.content) + free))
    second = guarded(call, facts, summarise_extractively(exact))
    return second if second.tokens <= max(first.tokens, call.target_tokens) else first


def extractively(call: SummaryCall) -> Guarded:
    """What `summarise` gives for the extractive engine; a pure function."""
    facts = facts_of(call)
    return refilled(call, facts, summarise_extractively(with_room(call, facts)))
