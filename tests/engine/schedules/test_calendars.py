"""Working time: seconds inside the hours, and working days; every value worked out by hand (spec D33)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from webapp.engine.schedules import (
    Duration,
    Holiday,
    WorkCalendar,
    WorkHours,
    WorkingTime,
    calendar_problems,
    parse_duration,
    time_later,
)
from webapp.messages.catalog import LANGUAGES, Catalog

CATALOG = Catalog.load(strict=True)
BERLIN = ZoneInfo("Europe/Berlin")


def hours(*spans: str) -> list[WorkHours]:
    return [WorkHours(start=one, end=other) for one, other in (span.split("-") for span in spans)]


def calendar(**more: Any) -> WorkCalendar:
    """Return Monday to Friday 09:00 to 17:00, on Friday with a break; Christmas Eve 2026 is half a day."""
    week = {day: hours("09:00-17:00") for day in ("monday", "tuesday", "wednesday", "thursday")}
    given: dict[str, Any] = {
        "name": "office",
        "weekly_hours": {**week, "friday": hours("13:00-17:00", "09:00-12:00")},
        "holidays": [
            Holiday(date="2026-12-24", hours=hours("09:00-12:00")),
            Holiday(date="2026-12-25", name="Christmas"),
        ],
        **more,
    }
    return WorkCalendar(**given)


OFFICE = WorkingTime(calendar())
HOUR = 3600
MONDAY, FIRST, PAST = "weeklyHours.monday", "weeklyHours.monday[0]", "workflow.calendar.past_midnight"


@pytest.mark.parametrize(
    ("start", "seconds", "end"),
    [
        # 16 July 2026 is a Thursday.
        ("2026-07-16T10:00", 2 * HOUR, "2026-07-16T12:00"),
        ("2026-07-16T16:00", 2 * HOUR, "2026-07-17T10:00"),
        ("2026-07-16T09:00", 8 * HOUR, "2026-07-16T17:00"),
        ("2026-07-16T09:00", 8 * HOUR + 1, "2026-07-17T09:00:01"),
        # Over the break of Friday, and over the weekend.
        ("2026-07-17T11:30", HOUR, "2026-07-17T13:30"),
        ("2026-07-17T16:30", HOUR, "2026-07-20T09:30"),
        ("2026-07-18T12:00", HOUR, "2026-07-20T10:00"),
        ("2026-07-16T06:00", HOUR, "2026-07-16T10:00"),
        ("2026-07-16T22:00", HOUR, "2026-07-17T10:00"),
        # Half a day and a whole holiday, then a weekend.
        ("2026-12-24T11:00", 2 * HOUR, "2026-12-28T10:00"),
        ("2026-07-16T10:00", Decimal("0.25"), "2026-07-16T10:00:00.250000"),
        # Five weeks of 39 hours.
        ("2026-07-20T09:00", 5 * 39 * HOUR, "2026-08-21T17:00"),
    ],
)
def test_seconds_count_inside_working_hours_only(start: str, seconds: int | Decimal, end: str) -> None:
    found = OFFICE.after(datetime.fromisoformat(start + "Z"), Duration(seconds=seconds), UTC)
    assert found == datetime.fromisoformat(end + "Z")


@pytest.mark.parametrize(
    ("start", "span", "end"),
    [
        # One working day is no 24 hours and no 24 working hours: the same time of the next working day.
        ("2026-07-16T10:00", "P1D", "2026-07-17T10:00"),
        ("2026-07-17T16:00", "P1D", "2026-07-20T16:00"),
        ("2026-07-17T10:00", "P2D", "2026-07-21T10:00"),
        # Outside the hours it begins with the next of them.
        ("2026-07-18T12:00", "P1D", "2026-07-21T09:00"),
        ("2026-07-16T20:00", "P1D", "2026-07-20T09:00"),
        ("2026-07-16T06:00", "P1D", "2026-07-17T09:00"),
        # A day whose hours end earlier, or have a break then.
        ("2026-12-23T16:00", "P1D", "2026-12-24T12:00"),
        ("2026-12-23T16:00", "P2D", "2026-12-28T16:00"),
        ("2026-07-16T12:30", "P1D", "2026-07-17T13:00"),
        ("2026-07-16T10:00", "P1DT4H", "2026-07-17T15:00"),
        ("2026-07-16T10:00", "PT12H", "2026-07-17T15:00"),
    ],
)
def test_a_day_is_a_working_day(start: str, span: str, end: str) -> None:
    duration = parse_duration(span)
    assert duration is not None
    assert OFFICE.after(datetime.fromisoformat(start + "Z"), duration, UTC) == datetime.fromisoformat(end + "Z")


@pytest.mark.parametrize(
    ("start", "span", "end"),
    [
        # The night of 28 to 29 March has an hour less, that of 24 to 25 October one more.
        ("2026-03-28T22:00+01:00", Duration(seconds=4 * HOUR), "2026-03-29T03:00+02:00"),
        ("2026-10-24T22:00+02:00", Duration(seconds=4 * HOUR), "2026-10-25T02:00+02:00"),
        ("2026-10-25T01:00+02:00", Duration(seconds=3 * HOUR), "2026-10-25T03:00+01:00"),
        ("2026-03-28T12:00+01:00", Duration(days=1), "2026-03-29T12:00+02:00"),
        ("2026-10-24T12:00+02:00", Duration(days=1), "2026-10-25T12:00+01:00"),
    ],
)
def test_around_the_clock_across_a_change_of_the_clocks(start: str, span: Duration, end: str) -> None:
    always = WorkingTime(WorkCalendar(name="always", weekly_hours={day: hours("00:00-24:00") for day in WEEK}))
    expected = datetime.fromisoformat(end)
    if span.seconds and not span.days:
        # Around the clock working seconds are seconds.
        expected = datetime.fromisoformat(start) + timedelta(seconds=int(span.seconds))
        assert expected == datetime.fromisoformat(end)
    assert always.after(datetime.fromisoformat(start), span, BERLIN) == expected
    assert time_later(datetime.fromisoformat(start), span, BERLIN) == expected


WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def test_hours_are_those_of_the_zone() -> None:
    # 09:00 in Berlin is 07:00Z in summer and 08:00Z in winter.
    span = Duration(seconds=HOUR)
    assert OFFICE.after(datetime(2026, 7, 16, 3, tzinfo=UTC), span, BERLIN) == datetime(2026, 7, 16, 8, tzinfo=UTC)
    assert OFFICE.after(datetime(2026, 1, 15, 3, tzinfo=UTC), span, BERLIN) == datetime(2026, 1, 15, 9, tzinfo=UTC)


def test_a_span_that_is_never_used_up_ends() -> None:
    once = WorkingTime(WorkCalendar(name="once", holidays=[Holiday(date="2026-07-20", hours=hours("09:00-10:00"))]))
    start = datetime(2026, 7, 16, 8, tzinfo=UTC)
    assert once.after(start, Duration(seconds=2 * HOUR), UTC) == datetime(2026, 7, 20, 10, tzinfo=UTC)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 60 * 24 * 400), st.integers(1, 200_000), st.integers(1, 200_000))
def test_working_seconds_add_up_and_never_go_back(minutes: int, first: int, second: int) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    middle = OFFICE.after(start, Duration(seconds=first), BERLIN)
    assert middle >= start + timedelta(seconds=first)
    # From a moment inside the hours the rest is the rest.
    assert OFFICE.after(middle, Duration(seconds=second), BERLIN) == OFFICE.after(
        start, Duration(seconds=first + second), BERLIN
    )


@pytest.mark.parametrize(
    ("change", "path", "key"),
    [
        ({"time_zone": "Mars"}, "timeZone", "workflow.time_zone.unknown"),
        ({"weekly_hours": {}}, "weeklyHours", "workflow.calendar.no_hours"),
        ({"weekly_hours": {"monday": []}}, "weeklyHours", "workflow.calendar.no_hours"),
        ({"weekly_hours": {"lundi": hours("09:00-17:00")}}, "weeklyHours.lundi", "workflow.calendar.weekday"),
        (
            {"weekly_hours": {"monday": hours("22:00-06:00")}},
            FIRST,
            "workflow.calendar.past_midnight",
        ),
        (
            {"weekly_hours": {"monday": hours("09:00-09:00")}},
            FIRST,
            "workflow.calendar.past_midnight",
        ),
        ({"weekly_hours": {"monday": hours("9:00-17:00")}}, FIRST, "workflow.calendar.hours"),
        ({"weekly_hours": {"monday": hours("09:00-24:01")}}, FIRST, "workflow.calendar.hours"),
        (
            {"weekly_hours": {"monday": hours("13:00-17:00", "09:00-13:01")}},
            "weeklyHours.monday",
            "workflow.calendar.overlap",
        ),
        (
            {"weekly_hours": {"monday": hours(*["09:00-10:00"] * 11)}},
            "weeklyHours.monday",
            "workflow.calendar.too_many",
        ),
        ({"holidays": [Holiday(date="2026-02-30")]}, "holidays[0].date", "workflow.calendar.date"),
        (
            {"holidays": [Holiday(date="2026-02-03"), Holiday(date="2026-02-03")]},
            "holidays[1].date",
            "workflow.calendar.date_twice",
        ),
        (
            {"holidays": [Holiday(date="2026-02-03", hours=hours("x-y"))]},
            "holidays[0].hours[0]",
            "workflow.calendar.hours",
        ),
        ({"holidays": [Holiday(date="2026-02-03")] * 2_001}, "holidays", "workflow.calendar.too_many"),
    ],
)
def test_what_is_wrong_with_a_calendar(change: dict[str, Any], path: str, key: str) -> None:
    (problem,) = calendar_problems(calendar(**change))
    assert (problem.path, problem.key) == (path, key)
    for language in LANGUAGES:
        assert CATALOG.text(problem.key, problem.params, language)


def test_a_good_calendar_has_no_problem() -> None:
    assert calendar_problems(calendar(time_zone="Asia/Shanghai")) == []
