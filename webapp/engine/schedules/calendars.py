"""Work calendars: weekly hours and holidays, and what a span of time means inside them (spec 4.20, D33).

Seconds count only inside working hours. A day is a working day: as late in the day as at the start, so many days with
working hours on. What begins outside the hours begins with the next of them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import pairwise

import msgspec

from webapp.engine.errors import Problem
from webapp.engine.schedules.durations import Duration
from webapp.engine.schedules.instants import later
from webapp.engine.schedules.zones import instant_of, is_zone, wall_of

NO_CALENDAR = "none"
"""What a step names as its calendar when the definition's must not count for it; no calendar may have this name."""

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MAX_SPANS = 10
MAX_HOLIDAYS = 2_000
MAX_SEARCH_DAYS = 36_600
"""A span that is not used up in a hundred years ends there."""

_TIME = re.compile(r"([01][0-9]|2[0-4]):([0-5][0-9])")
_DAY = timedelta(days=1)
_MICROSECOND = Decimal(1_000_000)

Span = tuple[int, int]
"""From and to, in minutes after midnight."""


class WorkHours(msgspec.Struct, frozen=True, kw_only=True):
    """A span of a day: ``from`` and ``to`` as ``HH:MM``; ``24:00`` is the day's end. None goes past midnight."""

    start: str = msgspec.field(name="from")
    end: str = msgspec.field(name="to")


class Holiday(msgspec.Struct, frozen=True, kw_only=True):
    """A day (``YYYY-MM-DD``) whose hours are its own: none at all, or for instance only the morning."""

    date: str
    name: str = ""
    hours: list[WorkHours] = []


