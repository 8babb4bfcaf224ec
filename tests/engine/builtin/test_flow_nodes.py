"""SetVariable, Decision, Parallel, Log, Fault, Start: each in a small flow (spec 4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.harness import Run, World
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.errors import UNEXPECTED, VALIDATION_EXPRESSION
from webapp.engine.instances.journal import LogLine
from webapp.engine.instances.model import InstanceStatus, NodeStatus, WorkflowFault
from webapp.engine.numbers import JsonDecimal, JsonObject


def one(type_: str, properties: JsonObject | None = None, variables: JsonObject | None = None, **settings: Any) -> Run:
    """Start → one node → End."""
    return World().start(
        flow("one", [START, node("node", type_, properties, name="The node", **settings), END]), variables
    )


def fault(run: Run) -> WorkflowFault:
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault is not None
    return run.instance.fault


# --- SetVariable ----------------------------------------------------------------------------------


def test_set_variable_writes_values_and_over_them_expressions() -> None:
    properties = {"Values": {"a": 1, "b": "{{x}}", "c": {"d": [1]}}, "Expressions": {"a": "x + 1", "e": "null"}}
    run = one("SetVariable", properties, {"x": 5})
    assert run.instance.variables == {"x": 5, "a": 6, "b": "{{x}}", "c": {"d": [1]}, "e": None}


def test_expressions_see_the_variables_before_the_node() -> None:
    properties = {"Values": {"a": 100}, "Expressions": {"b": "a + 1", "c": "b"}}
    assert one("SetVariable", properties, {"a": 1, "b": 2}).instance.variables == {"a": 100, "b": 2, "c": 2}


@pytest.mark.parametrize("properties", [{}, {"Values": None}, {"Expressions": None}, {"Values": {}, "Expressions": {}}])
def test_nothing_to_set_is_no_fault(properties: JsonObject) -> None:
    assert one("SetVariable", properties).instance.variables == {}


def test_camel_case_names_are_read_too() -> None:
    run = one("SetVariable", {"values": {"a": 1}, "expressions": {"b": "1 + 1"}})
    assert run.instance.variables == {"a": 1, "b": 2}


def test_the_documented_spelling_wins() -> None:
    assert one("SetVariable", {"values": {"a": 1}, "Values": {"a": 2}}).instance.variables == {"a": 2}


def test_an_expression_that_fails_is_a_fault_that_names_it() -> None:
    found = fault(one("SetVariable", {"Expressions": {"total": "1 / 0"}}))
    assert (found.code, found.key, found.args) == (
        VALIDATION_EXPRESSION,
        "workflow.property.failed",
        {"name": "Expressions.total"},
    )
    assert found.inner is not None
    assert found.inner.key == "workflow.expression.range.zero"


def test_an_expression_that_cannot_be_read_is_a_fault_of_its_node_only() -> None:
    run = one("SetVariable", {"Expressions": {"total": "1 +"}})
    assert run.instance.fault_node_id == "node"
    assert fault(run).inner is not None


@pytest.mark.parametrize("name", ["Values", "Expressions"])
def test_a_property_of_another_type_is_a_fault(name: str) -> None:
    found = fault(one("SetVariable", {name: [1]}))
    assert (found.code, found.key) == (UNEXPECTED, "workflow.property.type")
    assert found.args == {"name": name, "type": "object"}


def test_the_definitions_values_are_copied() -> None:
    document = flow("own", [START, node("set", "SetVariable", {"Values": {"list": [1]}}), END])
    run = World().start(document)
    run.last.instance.variables["list"].append(2)
    assert document["nodes"][1]["properties"]["Values"] == {"list": [1]}


def test_a_value_that_is_no_text_among_expressions_stands_for_itself() -> None:
    run = one("SetVariable", {"Expressions": {"n": 5, "list": [1]}})
    assert run.instance.variables == {"n": 5, "list": [1]}


# --- Decision and Parallel ------------------------------------------------------------------------


@pytest.mark.parametrize(("amount", "way"), [(20000, "big"), (500, "small")])
def test_a_decision_goes_by_its_conditions(amount: int, way: str) -> None:
    nodes = [START, node("choose", "Decision"), node("big", "Log"), node("small", "Log")]
    edges = [
        edge("start", "choose"),
        edge("choose", "big", "amount > 10000"),
        edge("choose", "small", is_default=True),
    ]
    assert World().start(flow("choice", nodes, edges), {"amount": amount}).path[-1] == way


def test_a_parallel_takes_every_edge() -> None:
    nodes = [START, node("split", "Parallel"), node("a", "Log"), node("b", "Log")]
    edges = [edge("start", "split"), edge("split", "a", "false"), edge("split", "b", is_default=True)]
    assert World().start(flow("split", nodes, edges)).path == ["start", "split", "a", "b"]


# --- Log ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "written"),
    [("Warning", "Warning"), ("cRITICAL", "Critical"), ("trace", "Trace"), ("Loud", "Information"), (3, "Information")],
)
def test_a_log_line_has_a_level(level: object, written: str) -> None:
    run = one("Log", {"Message": "Hello {{who}}", "Level": level}, {"who": "Ada"})
    assert run.log_lines == [LogLine(level=written, message="Hello Ada", instance_id=run.instance.id, node_id="node")]


@pytest.mark.parametrize(
    ("message", "written"),
    [(None, ""), (5, "5"), (JsonDecimal("1.50"), "1.50"), (True, "true"), (False, "false"), ("plain {x}", "plain {x}")],
)
def test_what_is_no_text_is_written_as_text(message: object, written: str) -> None:
    properties = {} if message is None else {"Message": message}
    assert [line.message for line in one("Log", properties).log_lines] == [written]


@pytest.mark.parametrize("message", [[1], {"a": 1}])
def test_a_list_or_an_object_is_no_text(message: object) -> None:
    assert fault(one("Log", {"Message": message})).args == {"name": "Message", "type": "string"}


def test_a_template_that_fails_is_a_fault() -> None:
    found = fault(one("Log", {"Message": "{{missing}}"}))
    assert (found.key, found.args) == ("workflow.property.failed", {"name": "Message"})


def test_a_template_that_cannot_be_read_is_a_fault_of_its_node() -> None:
    assert fault(one("Log", {"Message": "{{missing"})).inner is not None


# --- Fault ----------------------------------------------------------------------------------------


def test_a_fault_carries_its_message() -> None:
    found = fault(one("Fault", {"Message": "No {{what}}"}, {"what": "paper"}))
    assert (found.code, found.key, found.args) == (UNEXPECTED, "workflow.fault.node", {"text": "No paper"})


@pytest.mark.parametrize("message", [None, "", " "])
def test_a_fault_without_a_message_names_its_node(message: str | None) -> None:
    assert fault(one("Fault", {"Message": message})).args == {"text": "The node"}


def test_nothing_flows_on_after_a_fault_that_continues() -> None:
    run = one("Fault", continue_on_error=True)
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.path == ["start", "node"]
    assert run.node("node").status is NodeStatus.FAULTED
    assert run.instance.variables["outcome"] == "error"
