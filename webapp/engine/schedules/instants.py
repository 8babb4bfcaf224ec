"""Instants that are computed: durations in exact seconds, and texts that name an instant (spec 3.8, 4.8, 4.20)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal, DecimalException

LONGEST_SECONDS = Decimal(100 * 366 * 24 * 3600)
"""A hundred years: a longer wait ends then, since the calendar of ``datetime`` has an end."""

_MICROSECONDS = Decimal(1_000_000)
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def later(now: datetime, seconds: int | Decimal) -> datetime:
    """Return the instant *seconds* after *now*, exact to the microsecond (the half goes to the even one)."""
    exact = min(Decimal(seconds), LONGEST_SECONDS) * _MICROSECONDS
    return now + timedelta(microseconds=int(exact.to_integral_value(ROUND_HALF_EVEN)))


def backoff(first_delay: int | Decimal, factor: int | Decimal, attempt: int) -> Decimal:
    """Return the seconds to wait after the *attempt*-th failure: first delay x factor^(attempt - 1) (spec 3.8)."""
    try:
        return min(Decimal(first_delay) * Decimal(factor) ** (attempt - 1), LONGEST_SECONDS)
    except DecimalException:
        # Beyond what a decimal can hold is beyond a hundred years.
        return LONGEST_SECONDS


def is_instant(text: str) -> bool:
    """Whether a text is an RFC 3339 instant with its offset; any other text of such a property is an expression."""
    return _INSTANT.fullmatch(text) is not None and parse_instant(text) is not None


def is_date(text: str) -> bool:
    """Whether a text is a calendar date, ``YYYY-MM-DD``."""
    return _DATE.fullmatch(text) is not None and parse_instant(text) is not None


def parse_instant(text: str) -> datetime | None:
    """Return the instant a text names, in UTC: RFC 3339 with an offset, or a date (midnight, UTC); else None."""
    if _INSTANT.fullmatch(text) is None:
        if _DATE.fullmatch(text) is None:
            return None
        text += "T00:00:00Z"
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def instant_text(instant: datetime) -> str:
    """Return an instant as events carry it: RFC 3339, UTC, milliseconds."""
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def positive(value: object) -> int | Decimal | None:
    """Return a number above zero as it is, and None for anything else: ``true`` is no number."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and value > 0:
        return value
    return None
