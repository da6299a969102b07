"""When days begin where the user lives."""

from bisect import bisect_right
from datetime import UTC, date, datetime, timedelta

from pydantic import BaseModel, ConfigDict

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Zone(BaseModel):
    """A time zone as it was looked up: a table, so that a replay asks no data base that changed.

    `changes` are pairs of seconds since 1970 and of the seconds east of UTC that hold from then
    on, ascending; the first pair holds before it too. From `until` on it is to be looked up
    again, since the rules of a zone may change.
    """

    model_config = ConfigDict(frozen=True)

    name: str = "UTC"
    until: datetime = datetime.max.replace(tzinfo=UTC)
    changes: list[tuple[int, int]] = [(0, 0)]

    def day(self, at: datetime) -> date:
        """The date that a calendar there shows at a moment."""
        seconds = (at - _EPOCH) // timedelta(seconds=1)
        return (at.astimezone(UTC) + timedelta(seconds=self._offset(seconds))).date()

    def start(self, day: date) -> datetime:
        """The first moment of a day; where clocks skip midnight, the moment they skip it."""
        midnight = (datetime(day.year, day.month, day.day, tzinfo=UTC) - _EPOCH) // timedelta(
            seconds=1
        )
        place = max(0, bisect_right(self.changes, (midnight - self._offset(midnight), 0)) - 2)
        for number in range(place, len(self.changes)):
            since, offset = self.changes[number]
            ends = self.changes[number + 1][0] if number + 1 < len(self.changes) else None
            start = midnight - offset if number == 0 else max(since, midnight - offset)
            if ends is None or start < ends:
                return _EPOCH + timedelta(seconds=start)
        raise AssertionError("the last offset holds for ever")

    def _offset(self, seconds: int) -> int:
        place = bisect_right(self.changes, seconds, key=lambda change: change[0])
        return self.changes[max(0, place - 1)][1]


UTC_ZONE = Zone()
