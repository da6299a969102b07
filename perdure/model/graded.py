"""Asking again, in grades, until a summary may be kept."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from perdure.contract import Usage
from perdure.errors import ModelError
from perdure.memory.plan import MIN_TARGET
from perdure.model.answer import BadSummary, one_answer, text_of
from perdure.model.pool import Pool
from perdure.model.provider import Provider, Summary, SummaryCall
from perdure.model.splitting import parted, weigh
from perdure.model.summary import source_room

CALLS = 12
"""How often the model is asked for one part at most, bad answers and pieces included."""
SHORTER = 600
"""Thousandths of its target within which a bad summary is asked for again."""
NARROWER = 600
"""Thousandths that are left of a source that the model calls too long."""
NARROWEST = 200
"""Tokens of sources below which it is not their length that a model objects to."""
_TOO_LONG = ("over_window", "request_too_large")

T = TypeVar("T")


class Asking:
    """What a model is asked for one part; `calls` and `usage` grow with every answer."""

    def __init__(self, provider: Provider, pool: Pool) -> None:
        self.calls = 0
        self.usage = Usage()
        self._provider = provider
        self._pool = pool
        self._room = 0

    async def graded(self, call: SummaryCall, judge: Callable[[Summary], Awaitable[T]]) -> T:
        """What `judge` makes of a summary; it raises BadSummary for one that may not be kept.

        A bad summary is asked for again: shorter, with a word on what was wrong, and then from
        halves of the source. What does not fit the model's window is cut into pieces at once,
        and their summaries are merged. Raises BadSummary when no grade helps or `CALLS` are used
        up, and any other ModelError as it comes: an outage is for the caller to wait out.
        """
        shorter = max(MIN_TARGET, call.target_tokens * SHORTER // 1000)
        self._room = source_room(call)
        fault = ""
        for target, finer in ((call.target_tokens, False), (shorter, False), (shorter, True)):
            asked = replace(call, target_tokens=target, fault=fault)
            try:
                parts = await self._pool.run(parted, asked, self._room, finer=finer)
                made = [summary for part in parts for summary in await self._made(part)]
                return await judge(_one(made, call))
            except BadSummary as error:
                fault = str(error)
        raise BadSummary(fault)

    async def _made(self, call: SummaryCall) -> list[Summary]:
        """The summaries of the pieces that a call must be cut into by now, in their order."""
        parts = await self._pool.run(parted, call, self._room)
        if len(parts) > 1:
            return [made for part in parts for made in await self._made(part)]
        try:
            return [await self._once(call)]
        except ModelError as error:
            if error.kind not in _TOO_LONG:
                raise
        room = await self._pool.run(weigh, call) * NARROWER // 1000
        if room < NARROWEST:
            raise BadSummary("the model calls even a small part of its source too long")
        self._room = min(self._room, room)
        return await self._made(call)

    async def _once(self, call: SummaryCall) -> Summary:
        if self.calls == CALLS:
            raise BadSummary(f"the model was asked {CALLS} times in vain")
        self.calls += 1
        try:
            summary = await self._provider.summarise(call)
        except BadSummary as bad:
            self.usage += bad.usage or Usage()
            raise
        self.usage += summary.usage or Usage()
        return summary


def _one(made: list[Summary], call: SummaryCall) -> Summary:
    if len(made) == 1:
        return made[0]
    answer = one_answer([summary.answer for summary in made if summary.answer is not None], call)
    return replace(made[-1], content=text_of(answer, call), answer=answer)
