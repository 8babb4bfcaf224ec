"""Length, nesting and budgets: hostile texts end in an ordinary error, never in a crash (spec 5.1, 5.7)."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from webapp.engine.expressions import ExpressionError, ExpressionEvaluator


class FixedClock:
    def now(self) -> datetime:
        return datetime(2026, 7, 16, 8, tzinfo=UTC)


EVALUATOR = ExpressionEvaluator(FixedClock())


def key_of(text: str, variables: dict[str, Any] | None = None) -> str:
    with pytest.raises(ExpressionError) as caught:
        EVALUATOR.evaluate(text, variables or {})
    return caught.value.diagnostics[0].key


def test_a_sum_of_3999_characters() -> None:
    assert EVALUATOR.evaluate("1" + "+1" * 1999, {}) == 2000


def test_1333_alternatives() -> None:
    text = "a" + "||a" * 1333
    assert len(text) == 4000
    assert EVALUATOR.evaluate(text, {"a": True}) is True
    assert EVALUATOR.evaluate(text, {"a": False}) is False


def test_1999_members_of_null_are_no_value_and_of_a_text_an_error() -> None:
    assert EVALUATOR.evaluate("a" + ".a" * 1999, {"a": None}) is None
    assert EVALUATOR.evaluate("a" + ".a" * 1999, {"a": {"a": {}}}) is None
    assert key_of("a" + ".a" * 1999, {"a": "x"}) == "workflow.expression.type"


def test_4000_characters_are_legal_and_4001_are_not() -> None:
    assert EVALUATOR.evaluate("'" + "x" * 3998 + "'", {}) == "x" * 3998
    assert key_of("'" + "x" * 3999 + "'") == "workflow.expression.too_long"


def test_length_counts_utf16_units() -> None:
    assert EVALUATOR.evaluate("'" + "😀" * 1999 + "'", {}) == "😀" * 1999
    assert key_of("'" + "😀" * 1999 + "x'") == "workflow.expression.too_long"


@pytest.mark.parametrize(
    ("before", "core", "after"),
    [("(", "1", ")"), ("-", "1", ""), ("abs(", "1", ")"), ("l[", "0", "]"), ("-(", "1", ")"), ("1+(", "1", ")")],
)
def test_64_levels_are_legal_and_the_65th_is_not(before: str, core: str, after: str) -> None:
    levels = before.count("(") + before.count("[") + before.count("-")
    fits = 64 // levels
    EVALUATOR.evaluate(before * fits + core + after * fits, {"l": [0]})
    assert key_of(before * (fits + 1) + core + after * (fits + 1)) == "workflow.expression.too_deep"


def test_the_error_points_at_the_65th_level() -> None:
    with pytest.raises(ExpressionError) as caught:
        EVALUATOR.evaluate("(" * 65 + "1" + ")" * 65, {})
    assert caught.value.diagnostics[0].column == 65


@pytest.mark.parametrize(
    "text",
    [
        "!t" + " && !t" * 100,
        "-1" + " - -1" * 100,
        "(t)" + " && (t)" * 100,
        "max(-1, -1)" + " + max(-1, -1)" * 50,
        "l[-0]" + " + l[-0]" * 100,
        "'((((((' + " * 20 + "'('",
        '"\\"((((((" + ' * 20 + "'('",
        "-" * 63 + "l[0]" + "+ -1",
    ],
)
def test_levels_that_were_closed_do_not_count(text: str) -> None:
    EVALUATOR.evaluate(text, {"t": False, "l": [1]})


def test_the_deepest_tree_evaluates_on_half_of_the_usual_stack() -> None:
    level = "t && t == (t || 1 < 1 + 2 * "
    text = "t && t == (t || 1 < 1 + 2 * len(" * 32 + "l" + "))" * 32
    assert level in text
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len_of_stack() + 450)
    try:
        assert EVALUATOR.evaluate(text, {"t": True, "l": []}) is True
        assert EVALUATOR.condition(text, {"t": True, "l": []}) is True
    finally:
        sys.setrecursionlimit(limit)


def len_of_stack() -> int:
    frame: Any = sys._getframe()
    depth = 0
    while frame is not None:
        depth += 1
        frame = frame.f_back
    return depth


def test_a_stack_that_is_too_small_is_an_ordinary_error() -> None:
    text = "(f || " * 63 + "t" + ")" * 63
    compiled = EVALUATOR.compile(text)
    template = EVALUATOR.compile_template("{{" + text + "}}")
    EVALUATOR.condition("t", {"t": True})
    limit = sys.getrecursionlimit()
    keys = []
    sys.setrecursionlimit(len_of_stack() + 50)
    try:
        for run in (compiled.evaluate, compiled.condition, template.render):
            try:
                run({"f": False, "t": True})
            except ExpressionError as error:
                keys.append(error.key)
    finally:
        sys.setrecursionlimit(limit)
    assert keys == ["workflow.expression.too_deep"] * 3


def test_a_result_text_of_1_mib_is_legal_and_one_more_is_not() -> None:
    half = "x" * (512 * 1024)
    assert len(EVALUATOR.evaluate("a + a", {"a": half})) == 1024 * 1024
    assert key_of("a + a + 'x'", {"a": half}) == "workflow.expression.budget"
    assert key_of("a", {"a": half * 2 + "x"}) == "workflow.expression.budget"
    assert key_of("a + a", {"a": "张" * (175 * 1024)}) == "workflow.expression.budget"


def test_a_result_of_10000_members_is_legal_and_one_more_is_not() -> None:
    assert len(EVALUATOR.evaluate("a", {"a": [0] * 10_000})) == 10_000
    assert key_of("a", {"a": [0] * 10_001}) == "workflow.expression.budget"
    assert key_of("a", {"a": {str(number): 0 for number in range(10_001)}}) == "workflow.expression.budget"
    assert key_of("a", {"a": [[0] * 5_000, [0] * 5_000]}) == "workflow.expression.budget"


def test_a_result_nested_deeper_than_json_may_be_is_refused() -> None:
    value: Any = 1
    for _ in range(66):
        value = [value]
    assert key_of("a", {"a": value}) == "workflow.expression.budget"


@pytest.mark.parametrize(
    "text",
    [
        "contains(a, 1)" + " || contains(a, 1)" * 10,
        "a == b" + " && a == b" * 10,
        "len(toString(c))" + " + len(toString(c))" * 200,
    ],
)
def test_work_over_long_lists_is_cut_off_after_10000_steps(text: str) -> None:
    variables = {"a": [0] * 2_000, "b": [0] * 2_000, "c": ["x" * 500_000]}
    assert key_of(text, variables) == "workflow.expression.budget"


@pytest.mark.parametrize("part", ["contains(a, 'y')", "upper(a) == 'y'", "a < b", "len(a) < 0"])
def test_work_over_long_texts_is_cut_off(part: str) -> None:
    variables = {"a": "ä" * 500_000, "b": "ä" * 500_000}
    assert key_of(" || ".join([part] * 150), variables) == "workflow.expression.budget"


def test_a_value_that_is_not_json_is_refused() -> None:
    assert key_of("a", {"a": 1.5}) == "workflow.expression.type"
    assert key_of("a", {"a": [{1}]}) == "workflow.expression.type"
