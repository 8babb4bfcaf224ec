"""The table of functions is the language's only one: what the designer offers must not drift from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from webapp.engine.expressions import FUNCTIONS

DESIGNER = Path(__file__).parents[3] / "static" / "designer" / "model" / "expression.ts"


def test_the_designer_offers_every_function_with_its_number_of_parameters() -> None:
    offered = re.findall(r"name: '(\w+)', signature: '\w+\(([^)]*)\)'", DESIGNER.read_text(encoding="utf-8"))
    counted = {name: len(parameters.split(",")) if parameters else 0 for name, parameters in offered}
    assert counted == {function.name: function.max_arguments for function in FUNCTIONS.values()}


@pytest.mark.parametrize(
    ("name", "fewest", "most"), [("now", 0, 0), ("len", 1, 1), ("contains", 2, 2), ("round", 1, 2)]
)
def test_arity(name: str, fewest: int, most: int) -> None:
    assert (FUNCTIONS[name].min_arguments, FUNCTIONS[name].max_arguments) == (fewest, most)


def test_every_function_but_now_computes_its_value_itself() -> None:
    assert [function.name for function in FUNCTIONS.values() if function.compute is None] == ["now"]
