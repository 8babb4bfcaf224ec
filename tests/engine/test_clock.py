"""Ids are UUID v7 and strictly rising; sequences rise inside an instance (spec 1.17, 25)."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from webapp.engine.clock import SystemClock, SystemIds, next_sequence

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def test_an_id_is_a_uuid_of_version_7_with_the_present_millisecond() -> None:
    before = SystemClock().now()
    made = SystemIds().new()
    after = SystemClock().now()
    assert UUID7.fullmatch(made)
    stamp = datetime.fromtimestamp(int(made[:8] + made[9:13], 16) / 1000, UTC)
    assert before - timedelta(milliseconds=1) <= stamp <= after


def test_ids_rise_even_inside_one_millisecond() -> None:
    ids = SystemIds()
    made = [ids.new() for _ in range(10_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_made_by_many_threads_are_different() -> None:
    ids = SystemIds()
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: ids.new(), range(4_000)))
    assert len(set(made)) == len(made)


def test_a_sequence_is_eighths_of_microseconds_since_2020() -> None:
    assert next_sequence(0, datetime(2020, 1, 1, 0, 0, 1, tzinfo=UTC)) == 8_000_000


def test_a_sequence_rises_when_the_clock_stands_still_or_goes_back() -> None:
    now = datetime(2026, 7, 16, 8, tzinfo=UTC)
    first = next_sequence(0, now)
    second = next_sequence(first, now)
    third = next_sequence(second, now - timedelta(hours=1))
    assert (second, third) == (first + 1, first + 2)


def test_the_clock_tells_utc() -> None:
    assert SystemClock().now().utcoffset() == timedelta(0)
