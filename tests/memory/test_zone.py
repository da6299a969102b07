"""Local days, from a table that was looked up once."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.memory.zone import UTC_ZONE, Zone
from perdure.zones import look_up

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
# Clocks that skip midnight (Sao Paulo, Havana), a day that never was (Apia), a second midnight
# (St. John's, at 00:01), an Irish winter that is called the exception, odd offsets.
NAMES = (
    "Europe/Berlin",
    "America/Sao_Paulo",
    "America/Havana",
    "Pacific/Apia",
    "America/St_Johns",
    "Europe/Dublin",
    "Asia/Kathmandu",
    "Africa/Casablanca",
    "Africa/Monrovia",
    "UTC",
)


def zone_of(name: str) -> Zone:
    zone = look_up(name, NOW)
    assert zone is not None
    return zone


ZONES = {name: zone_of(name) for name in NAMES}
DAYS = st.dates(date(1970, 1, 2), NOW.date())


@given(st.sampled_from(NAMES), st.integers(0, int(NOW.timestamp())))
def test_the_table_says_what_the_data_base_says(name: str, seconds: int) -> None:
    at = datetime.fromtimestamp(seconds, UTC)
    assert ZONES[name].day(at) == at.astimezone(ZoneInfo(name)).date()


@given(st.sampled_from(NAMES), DAYS)
def test_a_day_starts_with_its_first_second(name: str, day: date) -> None:
    zone = ZONES[name]
    start = zone.start(day)
    assert zone.day(start) >= day
    assert zone.day(start - SECOND) < day
    assert zone.start(day + timedelta(days=1)) >= start


@pytest.mark.parametrize(
    ("day", "start", "hours"),
    [
        (date(2026, 3, 29), "2026-03-28T23:00:00+00:00", 23),
        (date(2026, 7, 1), "2026-06-30T22:00:00+00:00", 24),
        (date(2026, 10, 25), "2026-10-24T22:00:00+00:00", 25),
    ],
)
def test_days_of_berlin_when_the_clocks_change(day: date, start: str, hours: int) -> None:
    zone = ZONES["Europe/Berlin"]
    assert zone.start(day).isoformat() == start
    assert zone.start(day + timedelta(days=1)) - zone.start(day) == timedelta(hours=hours)


def test_a_table_goes_through_json_and_is_small() -> None:
    for zone in ZONES.values():
        assert Zone.model_validate_json(zone.model_dump_json()) == zone
        assert len(zone.model_dump_json()) < 3_000
        assert zone.until == NOW + timedelta(days=30)


@pytest.mark.parametrize("name", ["Europe/Nowhere", "Mars", "../UTC", "Europe", ""])
def test_there_is_no_such_zone(name: str) -> None:
    assert look_up(name, NOW) is None


def test_without_a_zone_days_are_those_of_utc() -> None:
    assert UTC_ZONE.day(NOW) == NOW.date()
    assert UTC_ZONE.start(NOW.date()) == datetime(2026, 11, 30, tzinfo=UTC)
