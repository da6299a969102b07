"""The calendar: seven days word for word, then days, weeks, months, and facts."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.memory.message import Message, Role
from perdure.memory.observation import Observation
from perdure.memory.plan import MIN_SOURCE, Plan, next_compaction
from perdure.memory.policy import MemoryPolicy
from perdure.memory.sources import sources
from perdure.memory.state import Memory, append, check
from perdure.memory.tiers import FACTS_LEVEL, PARTS_AT_ONCE, TIERS, due_by_calendar, next_due
from perdure.memory.zone import Zone
from tests.memory.test_zone import ZONES
from tests.support.conversations import POLICIES, compact_once, stands_alone, text_block

BERLIN = ZONES["Europe/Berlin"]
# Budgets that nothing here comes near.
CALM = MemoryPolicy(
    calendar=True,
    message_budget=1_000_000,
    observation_budget=1_000_000,
    level_budget=1_000_000,
    context_window=9_000_000,
    keep_recent_messages=0,
)
DAY = timedelta(days=1)


def said(times: Sequence[datetime], tokens: int = 300) -> Memory:
    memory = Memory()
    for number, at in enumerate(times):
        role: Role = "assistant" if number % 2 else "user"
        memory = append(memory, role, [text_block(f"message {number}")], at, tokens=tokens)
    return memory


def daily(first: datetime, days: int, tokens: int = 300) -> Memory:
    """Two messages a day."""
    times = [first + n * DAY + timedelta(hours=h) for n in range(days) for h in (0, 1)]
    return said(times, tokens)


def caught_up(
    memory: Memory, policy: MemoryPolicy, zone: Zone, now: datetime, plans: list[Plan] | None = None
) -> Memory:
    """Everything done that is due; the memory is checked after each step."""
    for _ in range(200):
        plan = next_compaction(memory, policy) or due_by_calendar(memory, policy, zone, now)
        if plan is None:
            return memory
        if plans is not None:
            plans.append(plan)
        memory = compact_once(memory, plan)
        check(memory)
        assert stands_alone(memory)
    raise AssertionError("compaction does not come to an end")


def days_of(zone: Zone, memory: Memory, level: int) -> list[tuple[date, date]]:
    """The local days at which the entries of a level begin and end."""
    return [(zone.day(o.start_time), zone.day(o.end_time)) for o in memory.level(level)]


def test_seven_days_stay_word_for_word() -> None:
    first = datetime(2026, 3, 2, 9, tzinfo=UTC)
    memory = daily(first, 7)
    sunday = datetime(2026, 3, 8, 22, tzinfo=UTC)
    assert due_by_calendar(memory, CALM, BERLIN, sunday) is None
    assert next_due(memory, CALM, BERLIN, sunday) == date(2026, 3, 9)
    plan = due_by_calendar(memory, CALM, BERLIN, sunday + timedelta(hours=1))
    assert plan is not None
    assert [(p.level, p.first_seq, p.last_seq) for p in plan.parts] == [(1, 0, 1)]
    assert plan.urgency == "background"
    without = CALM.model_copy(update={"calendar": False})
    assert due_by_calendar(memory, without, BERLIN, sunday + 100 * DAY) is None
    assert next_due(memory, without, BERLIN, sunday) is None


def test_days_become_weeks_weeks_months_and_months_facts() -> None:
    memory = daily(datetime(2025, 1, 1, 9, tzinfo=UTC), 420)
    now = datetime(2026, 2, 25, 12, tzinfo=UTC)
    plans: list[Plan] = []
    memory = caught_up(memory, CALM, BERLIN, now, plans)
    facts = days_of(BERLIN, memory, FACTS_LEVEL)
    assert facts == [(date(2025, 1, 1), date(2025, 1, 31))]
    months = days_of(BERLIN, memory, 3)
    assert months[0] == (date(2025, 2, 1), date(2025, 2, 28))
    assert months[-1] == (date(2025, 10, 1), date(2025, 10, 31))
    assert len(months) == 9
    weeks = days_of(BERLIN, memory, 2)
    # A month is made of whole weeks, so the end of a month ends a week too.
    assert weeks[:2] == [(date(2025, 11, d), date(2025, 11, e)) for d, e in ((1, 2), (3, 9))]
    assert weeks[4:6] == [
        (date(2025, 11, 24), date(2025, 11, 30)),
        (date(2025, 12, 1), date(2025, 12, 7)),
    ]
    assert weeks[-1] == (date(2026, 1, 19), date(2026, 1, 25))
    days = days_of(BERLIN, memory, 1)
    assert days[0] == (date(2026, 1, 26), date(2026, 1, 26))
    assert days[-1] == (date(2026, 2, 18), date(2026, 2, 18))
    assert all(start == end for start, end in days)
    assert BERLIN.day(memory.messages[0].at) == date(2026, 2, 19)
    assert all(len(plan.parts) <= PARTS_AT_ONCE for plan in plans)
    assert {plan.facts_only for plan in plans if plan.parts[0].level == FACTS_LEVEL} == {True}
    assert not any(plan.facts_only for plan in plans if plan.parts[0].level < FACTS_LEVEL)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Midnight of 29 March 2026, a day of 23 hours, is 23:00 UTC; the next is 22:00 UTC.
        ("2026-03-28T22:59:59+00:00", "2026-03-28T23:00:00+00:00"),
        ("2026-03-29T21:59:59+00:00", "2026-03-29T22:00:00+00:00"),
        ("2026-10-24T21:59:59+00:00", "2026-10-24T22:00:00+00:00"),
        ("2026-10-25T22:59:59+00:00", "2026-10-25T23:00:00+00:00"),
    ],
)
def test_a_day_ends_at_its_own_midnight(before: str, after: str) -> None:
    memory = said([datetime.fromisoformat(t) for t in (before, after)])
    plan = due_by_calendar(memory, CALM, BERLIN, datetime.fromisoformat(after) + 30 * DAY)
    assert plan is not None
    assert [(part.first_seq, part.last_seq) for part in plan.parts] == [(0, 0), (1, 1)]


def test_a_long_day_has_several_entries_and_a_short_one_goes_with_the_next() -> None:
    first = datetime(2026, 3, 2, 9, tzinfo=UTC)
    memory = said([first + timedelta(minutes=n) for n in range(40)], tokens=400)
    plan = due_by_calendar(memory, CALM, BERLIN, first + 7 * DAY)
    assert plan is not None
    assert len(plan.parts) == 3
    short = said([first, first + DAY, first + 2 * DAY], tokens=20)
    assert due_by_calendar(short, CALM, BERLIN, first + 8 * DAY) is None
    plan = due_by_calendar(short, CALM, BERLIN, first + 9 * DAY)
    assert plan is not None
    assert [(part.first_seq, part.last_seq) for part in plan.parts] == [(0, 2)]


def test_a_tool_call_at_midnight_is_not_cut() -> None:
    night = datetime(2026, 3, 2, 22, 59, tzinfo=UTC)
    memory = said([night - timedelta(hours=1)])
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "x"}
    memory = append(memory, "assistant", [call], night, tokens=300)
    memory = append(memory, "user", [result], night + timedelta(minutes=2), tokens=300)
    plan = due_by_calendar(memory, CALM, BERLIN, night + 20 * DAY)
    assert plan is not None
    assert [(part.first_seq, part.last_seq) for part in plan.parts] == [(0, 0), (1, 2)]
    tomorrow = due_by_calendar(memory, CALM, BERLIN, night + 7 * DAY)
    assert tomorrow is not None
    assert [(part.first_seq, part.last_seq) for part in tomorrow.parts] == [(0, 0)]


def test_the_newest_messages_and_an_open_turn_stay() -> None:
    first = datetime(2026, 3, 2, 9, tzinfo=UTC)
    memory = daily(first, 3)
    kept = CALM.model_copy(update={"keep_recent_messages": 4})
    plan = due_by_calendar(memory, kept, BERLIN, first + 30 * DAY)
    assert plan is not None
    assert plan.parts[-1].last_seq == 1
    assert due_by_calendar(memory, CALM, BERLIN, first + 30 * DAY, open_seq=0) is None


MINUTES = st.lists(st.integers(1, 60 * 24 * 40), min_size=1, max_size=40)


@given(
    gaps=MINUTES,
    tokens=st.integers(1, 2_000),
    name=st.sampled_from(sorted(ZONES)),
    policy=st.one_of(st.just(CALM), POLICIES),
    start=st.integers(0, 730 * 24 * 60),
)
@settings(max_examples=80, deadline=None)
def test_whatever_is_said_when_the_calendar_comes_to_an_end(
    gaps: list[int], tokens: int, name: str, policy: MemoryPolicy, start: int
) -> None:
    """It tiles at every step, and waking at each due day finishes in few steps."""
    zone, policy = ZONES[name], policy.model_copy(update={"calendar": True})
    now = datetime(2023, 1, 1, tzinfo=UTC) + timedelta(minutes=start)
    memory = Memory()
    for number, gap in enumerate(gaps):
        now += timedelta(minutes=gap)
        role: Role = "assistant" if number % 2 else "user"
        memory = append(memory, role, [text_block("a message")], now, tokens=tokens)
        memory = caught_up(memory, policy, zone, now)
    woken = 0
    while (day := next_due(memory, policy, zone, now)) is not None:
        assert zone.start(day) > now
        now, woken = zone.start(day), woken + 1
        assert zone.day(now) == day
        memory = caught_up(memory, policy, zone, now)
    assert woken <= 4 * len(gaps)
    if policy == CALM:
        assert all(memory.level_tokens(level) < MIN_SOURCE for level in range(1, FACTS_LEVEL))
        assert memory.message_tokens < MIN_SOURCE


@given(gaps=MINUTES, tokens=st.integers(1, 2_000), name=st.sampled_from(sorted(ZONES)))
@settings(max_examples=60, deadline=None)
def test_no_entry_goes_over_the_end_of_its_period(gaps: list[int], tokens: int, name: str) -> None:
    """But for what was too little for an entry, which goes with the next period."""
    zone, now = ZONES[name], datetime(2024, 1, 1, tzinfo=UTC)
    times = [now := now + timedelta(minutes=gap) for gap in gaps]
    memory = said(times, tokens)
    for now in (times[-1], times[-1] + 60 * DAY, times[-1] + 500 * DAY):
        while (plan := due_by_calendar(memory, CALM, zone, now)) is not None:
            for part in plan.parts:
                _check_period(zone, part.level, sources(memory, part))
            memory = compact_once(memory, plan)


def _check_period(zone: Zone, level: int, found: Sequence[Message | Observation]) -> None:
    tier = TIERS[level - 1]
    ends = [tier.end(zone.day(s.at if isinstance(s, Message) else s.end_time)) for s in found]
    early = [s for s, end in zip(found, ends, strict=True) if end != ends[-1]]
    per_period: dict[date, int] = {}
    for source, end in zip(early, ends, strict=False):
        per_period[end] = per_period.get(end, 0) + source.weight
    assert sum(per_period.values()) < MIN_SOURCE
