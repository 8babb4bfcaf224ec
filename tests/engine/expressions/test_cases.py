"""The language's specification as data: every vector of spec page 24, and the rules of page 5 it leaves out."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from webapp.engine.expressions import ExpressionError, ExpressionEvaluator
from webapp.engine.expressions.fast import WORTH_AFTER
from webapp.engine.numbers import decode, encode

CASES = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))
VARIABLES = b"""{"n": 20000, "s": "abc", "t": true, "e": null, "l": ["a", "b"], "o": {"k": 1, "null": 2}, "num": "42",
 "d": 3.5}"""
MORE_VARIABLES = """{"f": false, "l2": ["a", "c"], "o2": {"null": 2.0, "k": 1}, "deep": {"a": [1, {"b": null}]},
 "deep2": {"a": [1.0, {"b": null}]}, "deep3": {"a": [1, {"c": null}]}, "deep4": {"a": [1]}, "numbers": [1, 2, "3"],
 "price": 1.50, "big": 79228162514264337593543950336, "tiny": 0.DIGITS1, "empty": {}, "len": "a variable",
 "truely": "yes", "名称": "张", "_x1": 1, "byNumber": {"1": "one", "1.50": "scaled"}}""".replace("DIGITS", "0" * 99)


class FixedClock:
    def now(self) -> datetime:
        return datetime(2026, 7, 16, 8, tzinfo=UTC)


def name_of(case: dict[str, str]) -> str:
    return case["text"][:60]


def check(case: dict[str, str], variables: dict[str, Any]) -> None:
    evaluator = ExpressionEvaluator(FixedClock())
    if "value" in case:
        # Run often enough to go by the quick function too.
        for _ in range(WORTH_AFTER + 2):
            assert encode(evaluator.evaluate(case["text"], variables)).decode() == case["value"], case["why"]
        return
    with pytest.raises(ExpressionError) as caught:
        evaluator.evaluate(case["text"], variables)
    assert caught.value.code == "WORKFLOW_VALIDATION_003"
    assert caught.value.diagnostics[0].key == case["error"], case["why"]


@pytest.mark.parametrize("case", CASES["page24"], ids=name_of)
def test_a_vector_of_page_24(case: dict[str, str]) -> None:
    check(case, decode(VARIABLES, dict))


@pytest.mark.parametrize("case", CASES["more"], ids=name_of)
def test_a_rule_of_page_5(case: dict[str, str]) -> None:
    check(case, decode(VARIABLES, dict) | decode(MORE_VARIABLES, dict))
