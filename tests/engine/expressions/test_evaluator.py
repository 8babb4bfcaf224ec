"""Conditions, places of mistakes, static checks, cache and threads (spec 5.5)."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.engine.errors import WorkflowError
from webapp.engine.expressions import FUNCTIONS, KEYS, ExpressionError, ExpressionEvaluator
from webapp.engine.numbers import JsonDecimal
from webapp.messages.catalog import LANGUAGES, Catalog, Language


class FixedClock:
    def now(self) -> datetime:
        return datetime(2026, 7, 16, 8, tzinfo=UTC)


EVALUATOR = ExpressionEvaluator(FixedClock())


def failure(text: str, variables: dict[str, Any]) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        EVALUATOR.evaluate(text, variables)
    return caught.value


def test_a_condition_is_true_or_false_and_nothing_else() -> None:
    variables = {"amount": 20000, "e": None}
    assert EVALUATOR.condition("amount > 10000", variables) is True
    assert EVALUATOR.condition("amount <= 10000", variables) is False
    for text in ("amount + 1", "e", "'true'", "1"):
        with pytest.raises(ExpressionError) as caught:
            EVALUATOR.condition(text, variables)
        assert caught.value.key == "workflow.expression.type.condition"
    with pytest.raises(ExpressionError):
        EVALUATOR.condition("unknownVar > 1", variables)
    with pytest.raises(ExpressionError):
        EVALUATOR.condition("amount >", variables)


def test_an_error_carries_code_text_and_place() -> None:
    error = failure("1 +\n  missing", {})
    assert isinstance(error, WorkflowError)
    assert (error.code, error.key, error.params) == (
        "WORKFLOW_VALIDATION_003",
        "workflow.expression.unknown_name",
        {"name": "missing"},
    )
    assert (error.diagnostics[0].line, error.diagnostics[0].column) == (2, 3)
    problem = error.problems[0]
    assert (problem.path, problem.line, problem.column) == ("text", 2, 3)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("'😀' + missing", 8),
        ("amount >", 9),
        ("1 / 0", 3),
        ("l[7]", 3),
        ("o.k.x", 5),
        ("true && 1", 9),
        ("len(1, 2)", 1),
        ("1 $ 2", 3),
        ("1 + 1.2.3", 5),
        ("1 + 'x", 5),
    ],
)
def test_columns_count_utf16_units_from_1(text: str, column: int) -> None:
    error = failure(text, {"l": [], "o": {"k": 1}})
    assert (error.diagnostics[0].line, error.diagnostics[0].column) == (1, column)


def test_all_wrong_calls_are_told_at_once() -> None:
    error = failure("foo(len()) + now(1)", {})
    assert [(one.key, one.column) for one in error.diagnostics] == [
        ("workflow.expression.unknown_function", 1),
        ("workflow.expression.arity", 5),
        ("workflow.expression.arity", 14),
    ]
    assert error.diagnostics[1].params == {"signature": "len(value)", "found": 0}


def test_a_long_token_is_cut_in_the_message() -> None:
    assert failure("1 " + "a" * 100, {}).params == {"token": "a" * 40 + "…"}


def test_check_reports_unknown_names_only_when_names_are_given() -> None:
    text = "a + b.c + max(d, a)"
    assert EVALUATOR.check(text, "expression") == []
    found = EVALUATOR.check(text, "expression", {"a"})
    assert [(one.params["name"], one.column) for one in found] == [("b", 5), ("d", 15)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("amount + 1", "string, number"),
        ("amount * 1", "number"),
        ("-amount", "number"),
        ("1", "number"),
        ("'yes'", "string"),
        ("null", "null"),
        ("upper(name)", "string"),
        ("len(name)", "number"),
        ("now()", "date"),
    ],
)
def test_check_refuses_a_condition_that_can_never_be_one(text: str, found: str) -> None:
    (diagnostic,) = EVALUATOR.check(text, "condition")
    assert (diagnostic.key, diagnostic.params) == ("workflow.expression.type.condition", {"found": found})
    assert EVALUATOR.check(text, "expression") == []


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a.b",
        "true",
        "!a",
        "a && b",
        "a || b",
        "a == 1",
        "1 < 2",
        "contains(a, 1)",
        "a[0]",
        "(a)",
        "1 + 1 < 2 == a",
    ],
)
def test_check_accepts_what_may_be_a_condition(text: str) -> None:
    assert EVALUATOR.check(text, "condition") == []


def test_check_of_an_unknown_function_says_so_once() -> None:
    assert [one.key for one in EVALUATOR.check("foo()", "condition")] == ["workflow.expression.unknown_function"]


def test_check_reports_syntax_mistakes() -> None:
    assert [one.key for one in EVALUATOR.check("a >", "condition", {"a"})] == ["workflow.expression.syntax.end"]


def test_check_of_a_template_looks_into_every_placeholder() -> None:
    found = EVALUATOR.check("a {{ x + 1 }}\n{{ y }} {{ 1 + }}", "template", {"x"})
    assert [(one.key, one.line, one.column) for one in found] == [
        ("workflow.expression.unknown_name", 2, 4),
        ("workflow.expression.syntax.end", 2, 16),
    ]
    assert [one.key for one in EVALUATOR.check("a {{", "template")] == ["workflow.expression.syntax.placeholder"]
    assert EVALUATOR.check("plain", "template", set()) == []


def test_a_text_is_parsed_once_for_checking_and_running() -> None:
    evaluator = ExpressionEvaluator(FixedClock())
    assert evaluator.check("a + b", "expression", {"a"}) == evaluator.check("a + b", "expression", {"a"}) != []
    assert evaluator.compile("a + b").root is evaluator.compile("a + b").root
    assert evaluator.check("a + ", "expression") != []


def test_check_needs_a_known_kind() -> None:
    with pytest.raises(ValueError, match="poem"):
        EVALUATOR.check("1", "poem")


def test_compiled_expressions_know_the_names_they_read() -> None:
    compiled = EVALUATOR.compile("a.b[c] > max(d, 1) || !e && f == 'g'")
    assert compiled.names == {"a", "c", "d", "e", "f"}
    assert compiled.text.startswith("a.b[c]")


def test_an_index_that_holds_an_expression_is_evaluated() -> None:
    assert EVALUATOR.evaluate("a[b[0] + 1].c['d' + 1]", {"a": [0, {"c": {"d1": 7}}], "b": [0]}) == 7


def test_results_share_nothing_with_the_variables() -> None:
    variables: dict[str, Any] = {"a": {"b": [1]}}
    result = EVALUATOR.evaluate("a", variables)
    result["b"].append(2)
    assert variables == {"a": {"b": [1]}}


def test_numbers_leave_as_json_numbers() -> None:
    assert type(EVALUATOR.evaluate("1 + 1", {})) is int
    assert type(EVALUATOR.evaluate("1.5 + 1", {})) is JsonDecimal
    assert type(EVALUATOR.evaluate("6 / 2", {})) is int
    assert type(EVALUATOR.evaluate("9223372036854775807 + 1", {})) is JsonDecimal
    assert type(EVALUATOR.evaluate("a", {"a": Decimal("1.5")})) is JsonDecimal
    assert type(EVALUATOR.evaluate("a[0]", {"a": [Decimal("1.5")]})) is JsonDecimal
    assert EVALUATOR.evaluate("a", {"a": [Decimal("1.5"), Decimal("2")]}) == [Decimal("1.5"), 2]


def test_the_cache_is_cleared_whole_when_full_and_keeps_no_failures() -> None:
    evaluator = ExpressionEvaluator(FixedClock(), cache_size=2)
    first = evaluator.compile("1")
    assert evaluator.compile("1") is first
    evaluator.compile("2")
    with pytest.raises(ExpressionError):
        evaluator.compile("1 +")
    assert evaluator.compile("1") is first
    evaluator.compile("3")
    assert evaluator.compile("1") is not first


def test_the_template_cache_is_cleared_whole_when_full() -> None:
    evaluator = ExpressionEvaluator(FixedClock(), cache_size=1)
    first = evaluator.compile_template("{{1}}")
    assert evaluator.compile_template("{{1}}") is first
    evaluator.compile_template("{{2}}")
    assert evaluator.compile_template("{{1}}") is not first


def test_one_evaluator_serves_many_threads() -> None:
    evaluator = ExpressionEvaluator(FixedClock(), cache_size=3)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for number in range(300):
            text = f"n * {number % 7} + {seed} > 3 && {number} == {number}"
            if evaluator.condition(text, {"n": 2}) is not (2 * (number % 7) + seed > 3):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_mistake_and_every_function_has_a_text(language: Language) -> None:
    catalog = Catalog.load(strict=True)
    texts = catalog.area("workflow.expression", language)
    assert set(KEYS) | {function.help_key for function in FUNCTIONS.values()} == set(texts)


@pytest.mark.parametrize(
    ("name", "signature"),
    [("round", "round(number, digits?)"), ("now", "now()"), ("contains", "contains(textOrList, part)")],
)
def test_functions_show_their_signature(name: str, signature: str) -> None:
    assert FUNCTIONS[name].signature == signature


PIECES = st.sampled_from(
    """a b 1 1.5 'x' " ' \\ . , ( ) [ ] ! - + * / % < <= == != && || & = true false null len( now() round( date( {{ }}
    名 😀 ² toNumber( upper( contains(""".split()  # noqa: SIM905  # sixty quoted commas would hide the pieces
) | st.sampled_from([" ", "\n", "\ud800", "\x00"])
VARIABLES: dict[str, Any] = {"a": {"b": [1, None, "x"], "a": True}, "b": JsonDecimal("1.50"), "名": "张"}


@given(st.text(max_size=60) | st.lists(PIECES, max_size=25).map("".join))
def test_any_text_has_a_value_or_an_expression_error(text: str) -> None:
    for call in (EVALUATOR.evaluate, EVALUATOR.condition, EVALUATOR.render):
        try:
            call(text, VARIABLES)
        except ExpressionError as error:
            assert error.diagnostics
            EVALUATOR.check(text, "template", {"a"})


OPERATORS = st.sampled_from(["+", "-", "*", "/", "%", "<", "<=", "==", "!=", "&&", "||"])
EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "1", "2.50", "'x'", "true", "null", "o.k", "l[0]"]),
    lambda inner: st.one_of(
        st.tuples(inner, OPERATORS, inner).map(" ".join),
        inner.map("({})".format),
        inner.map("!{}".format),
        inner.map("-{}".format),
        inner.map("len({})".format),
        st.tuples(inner, inner).map(lambda pair: f"contains({pair[0]}, {pair[1]})"),
    ),
    max_leaves=12,
)


@given(EXPRESSIONS)
def test_every_text_made_by_the_grammar_parses(text: str) -> None:
    assert EVALUATOR.check(text, "expression") == []


@given(EXPRESSIONS)
def test_parentheses_and_space_around_an_expression_change_nothing(text: str) -> None:
    scope: dict[str, Any] = {"a": 1, "b": "x", "o": {"k": False}, "l": [2]}

    def outcome(written: str) -> object:
        try:
            return EVALUATOR.evaluate(written, scope)
        except ExpressionError as error:
            return error.key

    assert outcome(text) == outcome(f" ( {text}\n) ")
