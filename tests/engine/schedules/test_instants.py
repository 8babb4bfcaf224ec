"""Durations in exact seconds and texts that name instants (spec 3.8, 4.8, 4.20)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.engine import schedules
from webapp.engine.numbers import JsonDecimal

NOW = datetime(2026, 7, 16, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "microseconds"),
    [
        (5, 5_000_000),
        (JsonDecimal("0.5"), 500_000),
        (JsonDecimal("0.0000005"), 0),
        (JsonDecimal("0.0000015"), 2),
        (JsonDecimal("0.0000025"), 2),
        (0, 0),
    ],
)
def test_later_is_exact_to_the_microsecond(seconds: Decimal, microseconds: int) -> None:
    assert schedules.later(NOW, seconds) - NOW == timedelta(microseconds=microseconds)


def test_later_ends_after_a_hundred_years() -> None:
    century = timedelta(days=36_600)
    assert schedules.later(NOW, 10**30) - NOW == century
    assert schedules.later(NOW, Decimal("1e100")) - NOW == century


@pytest.mark.parametrize(
    ("first", "factor", "attempt", "seconds"),
    [
        (10, 2, 1, "10"),
        (10, 2, 4, "80"),
        (5, Decimal("1.5"), 3, "11.25"),
        (0, 3, 9, "0"),
        (10, Decimal("1e40"), 30, "3162240000"),
        (10, Decimal("9" * 40), 10**9, "3162240000"),
    ],
)
def test_backoff(first: int, factor: int | Decimal, attempt: int, seconds: str) -> None:
    assert schedules.backoff(first, factor, attempt) == Decimal(seconds)


@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 20))
def test_backoff_multiplies_by_the_factor_each_time(first: int, factor: int, attempt: int) -> None:
    assert schedules.backoff(first, factor, attempt) == min(first * factor ** (attempt - 1), schedules.LONGEST_SECONDS)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-12-01T09:00:00Z", datetime(2026, 12, 1, 9, tzinfo=UTC)),
        ("2026-12-01t09:00:00z", datetime(2026, 12, 1, 9, tzinfo=UTC)),
        ("2026-12-01T09:00:00+08:00", datetime(2026, 12, 1, 1, tzinfo=UTC)),
        ("2026-12-01T09:00:00.25Z", datetime(2026, 12, 1, 9, microsecond=250_000, tzinfo=UTC)),
        ("2026-12-01T09:00:00.123456789Z", datetime(2026, 12, 1, 9, microsecond=123_456, tzinfo=UTC)),
        ("2026-12-01", datetime(2026, 12, 1, tzinfo=UTC)),
        ("2026-12-01T09:00:00", None),
        ("2026-13-01T09:00:00Z", None),
        ("2026-02-30", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("tomorrow", None),
        ("٢٠٢٦-12-01", None),
        ("", None),
    ],
)
def test_texts_that_name_an_instant(text: str, instant: datetime | None) -> None:
    assert schedules.parse_instant(text) == instant


def test_an_instant_has_an_offset_and_a_date_has_none() -> None:
    assert schedules.is_instant("2026-12-01T09:00:00Z")
    assert not schedules.is_instant("2026-12-01")
    assert not schedules.is_instant("2026-12-32T09:00:00Z")
    assert schedules.is_date("2026-12-01")
    assert not schedules.is_date("2026-12-01T09:00:00Z")
    assert not schedules.is_date("2026-02-30")


def test_instants_are_written_in_utc_with_milliseconds() -> None:
    assert schedules.instant_text(NOW) == "2026-07-16T08:00:00.000Z"
    elsewhere = datetime.fromisoformat("2026-07-16T10:00:00.123999+02:00")
    assert schedules.instant_text(elsewhere) == "2026-07-16T08:00:00.123Z"


@pytest.mark.parametrize(
    ("value", "number"),
    [(5, 5), (JsonDecimal("0.5"), Decimal("0.5")), (0, None), (-1, None), (True, None), ("5", None), (None, None)],
)
def test_a_positive_number_is_no_truth_value(value: object, number: object) -> None:
    assert schedules.positive(value) == number
