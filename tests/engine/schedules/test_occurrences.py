"""When schedules fire across changes of the clocks; every value worked out by hand (spec 3.22, D32).

Berlin: 29 March 2026 02:00 becomes 03:00, 25 October 2026 03:00 becomes 02:00; 28 March and 31 October 2027.
New York: 8 March 2026 02:00 becomes 03:00, 1 November 2026 02:00 becomes 01:00; 14 March and 7 November 2027.
Lord Howe: half an hour, 5 April 2026 02:00 becomes 01:30, 4 October 2026 02:00 becomes 02:30; 4 April and
3 October 2027.
Kolkata: +05:30, no change at all.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from webapp.engine.schedules import (
    UnknownZone,
    find_zone,
    instant_of,
    is_zone,
    latest_occurrences,
    next_occurrence,
    occurrences,
    parse_cron,
)

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
LORD_HOWE, KOLKATA = "Australia/Lord_Howe", "Asia/Kolkata"


def local(text: str, zone: str, after: str, count: int) -> list[str]:
    """Return the occurrences after an instant as the clocks of the zone show them, with their offset."""
    name = ZoneInfo(zone)
    found = islice(occurrences(parse_cron(text), name, datetime.fromisoformat(after)), count)
    return [instant.astimezone(name).isoformat(timespec="seconds") for instant in found]


@pytest.mark.parametrize(
    ("text", "zone", "after", "expected"),
    [
        # Daily at 02:30: in the gap once, at the first instant after it; of the hour that comes twice its first pass.
        (
            "30 2 * * *", BERLIN, "2026-03-28T00:00:00Z",
            ["2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
        ),
        (
            "30 2 * * *", BERLIN, "2026-10-24T00:00:00Z",
            ["2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
        ),
        (
            "30 2 * * *", BERLIN, "2027-03-27T12:00:00Z",
            ["2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00"],
        ),
        (
            "30 2 * * *", BERLIN, "2027-10-30T12:00:00Z",
            ["2027-10-31T02:30:00+02:00", "2027-11-01T02:30:00+01:00"],
        ),
        (
            "30 2 * * *", NEW_YORK, "2026-03-07T12:00:00Z",
            ["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"],
        ),
        (
            "30 1 * * *", NEW_YORK, "2026-10-31T12:00:00Z",
            ["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"],
        ),
        (
            "30 2 * * *", NEW_YORK, "2027-03-13T12:00:00Z",
            ["2027-03-14T03:00:00-04:00", "2027-03-15T02:30:00-04:00"],
        ),
        (
            "30 1 * * *", NEW_YORK, "2027-11-06T12:00:00Z",
            ["2027-11-07T01:30:00-04:00", "2027-11-08T01:30:00-05:00"],
        ),
        (
            "15 2 * * *", LORD_HOWE, "2026-10-03T00:00:00Z",
            ["2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"],
        ),
        (
            "45 1 * * *", LORD_HOWE, "2026-04-04T00:00:00Z",
            ["2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"],
        ),
        (
            "30 2 * * *", LORD_HOWE, "2027-10-02T00:00:00Z",
            ["2027-10-03T02:30:00+11:00", "2027-10-04T02:30:00+11:00"],
        ),
        (
            "45 1 * * *", LORD_HOWE, "2027-04-03T00:00:00Z",
            ["2027-04-04T01:45:00+11:00", "2027-04-05T01:45:00+10:30"],
        ),
        (
            "30 2 * * *", KOLKATA, "2026-03-28T00:00:00Z",
            ["2026-03-29T02:30:00+05:30", "2026-03-30T02:30:00+05:30"],
        ),
        # Several times on the wall in one gap are one firing.
        (
            "0,20,40 2 * * *", BERLIN, "2026-03-28T12:00:00Z",
            ["2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00", "2026-03-30T02:20:00+02:00"],
        ),
        # 02:30 in the gap and 03:00 proper are the same instant, once.
        (
            "0,30 2,3 29 3 *", BERLIN, "2026-03-28T12:00:00Z",
            ["2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00", "2027-03-29T02:00:00+02:00"],
        ),
        # Every quarter of an hour on elapsed time: 15 minutes apart, always.
        (
            "*/15 * * * *", BERLIN, "2026-03-29T00:30:00Z",
            ["2026-03-29T01:45:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:15:00+02:00"],
        ),
        (
            "*/15 * * * *", BERLIN, "2026-10-25T00:30:00Z",
            [
                "2026-10-25T02:45:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T02:15:00+01:00",
                "2026-10-25T02:30:00+01:00", "2026-10-25T02:45:00+01:00", "2026-10-25T03:00:00+01:00",
            ],
        ),
        (
            "*/15 * * * *", NEW_YORK, "2026-11-01T05:30:00Z",
            ["2026-11-01T01:45:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T01:15:00-05:00"],
        ),
        (
            "*/15 * * * *", LORD_HOWE, "2026-04-04T14:30:00Z",
            [
                "2026-04-05T01:45:00+11:00", "2026-04-05T01:30:00+10:30", "2026-04-05T01:45:00+10:30",
                "2026-04-05T02:00:00+10:30",
            ],
        ),
        (
            "*/15 * * * *", LORD_HOWE, "2026-10-03T15:00:00Z",
            ["2026-10-04T01:45:00+10:30", "2026-10-04T02:30:00+11:00", "2026-10-04T02:45:00+11:00"],
        ),
        # Hourly: both passes in autumn, no hour that there was not in spring.
        (
            "0 * * * *", BERLIN, "2026-10-24T23:30:00Z",
            [
                "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00",
            ],
        ),
        (
            "0 * * * *", BERLIN, "2026-03-28T23:30:00Z",
            ["2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"],
        ),
        (
            "0 * * * *", LORD_HOWE, "2026-04-04T13:30:00Z",
            ["2026-04-05T01:00:00+11:00", "2026-04-05T02:00:00+10:30", "2026-04-05T03:00:00+10:30"],
        ),
        (
            "0 * * * *", LORD_HOWE, "2026-10-03T13:45:00Z",
            ["2026-10-04T01:00:00+10:30", "2026-10-04T03:00:00+11:00"],
        ),
        # Every fifteen seconds in autumn: not a moment of silence.
        (
            "*/15 * * * * *", BERLIN, "2026-10-25T00:59:30Z",
            [
                "2026-10-25T02:59:45+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T02:00:15+01:00",
                "2026-10-25T02:00:30+01:00",
            ],
        ),
        # Every second of the hour that comes twice means its first pass.
        (
            "* * 2 * * *", BERLIN, "2026-10-25T00:59:58Z",
            ["2026-10-25T02:59:59+02:00", "2026-10-26T02:00:00+01:00"],
        ),
        ("* * 2 * * *", BERLIN, "2026-10-25T01:30:00.5Z", ["2026-10-26T02:00:00+01:00"]),
        (
            "0 12 31 * *", BERLIN, "2026-01-31T12:00:00Z",
            ["2026-03-31T12:00:00+02:00", "2026-05-31T12:00:00+02:00", "2026-07-31T12:00:00+02:00"],
        ),
        (
            "0 0 31 * *", KOLKATA, "2026-01-30T18:30:00Z",
            ["2026-03-31T00:00:00+05:30", "2026-05-31T00:00:00+05:30"],
        ),
    ],
)  # fmt: skip
def test_across_a_change_of_the_clocks(text: str, zone: str, after: str, expected: list[str]) -> None:
    assert local(text, zone, after, len(expected)) == expected


def test_a_day_of_25_hours_has_5760_times_of_a_fifteen_second_schedule_and_240_more() -> None:
    start, end = datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 25, 23, tzinfo=UTC)
    found = []
    for instant in occurrences(parse_cron("*/15 * * * * *"), ZoneInfo(BERLIN), start):
        if instant > end:
            break
        found.append(instant)
    assert len(found) == 6_000
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(seconds=15)}


def test_the_wall_clock_times_of_a_year_are_each_there_once() -> None:
    start = datetime(2025, 12, 31, 23, tzinfo=UTC)
    found = list(islice(occurrences(parse_cron("30 2 * * *"), ZoneInfo(BERLIN), start), 365))
    days = [instant.astimezone(ZoneInfo(BERLIN)).date() for instant in found]
    assert days == [days[0] + timedelta(days=number) for number in range(365)]


def test_a_schedule_that_never_comes_again_has_no_next_occurrence() -> None:
    assert next_occurrence(parse_cron("0 0 29 2 *"), UTC, datetime(2024, 2, 29, tzinfo=UTC)) == datetime(
        2028, 2, 29, tzinfo=UTC
    )


def test_a_time_that_the_year_2100_leaves_out_is_eight_years_away() -> None:
    assert next_occurrence(parse_cron("0 0 29 2 *"), UTC, datetime(2096, 3, 1, tzinfo=UTC)) == datetime(
        2104, 2, 29, tzinfo=UTC
    )


def test_the_latest_occurrences_are_found_without_counting_from_the_first() -> None:
    until = datetime(2026, 3, 30, 0, 0, 7, tzinfo=UTC)
    # Seven years of seconds.
    found = latest_occurrences(parse_cron("* * * * * *"), UTC, datetime(2019, 1, 1, tzinfo=UTC), until, 100)
    assert (len(found), found[0], found[-1]) == (100, until - timedelta(seconds=99), until)
    few = latest_occurrences(
        parse_cron("30 2 * * *"), ZoneInfo(BERLIN), datetime(2026, 3, 28, 12, tzinfo=UTC), until, 5
    )
    assert few == [datetime(2026, 3, 29, 1, tzinfo=UTC)]
    assert latest_occurrences(parse_cron("0 0 1 1 *"), UTC, until, until + timedelta(days=9), 3) == []


@pytest.mark.parametrize(
    ("wall", "zone", "instant"),
    [
        ("2026-03-29T02:30:00", BERLIN, "2026-03-29T01:00:00Z"),
        ("2026-03-29T02:00:00", BERLIN, "2026-03-29T01:00:00Z"),
        ("2026-03-29T03:00:00", BERLIN, "2026-03-29T01:00:00Z"),
        ("2026-10-25T02:30:00", BERLIN, "2026-10-25T00:30:00Z"),
        ("2026-10-04T02:29:59", LORD_HOWE, "2026-10-03T15:30:00Z"),
        # Samoa crossed the date line: the whole 30 December 2011 is a gap.
        ("2011-12-30T12:00:00", "Pacific/Apia", "2011-12-30T10:00:00Z"),
    ],
)
def test_the_instant_of_a_time_on_the_wall(wall: str, zone: str, instant: str) -> None:
    assert instant_of(datetime.fromisoformat(wall), ZoneInfo(zone)) == datetime.fromisoformat(instant)


@pytest.mark.parametrize(
    "name", ["", "Europe", "europe/berlin", "Europe/Atlantis", "../etc/passwd", "localtime", "+02:00"]
)
def test_what_is_no_zone(name: str) -> None:
    assert not is_zone(name)
    with pytest.raises(UnknownZone):
        find_zone(name)


def test_the_zone_of_the_process_does_not_matter() -> None:
    program = (
        "from datetime import datetime\n"
        "from webapp.engine.schedules import find_zone, next_occurrence, parse_cron\n"
        "found = next_occurrence(parse_cron('30 2 * * *'), find_zone('Europe/Berlin'), "
        "datetime.fromisoformat('2026-03-28T12:00:00+00:00'))\n"
        "print(found.isoformat())"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "TZ": zone, "PYTHONPATH": "."},
            capture_output=True, check=True, text=True,
        ).stdout
        for zone in ("UTC", "America/New_York", "Pacific/Kiritimati")
    }  # fmt: skip
    assert answers == {"2026-03-29T01:00:00+00:00\n"}


MINUTES = st.sampled_from(["*", "0", "30", "*/15", "5,35", "10-20/5", "59"])
HOURS = st.sampled_from(["*", "0", "2", "*/2", "1-3", "23", "2,3"])
DAYS = st.sampled_from(["*", "1", "31", "L", "28-31", "*/7"])
MONTHS = st.sampled_from(["*", "3", "3,10", "10-11", "*/4", "2"])
WEEKDAYS = st.sampled_from(["*", "0", "MON-FRI", "7", "L0", "2#1"])
ZONES = st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, KOLKATA, "Africa/Casablanca", "Antarctica/Troll", "UTC"])
STARTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis wants them so


@settings(max_examples=examples(75), deadline=None)
@given(MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS, ZONES, STARTS)
def test_occurrences_rise_match_their_fields_and_leave_none_out(
    minute: str, hour: str, day: str, month: str, weekday: str, zone_name: str, start: datetime
) -> None:
    text = " ".join((minute, hour, day if month != "2" or day != "31" else "1", month, weekday))
    cron, zone = parse_cron(text), ZoneInfo(zone_name)
    found = list(islice(occurrences(cron, zone, start), 8))
    assert all(earlier < later for earlier, later in zip([start, *found], found, strict=False))
    assert found == list(dict.fromkeys(found))
    for instant in found:
        wall = instant.astimezone(zone).replace(tzinfo=None)
        before = (instant - timedelta(seconds=1)).astimezone(zone).replace(tzinfo=None)
        jumped = before + timedelta(seconds=1) != wall
        # The oracle reads the text itself. A time in a gap stands for what the clock left out just before it.
        shown = [wall] if not jumped or cron.elapsed else [wall, *_minutes(before, wall)]
        assert any(_matches(text, time) for time in shown), (text, instant)
    for middle in (start + (found[0] - start) * part / 7 for part in range(7)) if found else ():
        # Wherever one asks from before the first occurrence, it stays the first: nothing depends on when one asks.
        assert next_occurrence(cron, zone, middle) == found[0]


def _minutes(before: datetime, wall: datetime) -> list[datetime]:
    first = before + timedelta(seconds=1)
    return [first + timedelta(minutes=number) for number in range(int((wall - first) / timedelta(minutes=1)))]


def _matches(text: str, wall: datetime) -> bool:
    minute, hour, day, month, weekday = text.split()
    last = (wall.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    of_week = wall.isoweekday() % 7
    days = wall.day == last.day if day == "L" else _in(day, wall.day, 1, 31)
    if weekday == "L0":
        weekdays = of_week == 0 and wall.day > last.day - 7
    elif weekday == "2#1":
        weekdays = of_week == 2 and wall.day <= 7
    else:
        weekdays = _in(weekday.replace("MON-FRI", "1-5").replace("7", "0"), of_week, 0, 6)
    either = (days or weekdays) if day != "*" and weekday != "*" else (days and weekdays)
    return (
        _in(minute, wall.minute, 0, 59)
        and _in(hour, wall.hour, 0, 23)
        and _in(month, wall.month, 1, 12)
        and either
        and wall.second == 0
    )


def _in(field: str, value: int, low: int, high: int) -> bool:
    for item in field.split(","):
        span, _, step = item.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        if value in range(int(first), int(last or first) + 1, int(step or 1)):
            return True
    return False
