"""SetVariable (spec 4.4), and how properties are spelled (decision D35)."""

from __future__ import annotations

import pytest

from tests.engine.builtin.single import fault_of, single
from tests.engine.harness import World
from tests.support.flows import END, START, flow, node
from webapp.engine.errors import UNEXPECTED, VALIDATION_EXPRESSION
from webapp.engine.numbers import JsonObject


def test_set_variable_writes_values_and_over_them_expressions() -> None:
    properties = {"Values": {"a": 1, "b": "{{x}}", "c": {"d": [1]}}, "Expressions": {"a": "x + 1", "e": "null"}}
    run = single("SetVariable", properties, {"x": 5})
    assert run.instance.variables == {"x": 5, "a": 6, "b": "{{x}}", "c": {"d": [1]}, "e": None}


def test_expressions_see_the_variables_before_the_node() -> None:
    properties = {"Values": {"a": 100}, "Expressions": {"b": "a + 1", "c": "b"}}
    assert single("SetVariable", properties, {"a": 1, "b": 2}).instance.variables == {"a": 100, "b": 2, "c": 2}


@pytest.mark.parametrize("properties", [{}, {"Values": None}, {"Expressions": None}, {"Values": {}, "Expressions": {}}])
def test_nothing_to_set_is_no_fault(properties: JsonObject) -> None:
    assert single("SetVariable", properties).instance.variables == {}


def test_camel_case_names_are_read_too() -> None:
    run = single("SetVariable", {"values": {"a": 1}, "expressions": {"b": "1 + 1"}})
    assert run.instance.variables == {"a": 1, "b": 2}


def test_the_documented_spelling_wins() -> None:
    assert single("SetVariable", {"values": {"a": 1}, "Values": {"a": 2}}).instance.variables == {"a": 2}


def test_an_expression_that_fails_is_a_fault_that_names_it() -> None:
    found = fault_of(single("SetVariable", {"Expressions": {"total": "1 / 0"}}))
    assert (found.code, found.key, found.args) == (
        VALIDATION_EXPRESSION,
        "workflow.property.failed",
        {"name": "Expressions.total"},
    )
    assert found.inner is not None
    assert found.inner.key == "workflow.expression.range.zero"


def test_an_expression_that_cannot_be_read_is_a_fault_of_its_node_only() -> None:
    run = single("SetVariable", {"Expressions": {"total": "1 +"}})
    assert run.instance.fault_node_id == "node"
    assert fault_of(run).inner is not None


@pytest.mark.parametrize("name", ["Values", "Expressions"])
def test_a_property_of_another_type_is_a_fault(name: str) -> None:
    found = fault_of(single("SetVariable", {name: [1]}))
    assert (found.code, found.key) == (UNEXPECTED, "workflow.property.type")
    assert found.args == {"name": name, "type": "object"}


def test_the_definitions_values_are_copied() -> None:
    document = flow("own", [START, node("set", "SetVariable", {"Values": {"list": [1]}}), END])
    run = World().start(document)
    run.last.instance.variables["list"].append(2)
    assert document["nodes"][1]["properties"]["Values"] == {"list": [1]}


def test_a_value_that_is_no_text_among_expressions_stands_for_itself() -> None:
    run = single("SetVariable", {"Expressions": {"n": 5, "list": [1]}})
    assert run.instance.variables == {"n": 5, "list": [1]}
