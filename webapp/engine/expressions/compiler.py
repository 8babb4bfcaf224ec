"""Syntax tree to closures: one closure a node and one loop a level, the common shapes of conditions fused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from webapp.engine.expressions.arithmetic import (
    EXACT_PRODUCT,
    EXACT_SUM,
    NUMERIC,
    add,
    divide,
    kind_of,
    multiply,
    negate,
    operand,
    remainder,
    subtract,
)
from webapp.engine.expressions.diagnostics import INDEX_RANGE, TYPE, UNKNOWN_NAME, Failure
from webapp.engine.expressions.functions import Function, find
from webapp.engine.expressions.syntax import (
    Access,
    Call,
    Chain,
    Index,
    Literal,
    Logical,
    Name,
    Node,
    Unary,
    children,
    walk,
)
from webapp.engine.expressions.values import ORDERINGS, Steps, Value, charge_text, compare, display, equal

Scope = Mapping[str, Any]
Run = Callable[[Scope, Steps], Value]
"""A compiled part: root variables and step budget in, value out."""

Operator = Callable[[Value, Value, Steps, int], Value]


def compile_tree(root: Node, now: Callable[[], datetime]) -> Run:
    """Return *root* as a closure; calls must have been checked (``checks.call_failures``)."""
    compiled: dict[int, Run] = {}
    # Backwards, parts come before the whole: no recursion, however deep the tree is.
    for node in reversed(walk(root)):
        parts = [compiled[id(child)] for child in children(node)]
        compiled[id(node)] = _compile(node, parts, now)
    return compiled[id(root)]


def _compile(node: Node, parts: Sequence[Run], now: Callable[[], datetime]) -> Run:
    match node:
        case Literal(value):
            return lambda scope, steps: value
        case Name(name, at):
            return _name(name, at)
        case Access():
            return _access(node, parts)
        case Call(function, _, at):
            return _call(find(function), parts, now, at)
        case Unary():
            return _unary(node, parts[0])
        case Logical(operator, operands):
            ats = [part.at for part in operands]
            return _all(parts, ats) if operator == "&&" else _any(parts, ats)
    return _chain(node, parts)


def _name(name: str, at: int) -> Run:
    def run(scope: Scope, steps: Steps) -> Value:
        try:
            return scope[name]
        except KeyError:
            raise _unknown(name, at) from None

    return run


def _unknown(name: str, at: int) -> Failure:
    return Failure(UNKNOWN_NAME, at, {"name": name})


def _access(node: Access, parts: Sequence[Run]) -> Run:
    target, *indexes = parts
    remaining = iter(indexes)
    path = tuple(
        (None, next(remaining), step.at) if isinstance(step, Index) else (step.name, None, step.at)
        for step in node.steps
    )

    def run(scope: Scope, steps: Steps) -> Value:
        value = target(scope, steps)
        for name, index, at in path:
            if value is None:
                return None
            if index is not None:
                value = item(value, index(scope, steps), steps, at)
            elif type(value) is dict:
                value = value.get(name)
            else:
                raise Failure(TYPE, at, {"operation": f".{name}", "found": kind_of(value)})
        return value

    return run


def item(value: Value, index: Value, steps: Steps, at: int) -> Value:
    """Return a list's element or an object's member by a computed name."""
    if type(value) is dict:
        return value.get(display(index, steps, at))
    if type(value) is not list:
        raise Failure(TYPE, at, {"operation": "[]", "found": kind_of(value)})
    position = int(operand(index, at, "[]"))
    if not 0 <= position < len(value):
        raise Failure(INDEX_RANGE, at, {"index": str(position), "length": len(value)})
    return value[position]


def _call(function: Function | None, parts: Sequence[Run], now: Callable[[], datetime], at: int) -> Run:
    compute = function.compute if function is not None else None
    if compute is None:
        return lambda scope, steps: now()
    if len(parts) == 1:
        only = parts[0]
        return lambda scope, steps: compute(only(scope, steps), steps, at)
    first, second = parts
    return lambda scope, steps: compute(first(scope, steps), second(scope, steps), steps, at)


def _unary(node: Unary, inner: Run) -> Run:
    if isinstance(node.operand, Literal) and type(node.operand.value) in NUMERIC and node.operators[0][0] == "-":
        number: Any = node.operand.value
        if len(node.operators) == 1:
            constant = negate(number)
            return lambda scope, steps: constant
    operators = tuple(reversed(node.operators))

    def run(scope: Scope, steps: Steps) -> Value:
        value = inner(scope, steps)
        for symbol, at in operators:
            if symbol == "-":
                value = negate(operand(value, at, "-"))
            elif value is True:
                value = False
            elif value is False:
                value = True
            else:
                raise Failure(TYPE, at, {"operation": "!", "found": kind_of(value)})
        return value

    return run


def _all(parts: Sequence[Run], ats: Sequence[int]) -> Run:
    operands = tuple(zip(parts, ats, strict=True))

    def run(scope: Scope, steps: Steps) -> Value:
        for part, at in operands:
            value = part(scope, steps)
            if value is False:
                return False
            if value is not True:
                raise Failure(TYPE, at, {"operation": "&&", "found": kind_of(value)})
        return True

    return run


def _any(parts: Sequence[Run], ats: Sequence[int]) -> Run:
    operands = tuple(zip(parts, ats, strict=True))

    def run(scope: Scope, steps: Steps) -> Value:
        for part, at in operands:
            value = part(scope, steps)
            if value is True:
                return True
            if value is not False:
                raise Failure(TYPE, at, {"operation": "||", "found": kind_of(value)})
        return False

    return run


def _chain(node: Chain, parts: Sequence[Run]) -> Run:
    first, *others = parts
    if len(node.rest) == 1:
        symbol, right, at = node.rest[0]
        if isinstance(node.first, Name) and isinstance(right, Literal):
            fused = _fused(node.first, symbol, right.value, at)
            if fused is not None:
                return fused
        return _binary(symbol, first, others[0], at)
    rest = tuple((OPERATORS[symbol], part, at) for (symbol, _, at), part in zip(node.rest, others, strict=True))

    def run(scope: Scope, steps: Steps) -> Value:
        value = first(scope, steps)
        for apply, part, at in rest:
            value = apply(value, part(scope, steps), steps, at)
        return value

    return run


def _binary(symbol: str, left: Run, right: Run, at: int) -> Run:
    apply = OPERATORS[symbol]
    if symbol not in ORDERINGS:
        return lambda scope, steps: apply(left(scope, steps), right(scope, steps), steps, at)
    test = ORDERINGS[symbol]

    def run(scope: Scope, steps: Steps) -> Value:
        first, second = left(scope, steps), right(scope, steps)
        if type(first) is int and type(second) is int and -EXACT_SUM < first < EXACT_SUM > second > -EXACT_SUM:
            return test(first, second)
        return apply(first, second, steps, at)

    return run


def _fused(variable: Name, symbol: str, constant: Any, at: int) -> Run | None:
    """Return ``name == 'text'``, ``name > 10`` and the like as one closure; most conditions are made of them."""
    name, name_at = variable.name, variable.at
    if type(constant) is str and symbol in ("==", "!="):
        same = symbol == "=="

        def match_text(scope: Scope, steps: Steps) -> Value:
            try:
                value = scope[name]
            except KeyError:
                raise _unknown(name, name_at) from None
            if type(value) is str:
                return (value == constant) is same
            return equal(value, constant, steps, at) is same

        return match_text
    if type(constant) is not int or symbol not in ORDERINGS:
        return None
    test = ORDERINGS[symbol]

    def match_number(scope: Scope, steps: Steps) -> Value:
        try:
            value = scope[name]
        except KeyError:
            raise _unknown(name, name_at) from None
        if type(value) is int and -EXACT_SUM < value < EXACT_SUM:
            return test(value, constant)
        return compare(symbol, value, constant, steps, at)

    return match_number


def _plus(left: Value, right: Value, steps: Steps, at: int) -> Value:
    if type(left) is int and type(right) is int and -EXACT_SUM < left < EXACT_SUM > right > -EXACT_SUM:
        return left + right
    if type(left) is str or type(right) is str:
        return charge_text(steps, display(left, steps, at) + display(right, steps, at), at)
    return add(operand(left, at, "+"), operand(right, at, "+"), at)


def _minus(left: Value, right: Value, steps: Steps, at: int) -> Value:
    if type(left) is int and type(right) is int and -EXACT_SUM < left < EXACT_SUM > right > -EXACT_SUM:
        return left - right
    return subtract(operand(left, at, "-"), operand(right, at, "-"), at)


def _times(left: Value, right: Value, steps: Steps, at: int) -> Value:
    if type(left) is int and type(right) is int and -EXACT_PRODUCT < left < EXACT_PRODUCT > right > -EXACT_PRODUCT:
        return left * right
    return multiply(operand(left, at, "*"), operand(right, at, "*"), at)


def _over(left: Value, right: Value, steps: Steps, at: int) -> Value:
    return divide(operand(left, at, "/"), operand(right, at, "/"), at)


def _modulo(left: Value, right: Value, steps: Steps, at: int) -> Value:
    return remainder(operand(left, at, "%"), operand(right, at, "%"), at)


def _unequal(left: Value, right: Value, steps: Steps, at: int) -> bool:
    return not equal(left, right, steps, at)


def _ordering(symbol: str) -> Operator:
    return lambda left, right, steps, at: compare(symbol, left, right, steps, at)


OPERATORS: dict[str, Operator] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": _over,
    "%": _modulo,
    "==": equal,
    "!=": _unequal,
    **{symbol: _ordering(symbol) for symbol in ORDERINGS},
}
