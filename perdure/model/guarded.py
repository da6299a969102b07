"""A summary with the facts that it must not lose, whoever wrote it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perdure.memory.compact import MIN_TARGET
from perdure.memory.facts import guard, reserve
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
    """An entry that keeps the facts of its sources, within `call.target_tokens` as far as the
    provider keeps to its own.

    The provider is asked for the target less what the facts take. Raises ModelError.
    """
    summary = await provider.summarise(await pool.run(with_room, call))
    if summary.method == "extractive":
        return await pool.run(refilled, call, summary)
    return await pool.run(guarded, call, summary)


def with_room(call: SummaryCall) -> SummaryCall:
    """The call with so much taken from its target as the facts of its sources need."""
    taken = reserve(_sources(call), call.target_tokens, count)
    return replace(call, target_tokens=max(MIN_TARGET, call.target_tokens - taken))


def guarded(call: SummaryCall, summary: Summary) -> Guarded:
    """The summary with the facts that it does not say."""
    facts = guard(_sources(call), summary.content, call.target_tokens, count)
    return Guarded(summary, facts, count(body(summary.content, facts)))


def refilled(call: SummaryCall, summary: Summary) -> Guarded:
    """An extractive summary, made again for the room that its facts have left free."""
    first = guarded(call, summary)
    free = call.target_tokens - first.tokens
    if free < MIN_TARGET // 2:
        return first
    size = call.target_tokens - first.tokens + count(summary.content)
    second = guarded(call, summarise_extractively(replace(call, target_tokens=size)))
    return second if second.tokens <= call.target_tokens else first


def extractively(call: SummaryCall) -> Guarded:
    """What `summarise` gives for the extractive engine; a pure function."""
    return refilled(call, summarise_extractively(with_room(call)))


def _sources(call: SummaryCall) -> Sequence[Message] | Sequence[Observation]:
    messages = [s for s in call.sources if isinstance(s, Message)]
    return (
        telling(messages) if messages else [s for s in call.sources if isinstance(s, Observation)]
    )
