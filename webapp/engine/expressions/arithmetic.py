"""Decimal arithmetic of the language: 28 significant digits, half even, bounded (spec 5.3, 5.7; 25, expressions)."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import (
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from typing import Any

from webapp.engine.expressions.diagnostics import DIGITS_RANGE, DIVISION_BY_ZERO, NOT_A_NUMBER, RANGE, Failure
from webapp.engine.numbers import JsonDecimal

Number = int | Decimal

BOUND = Decimal("79228162514264337593543950335")
RESULT_BOUND = Decimal("79228162514264337593543950340")  # BOUND rounded to 28 digits
MAX_DIGITS = 40  # of a number kept as written; a longer literal or text is rounded to 28
MAX_ROUND_DIGITS = 28
NUMERIC = frozenset((int, Decimal, JsonDecimal))

# Two integers below these have a sum, or a product, of at most 28 digits: computed exactly, without a Decimal.
EXACT_SUM = 5 * 10**27
EXACT_PRODUCT = 10**14
_SMALLEST_EXPONENT = -100  # the JSON door accepts nothing smaller, so a smaller result is zero
_TRAPS = [InvalidOperation, DivisionByZero, Overflow]
_CONTEXT = Context(prec=28, rounding=ROUND_HALF_EVEN, Emin=-999999, Emax=999999, traps=_TRAPS)
EXACT = {"+": _CONTEXT.add, "-": _CONTEXT.subtract, "*": _CONTEXT.multiply}
"""The operations on two decimals as they stand; bounds are the caller's."""
# A remainder needs the whole quotient: 7.9E+28 % 1E-100 has 129 digits.
_WIDE = Context(prec=300, rounding=ROUND_HALF_UP, Emin=-999999, Emax=999999, traps=_TRAPS)
_TEXT_NUMBER = re.compile(r"\s*(?:(?P<sign>[+-])?(?P<lead>[0-9.][0-9,.]*)|(?P<trail>[0-9.][0-9,.]*)(?P<after>[+-]))\s*")
_DIGITS = re.compile(r"(?:[0-9][0-9,]*(?:\.[0-9]*)?|\.[0-9]+)")
_MAX_TEXT = 400

_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    Decimal: "number",
    JsonDecimal: "number",
    str: "string",
    list: "list",
    dict: "object",
    datetime: "date",
}


def kind_of(value: object) -> str:
    """Return the name of a value's type as diagnostics show it."""
    return _KINDS.get(type(value), type(value).__name__)


def within(value: Number) -> bool:
    """Whether a number may take part in a calculation; nearly all are told by their number of digits alone."""
    if type(value) is int:
        return -EXACT_SUM < value < EXACT_SUM or abs(value) <= BOUND
    return value.adjusted() < 28 or abs(value) <= BOUND  # type: ignore[union-attr,operator]  # no int is left


def operand(value: Any, at: int, operation: str) -> Number:
    """Return *value* as a number: numbers and numeric texts; null and booleans are never numbers (spec 5.3)."""
    kind = type(value)
    if kind in NUMERIC:
        if not within(value):
            raise Failure(RANGE, at)
        return value  # type: ignore[no-any-return]  # the test above says so
    if kind is str:
        return text_number(value, at)
    raise Failure(NOT_A_NUMBER, at, {"operation": operation, "found": kind_of(value)})


def text_number(text: str, at: int) -> Number:
    """Return the number a text spells: surrounding space, one sign before or after, thousands commas, no exponent."""
    match = _TEXT_NUMBER.fullmatch(text) if len(text) <= _MAX_TEXT else None
    digits = match and (match["lead"] or match["trail"])
    if match is None or not digits or not _DIGITS.fullmatch(digits):
        raise Failure(NOT_A_NUMBER, at, {"operation": "toNumber", "found": f"'{text[:40]}'"})
    value = literal_number(Decimal(digits.replace(",", "")), at)
    return negate(value) if (match["sign"] or match["after"]) == "-" else value


def literal_number(value: Decimal, at: int) -> Number:
    """Return a number of the text as it stands, an ``int`` when it has no decimal point; refuse it beyond the bound."""
    if value > BOUND:
        raise Failure(RANGE, at)
    _, digits, exponent = value.as_tuple()
    if exponent == 0:
        return int(value)
    return value if len(digits) <= MAX_DIGITS else _CONTEXT.plus(value)


def _bounded(value: Decimal, at: int) -> Decimal:
    size = value.adjusted()
    if size >= 28 and abs(value) > RESULT_BOUND:
        raise Failure(RANGE, at)
    if size < _SMALLEST_EXPONENT:
        return Decimal(0)
    return value if value else abs(value)


def add(left: Number, right: Number, at: int) -> Number:
    """Return ``left + right``."""
    return _bounded(_CONTEXT.add(left, right), at)


def subtract(left: Number, right: Number, at: int) -> Number:
    """Return ``left - right``."""
    return _bounded(_CONTEXT.subtract(left, right), at)


def multiply(left: Number, right: Number, at: int) -> Number:
    """Return ``left * right``."""
    return _bounded(_CONTEXT.multiply(left, right), at)


def divide(left: Number, right: Number, at: int) -> Number:
    """Return ``left / right``; division by zero is a failure like any other."""
    if not right:
        raise Failure(DIVISION_BY_ZERO, at, {"operation": "/"})
    return _bounded(_CONTEXT.divide(left, right), at)


def remainder(left: Number, right: Number, at: int) -> Number:
    """Return ``left % right`` with the sign of the dividend; an ``int`` would take the divisor's in Python."""
    if not right:
        raise Failure(DIVISION_BY_ZERO, at, {"operation": "%"})
    return _bounded(_CONTEXT.plus(_WIDE.remainder(left, right)), at)


def negate(value: Number) -> Number:
    """Return ``-value``; there is no negative zero."""
    return -value if type(value) is int else _CONTEXT.minus(value)


def absolute(value: Number) -> Number:
    """Return the number without its sign."""
    return abs(value) if type(value) is int else _CONTEXT.abs(value)


def round_half_away(value: Number, digits: Number, at: int) -> Number:
    """Return *value* with at most *digits* places, a midpoint going away from zero; fewer places stay as they are."""
    places = int(digits)
    if not 0 <= places <= MAX_ROUND_DIGITS:
        raise Failure(DIGITS_RANGE, at, {"digits": str(places)[:40], "max": MAX_ROUND_DIGITS})
    if isinstance(value, int):
        return value
    _, _, exponent = value.as_tuple()
    if isinstance(exponent, int) and exponent >= -places:
        return value
    rounded = _WIDE.quantize(value, Decimal(1).scaleb(-places))
    return _bounded(rounded, at)


def number_text(value: Number) -> str:
    """Return the digits of a number: no exponent, scale kept (1.50 stays 1.50)."""
    return str(value) if type(value) is int else format(value if value else abs(value), "f")


def json_number(value: Number) -> Number:
    """Return a number as JSON documents hold it: ``int`` within 64 bits, ``JsonDecimal`` for everything else."""
    if type(value) is int:
        return value if -(1 << 63) <= value < 1 << 63 else JsonDecimal(value)
    text = number_text(value)
    if "." not in text and -(1 << 63) <= (whole := int(text)) < 1 << 63:
        return whole
    return value if type(value) is JsonDecimal and value else JsonDecimal(text)
