"""The language's functions: one table with arity, signature and help, for compiler, checker and completion (5.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from webapp.engine.expressions.arithmetic import Number, absolute, kind_of, operand, round_half_away
from webapp.engine.expressions.diagnostics import TYPE, Failure
from webapp.engine.expressions.values import (
    Steps,
    Value,
    charge,
    charge_text,
    display,
    equal,
    text_length,
    to_date,
)


@dataclass(frozen=True, slots=True)
class Function:
    """One function: parameter names (``?`` marks an optional one), the kind of its result, and how it is computed.

    ``compute`` takes the arguments, then the step budget and the offset of the call for failures. ``now`` alone has
    none: the compiler binds the engine's clock.
    """

    name: str
    parameters: tuple[str, ...]
    returns: str
    compute: Callable[..., Value] | None

    @property
    def min_arguments(self) -> int:
        """The fewest arguments a call may have."""
        return sum(not parameter.endswith("?") for parameter in self.parameters)

    @property
    def max_arguments(self) -> int:
        """The most arguments a call may have."""
        return len(self.parameters)

    @property
    def signature(self) -> str:
        """The call as completion shows it: ``round(number, digits?)``."""
        return f"{self.name}({', '.join(self.parameters)})"

    @property
    def help_key(self) -> str:
        """The message key of the one-line help."""
        return f"workflow.expression.function.{self.name}"


def _refuse(name: str, value: Value, at: int) -> Failure:
    return Failure(TYPE, at, {"operation": name, "found": kind_of(value)})


def _len(value: Value, steps: Steps, at: int) -> int:
    if value is None:
        return 0
    if type(value) is str:
        return text_length(value, steps, at)
    if type(value) is list or type(value) is dict:
        return len(value)
    raise _refuse("len", value, at)


def _contains(value: Value, wanted: Value, steps: Steps, at: int) -> bool:
    kind = type(value)
    if value is None or kind is dict:
        return False
    if kind is str:
        part = display(wanted, steps, at)
        charge_text(steps, value, at)
        return part in value
    if kind is list:
        charge(steps, len(value), at)
        if type(wanted) is str:
            return wanted in value
        return any(equal(member, wanted, steps, at) for member in value)
    raise _refuse("contains", value, at)


def _starts_with(value: Value, start: Value, steps: Steps, at: int) -> bool:
    return display(value, steps, at).startswith(display(start, steps, at))


def _ends_with(value: Value, end: Value, steps: Steps, at: int) -> bool:
    return display(value, steps, at).endswith(display(end, steps, at))


def _simple_case(text: str, change: Callable[[str], str]) -> str:
    """Change the case character by character; one that would grow stays (page 22: no 'SS' out of a sharp s)."""
    if text.isascii():
        return change(text)
    return text.translate({ord(char): changed for char in set(text) if len(changed := change(char)) == 1})


def _upper(value: Value, steps: Steps, at: int) -> str:
    return charge_text(steps, _simple_case(display(value, steps, at), str.upper), at)


def _lower(value: Value, steps: Steps, at: int) -> str:
    return charge_text(steps, _simple_case(display(value, steps, at), str.lower), at)


def _trim(value: Value, steps: Steps, at: int) -> str:
    return charge_text(steps, display(value, steps, at).strip(), at)


def _is_null_or_empty(value: Value, steps: Steps, at: int) -> bool:
    return value is None or (type(value) in (str, list, dict) and not value)


def _abs(value: Value, steps: Steps, at: int) -> Number:
    return absolute(operand(value, at, "abs"))


def _min(left: Value, right: Value, steps: Steps, at: int) -> Number:
    return min(operand(left, at, "min"), operand(right, at, "min"))


def _max(left: Value, right: Value, steps: Steps, at: int) -> Number:
    return max(operand(left, at, "max"), operand(right, at, "max"))


def _round(*arguments: Any) -> Number:
    value, *digits, _steps, at = arguments
    return round_half_away(operand(value, at, "round"), operand(digits[0], at, "round") if digits else 0, at)


def _to_number(value: Value, steps: Steps, at: int) -> Number:
    return operand(value, at, "toNumber")


def _date(value: Value, steps: Steps, at: int) -> datetime:
    # The display text of a date drops what is below a second, so a date stays the date it is.
    return value if type(value) is datetime else to_date(display(value, steps, at), at)


_ALL = (
    Function("len", ("value",), "number", _len),
    Function("contains", ("textOrList", "part"), "boolean", _contains),
    Function("startsWith", ("text", "start"), "boolean", _starts_with),
    Function("endsWith", ("text", "end"), "boolean", _ends_with),
    Function("upper", ("text",), "string", _upper),
    Function("lower", ("text",), "string", _lower),
    Function("trim", ("text",), "string", _trim),
    Function("isNullOrEmpty", ("value",), "boolean", _is_null_or_empty),
    Function("abs", ("number",), "number", _abs),
    Function("min", ("a", "b"), "number", _min),
    Function("max", ("a", "b"), "number", _max),
    Function("round", ("number", "digits?"), "number", _round),
    Function("toNumber", ("value",), "number", _to_number),
    Function("toString", ("value",), "string", display),
    Function("now", (), "date", None),
    Function("date", ("text",), "date", _date),
)

FUNCTIONS: dict[str, Function] = {function.name.lower(): function for function in _ALL}
"""Every function by its name in lower case: names are found without regard to case."""


def find(name: str) -> Function | None:
    """Return the function of that name, in any case."""
    return FUNCTIONS.get(name.lower())
