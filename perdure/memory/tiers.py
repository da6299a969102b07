"""What the calendar makes due: days, weeks, months, and in the end facts.

Budgets come first. An entry that they made, and that goes over the end of a period, belongs to
the period in which it ends.
"""

import calendar
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from perdure.memory.groups import cuts
from perdure.memory.message import Message
from perdure.memory.observation import Observation
from perdure.memory.plan import MIN_SOURCE, Part, Plan, chunks, kept_from, part_from, weigh
from perdure.memory.policy import MemoryPolicy
from perdure.memory.state import Memory
from perdure.memory.zone import Zone

# A conversation that was imported with its years is gone through in steps of so many parts.
PARTS_AT_ONCE = 20


def _month_end(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _week_end(day: date) -> date:
    """Sunday, or the end of the month if that comes before: a month is made of whole weeks."""
    return min(day + timedelta(days=6 - day.weekday()), _month_end(day))


@dataclass(frozen=True, slots=True)
class Tier:
    """Entries of `level` that stand for a period each, made `after` days from its last day on.

    `end` gives the last day of the period that a day belongs to.
    """

    level: int
    after: int
    end: Callable[[date], date]

    def due(self, day: date) -> date:
        """When what is of that day is taken into an entry of this tier."""
        return self.end(day) + timedelta(days=self.after)


FACTS_LEVEL = 4
TIERS = (
    Tier(1, 7, lambda day: day),
    Tier(2, 30, _week_end),
    Tier(3, 90, _month_end),
    Tier(FACTS_LEVEL, 365, _month_end),
)
"""Seven days stay word for word, then there is an entry a day, after thirty days an entry a week,
after ninety an entry a month, and after a year the facts of each month."""


def due_by_calendar(
    memory: Memory, policy: MemoryPolicy, zone: Zone, now: datetime, open_seq: int | None = None
) -> Plan | None:
    """What has become old enough for the next tier, or None.

    The newest `keep_recent_messages` stay, and so do `open_seq` and what follows it. What is too
    little for an entry goes with the next period.
    """
    if not (policy.enabled and policy.calendar):
        return None
    today = zone.day(now)
    for tier in TIERS:
        parts = (
            _days(memory, policy, zone, today, open_seq)
            if tier.level == 1
            else _periods(memory, policy, zone, today, tier)
        )
        if parts:
            return Plan(
                urgency="background",
                parts=parts[:PARTS_AT_ONCE],
                facts_only=tier.level == FACTS_LEVEL,
            )
    return None


def next_due(memory: Memory, policy: MemoryPolicy, zone: Zone, now: datetime) -> date | None:
    """The first day after today on which something more becomes due, if no message comes."""
    if not (policy.enabled and policy.calendar):
        return None
    today = zone.day(now)
    dates = [
        tier.due(day)
        for tier in TIERS
        for day in _dated(zone, _below(memory, policy, tier.level, None))
    ]
    return min((day for day in dates if day > today), default=None)


def _below(
    memory: Memory, policy: MemoryPolicy, level: int, open_seq: int | None
) -> Sequence[Message | Observation]:
    """What entries of `level` are made from, oldest first, as far as it may leave."""
    if level > 1:
        return memory.level(level - 1)
    first = memory.next_seq - len(memory.messages)
    open_from = len(memory.messages) if open_seq is None else max(0, open_seq - first)
    newest = policy.model_copy(update={"keep_recent": 0})
    return memory.messages[: kept_from(memory.messages, newest, open_from)]


def _dated(zone: Zone, sources: Sequence[Message | Observation]) -> Iterator[date]:
    """The day of each source, never before that of an earlier one."""
    latest = date.min
    for source in sources:
        at = source.at if isinstance(source, Message) else source.end_time
        latest = max(latest, zone.day(at))
        yield latest


def _ends(
    zone: Zone, sources: Sequence[Message | Observation], tier: Tier, today: date
) -> Iterator[int]:
    """The index after each period that is due, ascending."""
    before: date | None = None
    for index, day in enumerate(_dated(zone, sources)):
        if before is not None and tier.end(day) != tier.end(before):
            yield index
        if tier.due(day) > today:
            return
        before = day
    if sources:
        yield len(sources)


def _days(
    memory: Memory, policy: MemoryPolicy, zone: Zone, today: date, open_seq: int | None
) -> list[Part]:
    tier = TIERS[0]
    made: list[Sequence[Message]] = []
    start = 0
    allowed = cuts(memory.messages)
    for end in _ends(zone, _below(memory, policy, tier.level, open_seq), tier, today):
        # A tool call at midnight belongs to the day of its result.
        places = allowed[bisect_left(allowed, start) : bisect_right(allowed, end)]
        found = chunks(memory, places, policy.observe_chunk)
        start += sum(map(len, found))
        made += found
        if len(made) >= PARTS_AT_ONCE:
            break
    return [part_from(memory, tier.level, chunk, policy.target_ratio) for chunk in made]


def _periods(
    memory: Memory, policy: MemoryPolicy, zone: Zone, today: date, tier: Tier
) -> list[Part]:
    entries = memory.level(tier.level - 1)
    parts: list[Part] = []
    start = 0
    for end in _ends(zone, entries, tier, today):
        if weigh(memory, entries[start:end]) >= MIN_SOURCE:
            parts.append(part_from(memory, tier.level, entries[start:end], policy.reflect_ratio))
            start = end
    return parts
