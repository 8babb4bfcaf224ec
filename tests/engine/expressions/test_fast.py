"""The quick way of an expression that is run often agrees with the closures in value and in every mistake."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clock import FakeClock
from tests.support.examples import examples
from webapp.engine.expressions import ExpressionError, ExpressionEvaluator
from webapp.engine.expressions.fast import WORTH_AFTER, quick_value
from webapp.engine.expressions.parser import parse
from webapp.engine.numbers import JsonDecimal


def outcome(run):
    """Return what a run gave, or its mistakes with their places."""
    try:
        value = run()
    except ExpressionError as error:
        return error.diagnostics
    return (type(value), json.dumps(value, default=str), str(value))


def both(text, scope):
    """Return the outcomes of a first run, and those of runs that take the quick way."""
    compiled = ExpressionEvaluator(FakeClock()).compile(text)
    first = outcome(lambda: compiled.evaluate(scope)), outcome(lambda: compiled.condition(scope))
    compiled._runs = WORTH_AFTER
    return first, (outcome(lambda: compiled.evaluate(scope)), outcome(lambda: compiled.condition(scope)))


NUMBERS = [0, 1, -1, 7, 10**9, -(10**9), 10**28 // 2, 79228162514264337593543950335, 79228162514264337593543950336]
DECIMALS = ["0.0", "-0.5", "0.1", "1.50", "2.5", "1E-100", "79228162514264337593543950335.0", "8E+28", "0E+50"]
SCOPE = {
    **{f"n{index}": value for index, value in enumerate(NUMBERS)},
    **{f"d{index}": JsonDecimal(value) for index, value in enumerate(DECIMALS)},
    "plain": Decimal("3.25"),
    "s0": "", "s1": "approved", "s2": "张三", "s3": " 12 ", "s4": "\U0001f600", "s5": "2026-11-30",
    "t": True, "f": False, "nil": None,
    "l": [1, "b", None, [2]], "o": {"total": 99, "name": "x", "inner": {"k": JsonDecimal("0.10")}, "2": "two"},
}  # fmt: skip
ATOMS = [
    *SCOPE, "missing", "1", "0", "2.50", "'approved'", "''", "true", "false", "null", "o.total", "o.inner.k",
    "o.nothing.more", "nil.more", "s1.more", "l[0]", "l[9]", "l[n1]", "o['name']", "nil[missing]", "l['x']",
    "len(l)", "len(o)", "contains(l, 'b')", "upper(s1)", "toNumber(s3)", "startsWith(s2, '张')", "abs(d1)",
    "date(s5)", "isNullOrEmpty(nil)", "round(d3, 1)", "min(n3, d3)",
]  # fmt: skip
BINARY = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"]


def texts():
    return st.recursive(
        st.sampled_from(ATOMS),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(BINARY), inner).map(lambda parts: f"({' '.join(parts)})"),
            st.tuples(inner, st.sampled_from(BINARY), inner).map(" ".join),
            inner.map(lambda text: f"!({text})"),
            inner.map(lambda text: f"-({text})"),
        ),
        max_leaves=6,
    )


@settings(max_examples=examples(150), deadline=None)
@given(texts())
def test_the_quick_way_gives_the_same_value_or_the_same_mistake(text):
    try:
        parse(text)
    except Exception:
        return
    first, quick = both(text, SCOPE)
    assert quick == first, text


@pytest.mark.parametrize("left", [name for name in ATOMS if name in SCOPE])
def test_every_pair_of_values_under_every_operator(left):
    for operator in BINARY:
        for right in [*SCOPE, "1", "2.50", "'approved'", "null", "true"]:
            text = f"{left} {operator} {right}"
            first, quick = both(text, SCOPE)
            assert quick == first, text


def test_a_condition_that_is_run_often_does_take_the_quick_way():
    compiled = ExpressionEvaluator(FakeClock()).compile("amount > 10000 && outcome == 'approved'")
    closures = compiled.condition
    for _ in range(WORTH_AFTER + 1):
        assert compiled.condition({"amount": 12000, "outcome": "approved"}) is True
    assert compiled.condition is not closures
    assert compiled.condition.__name__ == "quick"


def test_no_text_of_an_expression_is_written_into_the_function():
    quick = quick_value(parse("name == 'x\"); import os #'"), lambda: datetime(2026, 1, 1, tzinfo=UTC))
    assert quick({"name": 'x"); import os #'}) is True
    assert all("import" not in str(name) for name in quick.__code__.co_names + quick.__code__.co_varnames)


def test_a_deep_expression_stays_with_the_closures():
    text = "(" * 60 + "a" + " && (b || c))" * 60
    first, quick = both(text, {"a": True, "b": False, "c": True})
    assert quick == first
    assert first[1][1] == "true"


def test_the_step_budget_is_one_for_the_whole_expression():
    text = " + ".join(["len(text)"] * 60)
    scope = {"text": "é" * 1_000_000}
    first, quick = both(text, scope)
    assert quick == first
    assert first[0][0].key == "workflow.expression.budget"
