"""Time zones: names, and which instant a time on the wall is (spec 3.22, D32).

A time that a change of the clocks leaves out is the first instant after the gap; one that occurs twice is its first
pass. So times on the wall never go backwards as instants.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

_SECOND = timedelta(seconds=1)
_STRIDE = timedelta(days=1)
# What a system may call its own zone: the name would mean something else on the next machine.
_LOCAL_NAMES = frozenset(("Factory", "localtime", "posixrules"))


class UnknownZone(Exception):
    """There is no zone of that name; ``name`` is what was asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


@cache
def _names() -> frozenset[str]:
    return frozenset(name for name in available_timezones() if name not in _LOCAL_NAMES)


def is_zone(name: str) -> bool:
    """Whether a text is the name of a zone in the IANA database, such as ``Europe/Berlin``."""
    return name in _names()


def find_zone(name: str) -> ZoneInfo:
    """Return the zone of that IANA name. :raises UnknownZone: there is none."""
    if not is_zone(name):
        raise UnknownZone(name)
    return ZoneInfo(name)


def offset_at(instant: datetime, zone: tzinfo) -> timedelta:
    """Return how far the wall clock of a zone is ahead of UTC at an instant."""
    return instant.astimezone(zone).utcoffset() or timedelta(0)


def wall_of(instant: datetime, zone: tzinfo) -> datetime:
    """Return what the clock on the wall shows, without a zone."""
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def instant_of(wall: datetime, zone: tzinfo) -> datetime:
    """Return the instant, in UTC, at which the clock on the wall shows *wall* (naive), or leaves it out."""
    first = wall.replace(tzinfo=zone, fold=0)
    instant = first.astimezone(UTC)
    if wall_of(instant, zone) == wall:
        return instant
    # In the gap: before it the clock shows less, after it more. Look for the change between the two readings.
    after = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return change_between(min(instant, after) - _SECOND, max(instant, after), zone) or instant


def change_between(start: datetime, end: datetime, zone: tzinfo) -> datetime | None:
    """Return the first instant in (start, end] at which the offset of a zone has just changed, or None.

    Zones change their offset at whole seconds and not twice a day.
    """
    before = offset_at(start, zone)
    low = start
    while low < end:
        high = min(low + _STRIDE, end)
        if offset_at(high, zone) != before:
            return _bisect(low, high, before, zone)
        low = high
    return None


def _bisect(low: datetime, high: datetime, before: timedelta, zone: tzinfo) -> datetime:
    """Return the first whole second in (low, high] whose offset is not *before*."""
    low, high = low.replace(microsecond=0), _rounded_up(high)
    while high - low > _SECOND:
        middle = low + timedelta(seconds=(high - low) // _SECOND // 2)
        if offset_at(middle, zone) == before:
            low = middle
        else:
            high = middle
    return high


def _rounded_up(instant: datetime) -> datetime:
    return instant if instant.microsecond == 0 else instant.replace(microsecond=0) + _SECOND
