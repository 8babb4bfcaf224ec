"""Templates: placeholders, literal braces, mistakes and their places (spec 5.6, page 24)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.costs import at_most
from webapp.engine.expressions import ExpressionError, ExpressionEvaluator
from webapp.engine.numbers import JsonDecimal


class FixedClock:
    def now(self) -> datetime:
        return datetime(2026, 7, 16, 8, tzinfo=UTC)


EVALUATOR = ExpressionEvaluator(FixedClock())
VARIABLES: dict[str, Any] = {
    "e": None,
    "t": True,
    "o": {"k": 1},
    "name": "张三",
    "amount": 20000,
    "price": JsonDecimal("1.50"),
    "l": ["a", {"b": JsonDecimal("0.10")}],
}


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("a {{ 1 + 1 }} b", "a 2 b"),
        ("{{ e }}", ""),
        ("{{ t }}", "true"),
        ("{{ o.zz }}", ""),
        ("{{ '}}' }}", "}}"),
        ('{{ "a}}b" }}', "a}}b"),
        (r"{{ 'it\'s }}' }}", "it's }}"),
        ("{{ '{{' }}", "{{"),
        ("}}", "}}"),
        ("{x}", "{x}"),
        ("{ {1} }", "{ {1} }"),
        ("a }} {{ 1 }} }}", "a }} 1 }}"),
        ("{{1}}{{2}}", "12"),
        ("{{ price }} {{ l }}", '1.50 ["a",{"b":0.10}]'),
        ("{{name}}的请假申请，金额 {{amount + 1}} 元", "张三的请假申请，金额 20001 元"),
        ("{{ now() }}", "2026-07-16 08:00:00"),
        ("{{ '{{ 1 }}' }}", "{{ 1 }}"),
        ("", ""),
        ("plain", "plain"),
    ],
)
def test_rendering(template: str, rendered: str) -> None:
    assert EVALUATOR.render(template, VARIABLES) == rendered
    assert EVALUATOR.compile_template(template).render(VARIABLES) == rendered


def test_null_stays_null() -> None:
    assert EVALUATOR.render(None, VARIABLES) is None


@pytest.mark.parametrize(
    ("template", "key", "column"),
    [
        ("{{}}", "syntax.empty", 3),
        ("{{ }}", "syntax.empty", 3),
        ("{{ 1", "syntax.placeholder", 1),
        ("{{ 1 } }", "syntax.placeholder", 1),
        ("{{{1}}}", "syntax", 3),
        ("{{ missing }}", "unknown_name", 4),
        ("ab {{ '}} }}", "syntax.placeholder", 4),
        ("{{ 1 }} {{ 'x\\", "syntax.placeholder", 9),
        ("😀 {{ 1 + }}", "syntax.end", 11),
        ("{{ foo() }}", "unknown_function", 4),
    ],
)
def test_mistakes(template: str, key: str, column: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        EVALUATOR.render(template, VARIABLES)
    assert caught.value.key == f"workflow.expression.{key}"
    assert caught.value.diagnostics[0].column == column


def test_all_placeholders_are_told_at_once() -> None:
    with pytest.raises(ExpressionError) as caught:
        EVALUATOR.compile_template("{{ 1 + }}\n{{ }} {{ ok }} {{ foo() }}")
    assert [(one.key, one.line) for one in caught.value.diagnostics] == [
        ("workflow.expression.syntax.end", 1),
        ("workflow.expression.syntax.empty", 2),
        ("workflow.expression.unknown_function", 2),
    ]


def test_the_length_limit_holds_for_each_placeholder_not_for_the_template() -> None:
    half = "'" + "x" * 3000 + "'"
    rendered = EVALUATOR.render("{{" + half + "}}" + "{{" + half + "}}" + "y" * 9000, {})
    assert rendered == "x" * 6000 + "y" * 9000
    with pytest.raises(ExpressionError) as caught:
        EVALUATOR.render("ab {{" + "'" + "x" * 3999 + "'" + "}}", {})
    assert caught.value.key == "workflow.expression.too_long"


def test_templates_know_the_names_they_read() -> None:
    assert EVALUATOR.compile_template("{{ a }} {{ b.c + a }} d").names == {"a", "b"}


@pytest.mark.parametrize(
    ("template", "variables"),
    [
        ("{{a}}{{a}}{{a}}", {"a": "x" * 400_000}),
        ("{{a}}{{a}}", {"a": "张" * 200_000}),
        ("{{1}}" * 10_001, {}),
    ],
)
def test_a_rendering_has_one_budget(template: str, variables: dict[str, Any]) -> None:
    with pytest.raises(ExpressionError) as caught:
        EVALUATOR.render(template, variables)
    assert caught.value.key == "workflow.expression.budget"


def test_more_placeholders_than_steps_are_refused_before_they_are_read() -> None:
    hostile = "".join(f"{{{{a{number}}}}}" for number in range(100_000))
    with at_most(10):
        assert [one.key for one in EVALUATOR.check(hostile, "template")] == ["workflow.expression.budget"]


@pytest.mark.parametrize(
    "hostile", ["{{" + "'\\'" * 200_000, "{{" * 300_000, "{{'" * 200_000 + "\\", "{{" + "}" * 600_000]
)
def test_hostile_braces_and_quotes_cost_no_more_than_their_length(hostile: str) -> None:
    with at_most(10), pytest.raises(ExpressionError):
        EVALUATOR.render(hostile, {})
