"""When something goes out: quiet hours and digests, also on the days when the clocks change (spec 10, Preferences)."""

from __future__ import annotations

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest

from webapp.engine.notifications.model import Digest, NoticePreferences, QuietHours
from webapp.engine.notifications.timing import Going, after_quiet, going, next_daily, next_hour

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = QuietHours(start="22:00", end="07:00", time_zone="Europe/Berlin")
NOON = QuietHours(start="12:00", end="13:30", time_zone="Europe/Berlin")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "quiet", "expected"),
    [
        # In winter Berlin is an hour ahead of UTC, in summer two.
        ("2026-01-10T20:59", NIGHT, "2026-01-10T20:59"),
        ("2026-01-10T21:00", NIGHT, "2026-01-11T06:00"),
        ("2026-01-11T05:59", NIGHT, "2026-01-11T06:00"),
        ("2026-01-11T06:00", NIGHT, "2026-01-11T06:00"),
        ("2026-07-10T20:00", NIGHT, "2026-07-11T05:00"),
        ("2026-07-10T10:00", NOON, "2026-07-10T11:30"),
        ("2026-07-10T11:30", NOON, "2026-07-10T11:30"),
        ("2026-07-10T09:59", NOON, "2026-07-10T09:59"),
        # The night that is an hour shorter, and the one that is an hour longer.
        ("2026-03-28T22:00", NIGHT, "2026-03-29T05:00"),
        ("2026-10-24T21:00", NIGHT, "2026-10-25T06:00"),
        # An end that the clock leaves out is the first instant after the gap.
        ("2026-03-29T00:30", QuietHours(start="01:00", end="02:30", time_zone="Europe/Berlin"), "2026-03-29T01:00"),
        # An end that comes twice is its first pass: the second time the hours are over.
        ("2026-10-25T00:15", QuietHours(start="02:00", end="02:30", time_zone="Europe/Berlin"), "2026-10-25T00:30"),
        ("2026-10-25T01:15", QuietHours(start="02:00", end="02:30", time_zone="Europe/Berlin"), "2026-10-25T01:15"),
        # A zone that there is not is UTC.
        ("2026-01-10T22:00", QuietHours(start="22:00", end="07:00", time_zone="Mars/Base"), "2026-01-11T07:00"),
    ],
)
def test_quiet_hours_put_off_to_their_end(at: str, quiet: QuietHours, expected: str) -> None:
    assert after_quiet(utc(at), quiet) == utc(expected)


@pytest.mark.parametrize(
    ("now", "zone", "expected"),
    [
        ("2026-01-10T20:10:05", "Europe/Berlin", "2026-01-10T21:00"),
        ("2026-01-10T21:00", "Europe/Berlin", "2026-01-10T22:00"),
        ("2026-01-10T20:10", "Asia/Kolkata", "2026-01-10T20:30"),
        ("2026-03-29T00:59:59", "Europe/Berlin", "2026-03-29T01:00"),
        ("2026-10-25T00:30", "Europe/Berlin", "2026-10-25T01:00"),
    ],
)
def test_an_hourly_digest_goes_out_when_the_clock_shows_a_full_hour(now: str, zone: str, expected: str) -> None:
    assert next_hour(utc(now), ZoneInfo(zone)) == utc(expected)


@pytest.mark.parametrize(
    ("now", "at", "expected"),
    [
        ("2026-01-10T06:59", time(8), "2026-01-10T07:00"),
        ("2026-01-10T07:00", time(8), "2026-01-11T07:00"),
        ("2026-03-28T07:00", time(8), "2026-03-29T06:00"),
        ("2026-10-24T06:00", time(8), "2026-10-25T07:00"),
        # 02:30 is left out on the day when the clocks go forward, and comes twice when they go back: once is enough.
        ("2026-03-28T12:00", time(2, 30), "2026-03-29T01:00"),
        ("2026-10-25T00:30", time(2, 30), "2026-10-26T01:30"),
        ("2026-10-25T00:29", time(2, 30), "2026-10-25T00:30"),
    ],
)
def test_a_daily_digest_goes_out_once_a_day_at_its_time(now: str, at: time, expected: str) -> None:
    assert next_daily(utc(now), at, BERLIN) == utc(expected)


def test_what_is_put_off_goes_together() -> None:
    now = utc("2026-01-10T21:30")
    at_once = NoticePreferences(user_id="u1")
    assert going(now, None, "email", "UTC") == Going(now, together=False)
    assert going(now, at_once, "email", "UTC") == Going(now, together=False)
    assert going(now, NoticePreferences(user_id="u1", quiet=NIGHT), "email", "UTC") == Going(
        utc("2026-01-11T06:00"), together=True
    )


def test_a_digest_that_would_come_in_quiet_hours_comes_at_their_end() -> None:
    now = utc("2026-01-10T21:30")
    chosen = NoticePreferences(
        user_id="u1", quiet=NIGHT, digest={"email": Digest.HOURLY, "chat": Digest.DAILY}, time_zone="Europe/Berlin"
    )
    assert going(now, chosen, "email", "UTC").at == utc("2026-01-11T06:00")
    assert going(now, chosen, "chat", "UTC").at == utc("2026-01-11T07:00")
    assert going(utc("2026-01-10T12:10"), chosen, "email", "UTC").at == utc("2026-01-10T13:00")
    assert going(utc("2026-01-10T12:10"), chosen, "other", "UTC").at == utc("2026-01-10T12:10")


def test_without_a_zone_of_their_own_a_persons_day_is_the_installations() -> None:
    chosen = NoticePreferences(user_id="u1", digest={"email": Digest.DAILY}, daily_at="09:00")
    assert going(utc("2026-01-10T06:00"), chosen, "email", "Europe/Berlin").at == utc("2026-01-10T08:00")
