"""Cron texts: what they may say, and why one is refused (spec 3.22).

Five fields (minute, hour, day of month, month, day of week) or six with leading seconds. Each text is read here to the
very values it names and handed to croniter as plain numbers, so that no reading of the library's own slips in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

MAX_TEXT = 500

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

_RANDOM = re.compile(r"R($|[(/])")
_HASHED = re.compile(r"H($|[(/])")
_NEAREST = re.compile(r"([0-9]{1,2}|L)W|W[0-9]{0,2}")
_VALUE = r"[0-9]{1,3}|[A-Z]{3}"
_RANGE = re.compile(rf"(?:(?P<all>\*)|(?P<low>{_VALUE})(?:-(?P<high>{_VALUE}))?)(?:/(?P<step>[0-9]{{1,3}}))?")
_LAST = re.compile(r"L([0-7])")
_NTH = re.compile(r"([0-9]|[A-Z]{3})#([0-9]+)")


class CatchUp(StrEnum):
    """What becomes of the times that nobody was there to fire (spec 3.22): the latest one, none, or the last 100."""

    ONE = "One"
    SKIP = "Skip"
    ALL = "All"

    @classmethod
    def read(cls, value: object) -> CatchUp | None:
        """Return the choice that a property names, without case; the default when it is empty, None when unknown."""
        if value is None or value == "":
            return cls.ONE
        return next((one for one in cls if isinstance(value, str) and value.strip().lower() == one.value.lower()), None)


class CronError(Exception):
    """A cron text is refused: a message key with its arguments."""

    def __init__(self, key: str, **params: Any) -> None:
        self.key = f"workflow.cron.{key}"
        self.params = params
        super().__init__(self.key)


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron text that was read: ``expressions`` are what croniter computes, the earliest of them counts.

    ``elapsed``: its hours begin with ``*``, so it goes on through a change of the clocks; any other schedule means
    times on the wall (spec 3.22).
    """

    text: str
    elapsed: bool
    expressions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Field:
    position: int
    low: int
    high: int
    names: dict[str, int]


def _fields(with_seconds: bool) -> list[_Field]:
    bounds: list[tuple[int, int, dict[str, int]]] = [
        (0, 59, {}),
        (0, 23, {}),
        (1, 31, {}),
        (1, 12, {name: number for number, name in enumerate(_MONTHS, start=1)}),
        (0, 7, {name: number for number, name in enumerate(_DAYS)}),
    ]
    if with_seconds:
        bounds.insert(0, (0, 59, {}))
    return [_Field(position, *bound) for position, bound in enumerate(bounds, start=1)]


def read_cron(text: str) -> Cron:
    """Read a cron text, whether or not it ever fires. :raises CronError: with the reason why it is refused."""
    if len(text) > MAX_TEXT:
        raise CronError("too_long", max=MAX_TEXT)
    plain = text.strip()
    if plain.startswith("@"):
        known = MACROS.get(plain.lower())
        if known is None:
            raise CronError("macro", text=plain, known=", ".join(MACROS))
        plain = known
    parts = plain.upper().split()
    if not parts:
        raise CronError("blank")
    if len(parts) == 7:
        raise CronError("year")
    if len(parts) not in (5, 6):
        raise CronError("fields", count=len(parts))
    fields = _fields(len(parts) == 6)
    read = [_read_field(field, part) for field, part in zip(fields, parts, strict=True)]
    hours = parts[-4]
    return Cron(text=text, elapsed=hours.startswith("*"), expressions=_expressions(read))


def _expressions(read: list[str]) -> tuple[str, ...]:
    seconds = read[:-5]
    minute, hour, day, month, weekday = read[-5:]

    def made(day: str, weekday: str) -> str:
        # croniter's own order: seconds last.
        return " ".join((minute, hour, day, month, weekday, *seconds))

    if day == "*" or weekday == "*":
        return (made(day, weekday),)
    # Either suffices; with L and # the library would demand both.
    return (made(day, "*"), made("*", weekday))


def _read_field(field: _Field, part: str) -> str:
    values: set[int] = set()
    special: set[str] = set()
    items = part.split(",")
    for item in items:
        _refuse_unsupported(item)
        named = _special(field, item)
        if named is None:
            values.update(_values(field, item))
        elif named == "*" and len(items) > 1:
            _refuse(field, item)
        else:
            special.add(named)
    if "*" in special or "*" in items:
        return "*"
    if special and values and field.high == 7:
        raise CronError("mixed", position=field.position, item=part)
    return ",".join([*map(str, sorted(values)), *sorted(special)])


def _refuse_unsupported(item: str) -> None:
    for key, pattern in (("random", _RANDOM), ("hashed", _HASHED)):
        if pattern.match(item):
            raise CronError(key, item=item)
    if _NEAREST.fullmatch(item):
        raise CronError("nearest", item=item)


def _special(field: _Field, item: str) -> str | None:
    """Return what only days may say, as croniter writes it; None when it is a plain item."""
    of_month, of_week = field.high == 31, field.high == 7
    if item == "?" and (of_month or of_week):
        return "*"
    if item == "L" and of_month:
        return "L"
    if not of_week:
        return None
    last = _LAST.fullmatch(item)
    if last:
        return f"L{int(last.group(1)) % 7}"
    nth = _NTH.fullmatch(item)
    if nth is None:
        return None
    day, number = _number(field, item, nth.group(1)), int(nth.group(2))
    if not 1 <= number <= 5:
        raise CronError("nth", position=field.position, item=item)
    return f"{day % 7}#{number}"


def _values(field: _Field, item: str) -> Iterable[int]:
    match = _RANGE.fullmatch(item)
    if match is None:
        _refuse(field, item)
    # Sunday is 0 and 7; the circle of a range that goes over the end has it once.
    end = 6 if field.high == 7 else field.high
    step = 1 if match["step"] is None else int(match["step"])
    if not 1 <= step <= end - field.low + 1:
        raise CronError("step", position=field.position, item=item, max=end - field.low + 1)
    if match["all"]:
        return range(field.low, end + 1, step)
    low = _number(field, item, match["low"])
    if match["high"] is not None:
        high = _number(field, item, match["high"])
    else:
        high = low if match["step"] is None else max(low, end)
    circle = range(low, high + 1) if low <= high else (*range(low, end + 1), *range(field.low, high + 1))
    return [value % 7 if field.high == 7 else value for value in circle[::step]]


def _number(field: _Field, item: str, text: str) -> int:
    if not text.isdecimal():
        if text not in field.names:
            _refuse(field, item)
        return field.names[text]
    number = int(text)
    if not field.low <= number <= field.high:
        raise CronError("range", position=field.position, item=item, min=field.low, max=field.high)
    return number


def _refuse(field: _Field, item: str) -> NoReturn:
    raise CronError("item", position=field.position, item=item)
