"""What a cron text may say, and why one is refused (spec 3.22)."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest

from webapp.engine.schedules import CatchUp, check_cron, occurrences, parse_cron
from webapp.messages.catalog import LANGUAGES, Catalog

CATALOG = Catalog.load(strict=True)
# A Thursday.
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def times(text: str, count: int = 4, after: datetime = NEW_YEAR) -> list[str]:
    found = islice(occurrences(parse_cron(text), UTC, after), count)
    return [f"{instant:%m-%d %H:%M:%S}" for instant in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30 8 * * *", ["01-01 08:30:00", "01-02 08:30:00", "01-03 08:30:00"]),
        ("*/20 9-10 * * *", ["01-01 09:00:00", "01-01 09:20:00", "01-01 09:40:00", "01-01 10:00:00"]),
        ("50/5 1 * * *", ["01-01 01:50:00", "01-01 01:55:00", "01-02 01:50:00"]),
        ("10-20/5 1 * * *", ["01-01 01:10:00", "01-01 01:15:00", "01-01 01:20:00", "01-02 01:10:00"]),
        ("5-5 1 * * *", ["01-01 01:05:00", "01-02 01:05:00"]),
        ("0 22-1 * * *", ["01-01 01:00:00", "01-01 22:00:00", "01-01 23:00:00", "01-02 00:00:00"]),
        ("59/15 1 * * *", ["01-01 01:59:00", "01-02 01:59:00"]),
        ("15 30 8 * * *", ["01-01 08:30:15", "01-02 08:30:15"]),
        ("*/30 0 8 * * *", ["01-01 08:00:00", "01-01 08:00:30", "01-02 08:00:00"]),
        ("0 0 * FEB MON", ["02-02 00:00:00", "02-09 00:00:00"]),
        ("0 0 * mar thu", ["03-05 00:00:00", "03-12 00:00:00"]),
        ("0 0 ? * 0", ["01-04 00:00:00", "01-11 00:00:00"]),
        ("0 0 * * 7", ["01-04 00:00:00", "01-11 00:00:00"]),
        ("0 0 * * fri-sun", ["01-02 00:00:00", "01-03 00:00:00", "01-04 00:00:00", "01-09 00:00:00"]),
        ("0 0 * * 5-7", ["01-02 00:00:00", "01-03 00:00:00", "01-04 00:00:00", "01-09 00:00:00"]),
        ("0 0 L * *", ["01-31 00:00:00", "02-28 00:00:00", "03-31 00:00:00"]),
        ("0 0 15,L * *", ["01-15 00:00:00", "01-31 00:00:00", "02-15 00:00:00", "02-28 00:00:00"]),
        ("0 0 * * L5", ["01-30 00:00:00", "02-27 00:00:00"]),
        ("0 0 * * L0", ["01-25 00:00:00", "02-22 00:00:00"]),
        ("0 0 * * L7", ["01-25 00:00:00", "02-22 00:00:00"]),
        ("0 0 * * 1#2", ["01-12 00:00:00", "02-09 00:00:00"]),
        ("0 0 * * MON#1,wed#2", ["01-05 00:00:00", "01-14 00:00:00", "02-02 00:00:00", "02-11 00:00:00"]),
        # Both days restricted: either suffices.
        ("0 0 13 * 5", ["01-02 00:00:00", "01-09 00:00:00", "01-13 00:00:00", "01-16 00:00:00"]),
        ("0 0 15 * L5", ["01-15 00:00:00", "01-30 00:00:00", "02-15 00:00:00", "02-27 00:00:00"]),
        ("0 0 29 2 1#1", ["02-02 00:00:00"]),
        ("0 0 31 * *", ["01-31 00:00:00", "03-31 00:00:00", "05-31 00:00:00", "07-31 00:00:00"]),
        ("@yearly", ["01-01 00:00:00", "01-01 00:00:00"]),
        ("@Annually", ["01-01 00:00:00"]),
        ("@monthly", ["02-01 00:00:00", "03-01 00:00:00"]),
        ("@weekly", ["01-04 00:00:00", "01-11 00:00:00"]),
        ("@daily", ["01-02 00:00:00"]),
        ("@midnight", ["01-02 00:00:00"]),
        ("@hourly", ["01-01 01:00:00", "01-01 02:00:00"]),
        ("  0   8\t* * *  ", ["01-01 08:00:00"]),
    ],
)
def test_what_a_schedule_means(text: str, expected: list[str]) -> None:
    assert times(text, len(expected)) == expected


def test_the_29_february_is_a_schedule() -> None:
    assert times("0 0 29 2 *", 2, datetime(2096, 3, 1, tzinfo=UTC)) == ["02-29 00:00:00", "02-29 00:00:00"]


@pytest.mark.parametrize(
    ("text", "reason", "params"),
    [
        ("", "blank", {}),
        ("   ", "blank", {}),
        ("* * * *", "fields", {"count": 4}),
        ("* * * * * * * *", "fields", {"count": 8}),
        ("0 0 8 * * * 2026", "year", {}),
        ("@reboot", "macro", {"text": "@reboot"}),
        ("@every 5m", "macro", {"text": "@every 5m"}),
        ("R * * * *", "random", {"item": "R"}),
        ("r(0-30) * * * *", "random", {"item": "R(0-30)"}),
        ("H * * * *", "hashed", {"item": "H"}),
        ("H/15 * * * *", "hashed", {"item": "H/15"}),
        ("0 0 15W * *", "nearest", {"item": "15W"}),
        ("0 0 LW * *", "nearest", {"item": "LW"}),
        ("0 0 31 2 *", "never", {"years": 8}),
        ("0 0 30 feb *", "never", {"years": 8}),
        # A fifth Monday of February comes every 28 years.
        ("0 0 * 2 1#5", "never", {"years": 8}),
        ("60 * * * *", "range", {"position": 1, "item": "60", "min": 0, "max": 59}),
        ("0 24 * * *", "range", {"position": 2, "item": "24", "min": 0, "max": 23}),
        ("0 0 0 * *", "range", {"position": 3, "item": "0", "min": 1, "max": 31}),
        ("0 0 * 13 *", "range", {"position": 4, "item": "13", "min": 1, "max": 12}),
        ("0 0 * * 8", "range", {"position": 5, "item": "8", "min": 0, "max": 7}),
        ("0 0 0 32 * *", "range", {"position": 4, "item": "32", "min": 1, "max": 31}),
        ("*/90 * * * *", "step", {"position": 1, "item": "*/90", "max": 60}),
        ("*/0 * * * *", "step", {"position": 1, "item": "*/0", "max": 60}),
        ("0 0 * * 1#6", "nth", {"position": 5, "item": "1#6"}),
        ("0 0 * * 1#0", "nth", {"position": 5, "item": "1#0"}),
        ("0 0 * * 1,L5", "mixed", {"position": 5, "item": "1,L5"}),
        ("? * * * *", "item", {"position": 1, "item": "?"}),
        ("0 0 ?,3 * *", "item", {"position": 3, "item": "?"}),
        ("0 0 * THU *", "item", {"position": 4, "item": "THU"}),
        ("0 0 L-3 * *", "item", {"position": 3, "item": "L-3"}),
        ("0 0 * * 5L", "item", {"position": 5, "item": "5L"}),
        ("0 L * * *", "item", {"position": 2, "item": "L"}),
        ("1,,2 * * * *", "item", {"position": 1, "item": ""}),
        ("-5 * * * *", "item", {"position": 1, "item": "-5"}),
        ("1.5 * * * *", "item", {"position": 1, "item": "1.5"}),
        ("٣ * * * *", "item", {"position": 1, "item": "٣"}),
        ("five * * * *", "item", {"position": 1, "item": "FIVE"}),
        ("* * * * * " + "1," * 300, "too_long", {"max": 500}),
    ],
)
def test_a_text_is_refused_with_its_reason_in_both_languages(text: str, reason: str, params: dict[str, object]) -> None:
    error = check_cron(text)
    assert error is not None
    assert error.key == f"workflow.cron.{reason}"
    assert {name: error.params[name] for name in params} == params
    for language in LANGUAGES:
        assert CATALOG.text(error.key, error.params, language)


def test_a_good_text_has_no_error() -> None:
    assert check_cron("0 8 * * MON-FRI") is None


@pytest.mark.parametrize(
    ("value", "choice"),
    [(None, CatchUp.ONE), ("", CatchUp.ONE), ("one", CatchUp.ONE), ("Skip", CatchUp.SKIP), (" ALL ", CatchUp.ALL)],
)
def test_the_choice_for_missed_times_is_read_without_case(value: object, choice: CatchUp) -> None:
    assert CatchUp.read(value) is choice


@pytest.mark.parametrize("value", ["some", 5, True, ["One"]])
def test_an_unknown_choice_for_missed_times_is_none(value: object) -> None:
    assert CatchUp.read(value) is None
