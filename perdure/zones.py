"""Time zones as this machine knows them, from the system's files or the package tzdata."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from perdure.memory.zone import Zone

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
# What is known of a zone is looked up again after this time: governments change their minds.
FRESH = timedelta(days=30)
# An offset that holds for less than this is not found.
_STEP = timedelta(days=7)
_EXAMPLE = "Europe/Berlin"
_SECOND = timedelta(seconds=1)


def find(name: str) -> ZoneInfo | None:
    """The zone of that name, if there is one."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def look_up(name: str, now: datetime) -> Zone | None:
    """The table of a zone from 1970 to 30 days after `now`; None if there is no such zone."""
    zone = find(name)
    if zone is None:
        return None
    until = now + FRESH
    changes = [_change(zone, EARLIEST)]
    time = EARLIEST
    while time < until:
        later = min(time + _STEP, until)
        if _change(zone, later)[1] != changes[-1][1]:
            changes.append(_change(zone, _first(zone, time, later)))
        time = later
    return Zone(name=name, until=until, changes=changes)


def fault(name: str) -> str | None:
    """That there is no such zone, in a sentence; None if there is, or if none are known here."""
    if find(name) is not None or find(_EXAMPLE) is None:
        return None
    return f"policy timezone: there is no time zone {name!r}; names are such as {_EXAMPLE}"


def _change(zone: ZoneInfo, at: datetime) -> tuple[int, int]:
    offset = at.astimezone(zone).utcoffset() or timedelta()
    return int(at.timestamp()), offset // _SECOND


def _first(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The second from which on the offset of `after` holds."""
    wanted = _change(zone, after)[1]
    while after - before > _SECOND:
        middle = before + (after - before) // 2
        middle = middle.replace(microsecond=0)
        if _change(zone, middle)[1] == wanted:
            after = middle
        else:
            before = middle
    return after.replace(microsecond=0)