class WorkCalendar(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Working hours of each day of the week (``monday`` …) and the days that differ.

    ``time_zone`` is where the hours are meant; without it the zone of the step counts, then the installation's.
    """

    name: str
    display_name: str = ""
    time_zone: str | None = None
    weekly_hours: dict[str, list[WorkHours]] = {}
    holidays: list[Holiday] = []


def calendar_problems(calendar: WorkCalendar) -> list[Problem]:
    """Return everything that is wrong with a calendar's content, with its place."""
    problems = []
    if calendar.time_zone is not None and not is_zone(calendar.time_zone):
        problems.append(Problem(path="timeZone", key="workflow.time_zone.unknown", params={"name": calendar.time_zone}))
    for name, hours in calendar.weekly_hours.items():
        path = f"weeklyHours.{name}"
        if name not in WEEKDAYS:
            problems.append(_problem(path, "weekday", name=name, known=", ".join(WEEKDAYS)))
        problems += _hours_problems(path, hours)
    if not any(calendar.weekly_hours.values()):
        problems.append(_problem("weeklyHours", "no_hours"))
    if len(calendar.holidays) > MAX_HOLIDAYS:
        problems.append(_problem("holidays", "too_many", max=MAX_HOLIDAYS))
        return problems
    seen: set[str] = set()
    for index, holiday in enumerate(calendar.holidays):
        path = f"holidays[{index}]"
        if _date(holiday.date) is None:
            problems.append(_problem(f"{path}.date", "date", value=holiday.date))
        elif holiday.date in seen:
            problems.append(_problem(f"{path}.date", "date_twice", value=holiday.date))
        seen.add(holiday.date)
        problems += _hours_problems(f"{path}.hours", holiday.hours)
    return problems


def _problem(path: str, key: str, **params: object) -> Problem:
    return Problem(path=path, key=f"workflow.calendar.{key}", params=params)


def _hours_problems(path: str, hours: Sequence[WorkHours]) -> list[Problem]:
    if len(hours) > MAX_SPANS:
        return [_problem(path, "too_many", max=MAX_SPANS)]
    problems = []
    spans = []
    for index, span in enumerate(hours):
        read = _span(span)
        if read is None:
            problems.append(_problem(f"{path}[{index}]", "hours", start=span.start, end=span.end))
        elif read[0] >= read[1]:
            problems.append(_problem(f"{path}[{index}]", "past_midnight", start=span.start, end=span.end))
        else:
            spans.append(read)
    spans.sort()
    if any(earlier[1] > following[0] for earlier, following in pairwise(spans)):
        problems.append(_problem(path, "overlap"))
    return problems


def _minutes(text: str) -> int | None:
    match = _TIME.fullmatch(text)
    minutes = None if match is None else int(match.group(1)) * 60 + int(match.group(2))
    return minutes if minutes is not None and minutes <= 24 * 60 else None


def _span(hours: WorkHours) -> Span | None:
    start, end = _minutes(hours.start), _minutes(hours.end)
    return None if start is None or end is None else (start, end)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


class WorkingTime:
    """A calendar made ready to count in; safe to share between threads."""

    __slots__ = ("_holidays", "_time_zone", "_week", "name")

    def __init__(self, calendar: WorkCalendar) -> None:
        self.name = calendar.name
        self._time_zone = calendar.time_zone
        self._week = tuple(_spans(calendar.weekly_hours.get(day, ())) for day in WEEKDAYS)
        self._holidays = {
            day: _spans(holiday.hours) for holiday in calendar.holidays if (day := _date(holiday.date)) is not None
        }

    @property
    def time_zone(self) -> str | None:
        """The zone its hours are meant in, if it says one."""
        return self._time_zone

    def after(self, start: datetime, duration: Duration, zone: tzinfo) -> datetime:
        """Return the instant at which so much working time has passed since *start*; days come before seconds."""
        reached = self._days_later(start, duration.days, zone) if duration.days else start
        return self._seconds_later(reached, duration.seconds, zone) if duration.seconds else reached

    def _of_day(self, day: date) -> Sequence[Span]:
        found = self._holidays.get(day)
        return self._week[day.weekday()] if found is None else found

    def _spans_from(self, start: datetime, zone: tzinfo) -> Iterator[tuple[datetime, datetime]]:
        """Yield the working spans that are not over at *start*, as instants, for a hundred years."""
        first = wall_of(start, zone).date()
        for number in range(MAX_SEARCH_DAYS):
            day = first + _DAY * number
            for span in self._of_day(day):
                begin, end = (instant_of(_at(day, minutes), zone) for minutes in span)
                if end > start:
                    yield max(begin, start), end

    def _seconds_later(self, start: datetime, seconds: int | Decimal, zone: tzinfo) -> datetime:
        left = int((Decimal(seconds) * _MICROSECOND).to_integral_value(ROUND_HALF_EVEN))
        last = start
        for begin, end in self._spans_from(start, zone):
            there = (end - begin) // timedelta(microseconds=1)
            if left <= there:
                return begin + timedelta(microseconds=left)
            left -= there
            last = end
        return last

    def _days_later(self, start: datetime, days: int, zone: tzinfo) -> datetime:
        begin = next((begin for begin, _ in self._spans_from(start, zone)), start)
        wall = wall_of(begin, zone)
        day, left = wall.date(), days
        for _ in range(MAX_SEARCH_DAYS):
            if left == 0:
                break
            day += _DAY
            left -= bool(self._of_day(day))
        return instant_of(self._clipped(day, wall.time()), zone)

    def _clipped(self, day: date, at: time) -> datetime:
        """Return the time of day inside the day's hours: between two spans the later one's beginning counts."""
        spans = self._of_day(day)
        minutes = at.hour * 60 + at.minute
        index = bisect_right(spans, (minutes, 24 * 60 + 1)) - 1
        if index >= 0 and minutes < spans[index][1]:
            return datetime.combine(day, at)
        if index + 1 < len(spans):
            return _at(day, spans[index + 1][0])
        return _at(day, spans[-1][1]) if spans else datetime.combine(day, at)


def time_later(start: datetime, duration: Duration, zone: tzinfo) -> datetime:
    """Return the instant a span after *start* without a calendar: a day ends at the same time on the wall."""
    if duration.days:
        wall = wall_of(start, zone)
        start = instant_of(wall + _DAY * duration.days, zone)
    return later(start, duration.seconds) if duration.seconds else start


def _spans(hours: Sequence[WorkHours]) -> tuple[Span, ...]:
    return tuple(sorted(span for one in hours if (span := _span(one)) is not None and span[0] < span[1]))


def _at(day: date, minutes: int) -> datetime:
    return datetime.combine(day, time()) + timedelta(minutes=minutes)
