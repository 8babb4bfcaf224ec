"""When something goes out to a person: at once, after the quiet hours, or with what else has gathered (spec 10).

Hours are those of the clock on the wall in the person's zone; where it is put forward or back, by the rules of
``engine.schedules``.
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from webapp.engine.notifications.model import Digest, NoticePreferences, QuietHours
from webapp.engine.schedules import UnknownZone, find_zone, instant_of

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


class Going(NamedTuple):
    """The earliest instant of the first attempt; ``together``: with whatever else is to go to the person then."""

    at: datetime
    together: bool


def going(now: datetime, preferences: NoticePreferences | None, endpoint_id: str, zone: str) -> Going:
    """Return when what is written *now* goes out by an endpoint; *zone*: the installation's, for who named none."""
    if preferences is None:
        return Going(now, together=False)
    at = _gathered(now, preferences, endpoint_id, zone_of(preferences.time_zone or zone))
    quiet = preferences.quiet
    if quiet is not None:
        at = after_quiet(at, quiet)
    return Going(at, together=at > now)


def _gathered(now: datetime, preferences: NoticePreferences, endpoint_id: str, zone: ZoneInfo) -> datetime:
    match preferences.digest.get(endpoint_id, Digest.NOW):
        case Digest.HOURLY:
            return next_hour(now, zone)
        case Digest.DAILY:
            return next_daily(now, time.fromisoformat(preferences.daily_at), zone)
        case _:
            return now


def next_hour(now: datetime, zone: ZoneInfo) -> datetime:
    """Return the next instant at which the clock shows a full hour: an hour that comes twice has two."""
    wall = now.astimezone(zone)
    return now - timedelta(minutes=wall.minute, seconds=wall.second, microseconds=wall.microsecond) + _HOUR


def next_daily(now: datetime, at: time, zone: ZoneInfo) -> datetime:
    """Return the next instant after *now* at which the clock shows that time, or the first one after it is left out."""
    today = now.astimezone(zone).date()
    for day in (today, today + _DAY):
        found = instant_of(datetime.combine(day, at), zone)
        if found > now:
            return found
    return instant_of(datetime.combine(today + 2 * _DAY, at), zone)


def after_quiet(at: datetime, quiet: QuietHours) -> datetime:
    """Return *at*, or the end of the quiet hours that it falls into."""
    zone = zone_of(quiet.time_zone)
    wall = at.astimezone(zone)
    shown, start, end = wall.time(), time.fromisoformat(quiet.start), time.fromisoformat(quiet.end)
    overnight = end <= start
    inside = (shown >= start or shown < end) if overnight else start <= shown < end
    if not inside:
        return at
    ends_on = wall.date() + _DAY if overnight and shown >= start else wall.date()
    # Where the clock was put back the end may have been there already: then it is over.
    return max(at, instant_of(datetime.combine(ends_on, end), zone))


def zone_of(name: str) -> ZoneInfo:
    """Return the zone, UTC where there is none of that name."""
    try:
        return find_zone(name)
    except UnknownZone:
        # A zone that the tables have lost meanwhile must not keep anybody from being told.
        return ZoneInfo("UTC")
