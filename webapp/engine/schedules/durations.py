"""Spans of time as people write them: a number of seconds, or days and hours such as ``P2DT4H`` (spec 4.8, D33).

A day is no 24 hours: without a calendar it ends at the same time of the next day, whatever the clocks do in between;
with one it is a working day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

MAX_DAYS = 36_600

_DURATION = re.compile(
    r"P(?:(?P<days>[0-9]{1,5})D)?"
    r"(?:T(?=[0-9])(?:(?P<hours>[0-9]{1,7})H)?(?:(?P<minutes>[0-9]{1,9})M)?(?:(?P<seconds>[0-9]{1,10}(?:\.[0-9]{1,6})?)S)?)?"
)


@dataclass(frozen=True, slots=True)
class Duration:
    """Whole days first, seconds after them; one of the two is above zero."""

    days: int = 0
    seconds: int | Decimal = 0


def is_duration(text: str) -> bool:
    """Whether a text is a span of days and hours; any other text of such a property is an expression."""
    return parse_duration(text) is not None


def parse_duration(text: str) -> Duration | None:
    """Return the span that a text such as ``P1D`` or ``PT90M`` names (ISO 8601, days down to seconds), else None."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    days = int(match["days"] or 0)
    seconds = int(match["hours"] or 0) * 3600 + int(match["minutes"] or 0) * 60 + Decimal(match["seconds"] or 0)
    if days > MAX_DAYS or (days == 0 and seconds == 0):
        return None
    return Duration(days, seconds)


def duration_of(value: object) -> Duration | None:
    """Return the span that a property's value means: a number of seconds above zero or such a text, else None."""
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and value > 0:
        return Duration(seconds=value)
    return None
