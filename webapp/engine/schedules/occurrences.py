"""When a cron schedule fires: croniter's only home (spec 3.22, D32).

croniter is asked about times on the wall as if there were no zones; what a change of the clocks does to them is decided
here. A schedule whose hours begin with ``*`` runs on elapsed time: both passes of an hour that occurs twice, none in a
gap. Any other means times on the wall: one in a gap fires once at the first instant after it, one that occurs twice
fires once, at its first pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from croniter import CroniterBadDateError, croniter

from webapp.engine.schedules.cron import Cron, CronError, read_cron
from webapp.engine.schedules.zones import change_between, instant_of, offset_at, wall_of

HORIZON_YEARS = 8

_SECOND = timedelta(seconds=1)
_YEAR = timedelta(days=366)
_WINDOW = timedelta(minutes=1)
# Leap years repeat their days of the week after 28 years: 40 years in steps of the horizon leave no case out.
_PROBES = tuple(datetime(year, 1, 1, tzinfo=UTC) for year in range(2020, 2060, HORIZON_YEARS))


@lru_cache(maxsize=1_000)
def parse_cron(text: str) -> Cron:
    """Read a cron text. :raises CronError: why it is refused; also when eight years may pass without an occurrence."""
    cron = read_cron(text)
    for probe in _PROBES:
        found = _next_wall(cron, (probe - _SECOND).replace(tzinfo=None))
        if found is None or found.year >= probe.year + HORIZON_YEARS:
            raise CronError("never", years=HORIZON_YEARS)
    return cron


def check_cron(text: str) -> CronError | None:
    """Return why a cron text is refused, or None."""
    try:
        parse_cron(text)
    except CronError as error:
        return error
    return None


def next_occurrence(cron: Cron, zone: tzinfo, after: datetime) -> datetime | None:
    """Return the first occurrence after an instant, in UTC; None if there is none within eight years."""
    limit = after + _YEAR * HORIZON_YEARS
    after = after.astimezone(UTC)
    found = _elapsed(cron, zone, after, limit) if cron.elapsed else _on_the_wall(cron, zone, after)
    return found if found is not None and found <= limit else None


def occurrences(cron: Cron, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """Yield the occurrences after an instant, in UTC, strictly rising."""
    found = next_occurrence(cron, zone, after)
    while found is not None:
        yield found
        found = next_occurrence(cron, zone, found)


def latest_occurrences(cron: Cron, zone: tzinfo, after: datetime, until: datetime, count: int) -> list[datetime]:
    """Return the last *count* occurrences in (after, until], rising, without counting through all the earlier ones."""
    window = _WINDOW
    while True:
        start = max(after, until - window)
        found = []
        for occurrence in occurrences(cron, zone, start):
            if occurrence > until:
                break
            found.append(occurrence)
        if len(found) >= count or start == after:
            return found[-count:]
        window *= 2


def _next_wall(cron: Cron, after: datetime) -> datetime | None:
    """Return the first time on the wall after another one."""
    start = after.replace(microsecond=0, tzinfo=UTC)
    found = []
    for expression in cron.expressions:
        try:
            found.append(croniter(expression, start, max_years_between_matches=HORIZON_YEARS).get_next(datetime))
        except CroniterBadDateError:
            continue
    return min(found).replace(tzinfo=None) if found else None


def _elapsed(cron: Cron, zone: tzinfo, after: datetime, limit: datetime) -> datetime | None:
    offset, wall, reached = offset_at(after, zone), wall_of(after, zone), after
    while reached <= limit:
        found = _next_wall(cron, wall)
        instant = limit + _SECOND if found is None else (found - offset).replace(tzinfo=UTC)
        change = change_between(reached, instant, zone)
        if change is None:
            return None if found is None else instant
        # Nothing before the change; go on from it, as the clock then shows.
        offset, reached = offset_at(change, zone), change
        wall = wall_of(change, zone) - _SECOND
    return None


def _on_the_wall(cron: Cron, zone: tzinfo, after: datetime) -> datetime | None:
    wall = wall_of(after, zone)
    local = after.astimezone(zone)
    if local.fold:
        # In the second pass nothing fires: go on from the moment when all of it has been shown.
        first, second = local.replace(fold=0).utcoffset(), local.utcoffset()
        if first is not None and second is not None:
            change = change_between(after - (first - second) - _SECOND, after, zone)
            if change is not None:
                wall = (change + first).replace(tzinfo=None) - _SECOND
    while True:
        found = _next_wall(cron, wall)
        if found is None:
            return None
        instant = instant_of(found, zone)
        if instant > after:
            return instant
        wall = found
