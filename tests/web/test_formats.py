"""Times, numbers and names as pages show them; the values are worked out by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from webapp.messages.catalog import Catalog
from webapp.web import formats

NOW = datetime(2026, 6, 10, 12, 0, tzinfo=UTC)
STOCKHOLM = ZoneInfo("Europe/Stockholm")
CATALOG = Catalog.load(strict=True)


def english(key: str, **args: Any) -> str:
    return CATALOG.text(key, args, "en")


def chinese(key: str, **args: Any) -> str:
    return CATALOG.text(key, args, "zh")


def test_the_api_writes_instants_in_utc_with_milliseconds() -> None:
    at = datetime(2026, 11, 30, 10, 15, 0, 123_456, tzinfo=STOCKHOLM)
    assert formats.instant_text(at) == "2026-11-30T09:15:00.123Z"


def test_times_are_shown_in_the_zone_of_the_installation() -> None:
    assert formats.clock_time(NOW, "en", STOCKHOLM) == "14:00"
    assert formats.short_time(NOW, NOW, "en", STOCKHOLM) == "14:00"
    assert formats.short_time(NOW - timedelta(days=1), NOW, "en", STOCKHOLM) == "Tue 9 Jun, 14:00"
    assert formats.short_time(NOW - timedelta(days=1), NOW, "zh", STOCKHOLM) == "6月9日 周二 14:00"


def test_another_year_is_named() -> None:
    assert formats.day(datetime(2025, 1, 2, tzinfo=UTC), NOW, "en", UTC) == "2 Jan 2025"
    assert formats.full_day(date(2026, 6, 22), "zh") == "2026年6月22日"


@pytest.mark.parametrize(
    ("seconds", "en", "zh"),
    [
        (5, "just now", "刚刚"),
        (60, "1 min ago", "1 分钟前"),
        (3_599, "59 min ago", "59 分钟前"),
        (3 * 3_600, "3 h ago", "3 小时前"),
        (86_400, "Tue 9 Jun", "6月9日 周二"),
    ],
)
def test_ages_are_relative_up_to_a_day(seconds: int, en: str, zh: str) -> None:
    at = NOW - timedelta(seconds=seconds)
    assert formats.relative_time(at, NOW, "en", UTC, english) == en
    assert formats.relative_time(at, NOW, "zh", UTC, chinese) == zh


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (timedelta(seconds=40), "40 s"),
        (timedelta(hours=3, minutes=18, seconds=9), "3 h 18 min"),
        (timedelta(days=2, hours=5, minutes=1), "2 d 5 h"),
        (timedelta(days=2), "2 d"),
        (timedelta(), "0 s"),
        (timedelta(seconds=-5), "0 s"),
    ],
)
def test_a_span_has_its_two_largest_units(span: timedelta, expected: str) -> None:
    assert formats.duration(span, english) == expected


def test_due_dates_say_how_late_how_soon_or_which_day() -> None:
    late, soon, later = NOW - timedelta(days=2, hours=1), NOW + timedelta(hours=3), NOW + timedelta(days=3)
    assert [formats.due_state(at, NOW) for at in (late, soon, later)] == ["late", "soon", ""]
    texts = [formats.due_text(at, NOW, "en", UTC, english) for at in (late, soon, later)]
    assert texts == ["2 days late", "15:00", "Sat 13 Jun"]
    assert formats.due_text(NOW + timedelta(hours=20), NOW, "en", UTC, english) == "tomorrow 08:00"
    assert formats.due_text(late, NOW, "zh", UTC, chinese) == "逾期 2 天"


def test_numbers_keep_their_decimals() -> None:
    assert formats.number(1_234_567) == "1,234,567"
    assert formats.number(Decimal("12345678901234567.50")) == "12,345,678,901,234,567.50"


@pytest.mark.parametrize(
    ("name", "letters"),
    [("Marco Reyes", "MR"), ("齐明", "齐明"), ("欧阳小明", "小明"), ("admin", "AD"), ("m.reyes", "MR"), ("", "?")],
)
def test_avatars_show_initials_or_two_characters(name: str, letters: str) -> None:
    assert formats.initials(name) == letters


def test_a_name_always_has_the_same_colour() -> None:
    assert formats.avatar_hue("Marco Reyes") == formats.avatar_hue("Marco Reyes")
    assert {formats.avatar_hue(chr(97 + n)) for n in range(6)} == {1, 2, 3, 4, 5, 6}
