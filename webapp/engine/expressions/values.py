"""Values while an expression runs: display text, equality, order, the step budget, and the way back to JSON."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from webapp.engine.expressions.arithmetic import NUMERIC, json_number, kind_of, number_text, within
from webapp.engine.expressions.diagnostics import BUDGET, NOT_A_DATE, RANGE, TYPE, Failure, utf16_length
from webapp.engine.numbers import JsonValue, encode

Value = Any
"""A JSON value or, inside an evaluation only, an aware ``datetime`` in UTC."""

Steps = list[int]
"""One number: the steps this evaluation has left."""

MAX_STEPS = 10_000
MAX_TEXT_BYTES = 1024 * 1024
MAX_MEMBERS = 10_000
MAX_RESULT_DEPTH = 64

# Work on long texts costs a step for each 4 KiB, so that a short expression cannot keep a worker busy for seconds.
_TEXT_STEP = 12

_DATE = re.compile(
    r"\s*([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)(Z|[+-][0-9]{2}:[0-9]{2})?)?\s*",
    re.IGNORECASE,
)

ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def charge(steps: Steps, amount: int, at: int) -> None:
    """Take *amount* from the steps left; refuse when they run out."""
    steps[0] -= amount
    if steps[0] < 0:
        raise Failure(BUDGET, at, {"limit": "steps", "max": MAX_STEPS})


def charge_text(steps: Steps, text: str, at: int) -> str:
    """Return *text* after paying for its length; refuse one over 1 MiB."""
    length = len(text)
    if length >> _TEXT_STEP:
        charge(steps, length >> _TEXT_STEP, at)
        check_text(text, at)
    return text


def check_text(text: str, at: int) -> None:
    """Refuse a text of more than 1 MiB in UTF-8."""
    # No character takes more than four bytes, so short texts need not be encoded to be measured.
    if len(text) * 4 > MAX_TEXT_BYTES and len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
        raise Failure(BUDGET, at, {"limit": "text", "max": MAX_TEXT_BYTES})


def display(value: Value, steps: Steps, at: int) -> str:
    """Return a value's display text (spec 5.3): null is empty, lists and objects are compact JSON."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]  # the test above says so
    if value is None:
        return ""
    if kind is bool:
        return "true" if value else "false"
    if kind in NUMERIC:
        return number_text(value)
    if kind is datetime:
        return value.strftime("%Y-%m-%d %H:%M:%S").zfill(19)  # type: ignore[no-any-return]  # a datetime's text
    return charge_text(steps, encode(value).decode(), at)


def equal(left: Value, right: Value, steps: Steps, at: int) -> bool:
    """Return ``left == right``: no coercion, different types differ, lists and objects are compared deeply."""
    kind, other = type(left), type(right)
    if kind is str and other is str:
        return left == right  # type: ignore[no-any-return]  # two texts
    if left is None or right is None or kind is bool or other is bool:
        return left is right
    if kind in NUMERIC:
        return other in NUMERIC and left == right
    if kind is datetime or other is datetime:
        return _equal_dates(left, right)
    if kind is not other:
        return False
    return _equal_deep(left, right, steps, at)


def _equal_dates(left: Value, right: Value) -> bool:
    first, second = (parse_date(side) if type(side) is str else side for side in (left, right))
    return type(first) is type(second) is datetime and first == second


def _equal_deep(left: Value, right: Value, steps: Steps, at: int) -> bool:
    pairs = [(left, right)]
    while pairs:
        first, second = pairs.pop()
        kind = type(first)
        if kind is not type(second) or kind not in (list, dict):
            if not equal(first, second, steps, at):
                return False
            continue
        if len(first) != len(second):
            return False
        charge(steps, len(first) + 1, at)
        if kind is list:
            pairs.extend(zip(first, second, strict=True))
        elif first.keys() != second.keys():
            return False
        else:
            pairs.extend((member, second[name]) for name, member in first.items())
    return True


def compare(symbol: str, left: Value, right: Value, steps: Steps, at: int) -> bool:
    """Return ``left < right`` and the like: two numbers, two texts (UTF-16 order), or a date with a date or text."""
    test = ORDERINGS[symbol]
    kind, other = type(left), type(right)
    if kind in NUMERIC and other in NUMERIC:
        if not (within(left) and within(right)):
            raise Failure(RANGE, at)
        return test(left, right)
    if kind is str and other is str:
        # Only two texts beyond ASCII can differ in UTF-16 order from Python's order of code points.
        if left.isascii() or right.isascii():
            return test(left, right)
        charge(steps, len(left) + len(right) >> _TEXT_STEP, at)
        return test(left.encode("utf-16-be", "surrogatepass"), right.encode("utf-16-be", "surrogatepass"))
    if kind is datetime or other is datetime:
        first = to_date(left, at) if kind is str else left
        second = to_date(right, at) if other is str else right
        if type(first) is type(second) is datetime:
            return test(first, second)
    raise Failure(TYPE, at, {"operation": symbol, "found": f"{kind_of(left)}, {kind_of(right)}"})


def parse_date(text: str) -> datetime | None:
    """Return the instant an ISO 8601 text names, in UTC (a text without offset is UTC), or None."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    day, time, offset = match.groups()
    try:
        return datetime.fromisoformat(f"{day}T{time or '00:00'}{(offset or 'Z').upper()}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def to_date(text: str, at: int) -> datetime:
    """Return the instant an ISO 8601 text names; refuse any other text."""
    instant = parse_date(text)
    if instant is None:
        raise Failure(NOT_A_DATE, at, {"found": text[:40]})
    return instant


def text_length(text: str, steps: Steps, at: int) -> int:
    """Return the length of a text in UTF-16 units."""
    if not text.isascii():
        charge(steps, len(text) >> _TEXT_STEP, at)
    return utf16_length(text)


def to_json(value: Value, at: int = 0) -> JsonValue:
    """Return the result of an evaluation as a JSON value of its own: dates as ISO text, lists and objects copied."""
    kind = type(value)
    if kind is str:
        check_text(value, at)
    if kind is list or kind is dict:
        return _copy(value, [MAX_MEMBERS], MAX_RESULT_DEPTH, at)
    return _leaf(value, at)


def _leaf(value: Value, at: int) -> JsonValue:
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if kind in NUMERIC:
        return json_number(value)
    if kind is datetime:
        return instant_text(value)
    raise Failure(TYPE, at, {"operation": "=", "found": kind_of(value)})


def instant_text(value: datetime) -> str:
    """Return an instant in ISO 8601 with ``Z``, as stored documents write it."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _copy(value: Value, left: list[int], depth: int, at: int) -> JsonValue:
    if not isinstance(value, (list, dict)):
        return _leaf(value, at)
    left[0] -= len(value)
    if left[0] < 0 or depth == 0:
        raise Failure(BUDGET, at, {"limit": "members", "max": MAX_MEMBERS})
    if isinstance(value, list):
        return [_copy(member, left, depth - 1, at) for member in value]
    return {name: _copy(member, left, depth - 1, at) for name, member in value.items()}
