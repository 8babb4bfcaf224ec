"""Variables that are read where nothing can have written them: warnings, never errors."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.validation import DEFAULTS, LaterRegistry, flow, told, validate, with_node
from webapp.engine.definitions.builder import DefinitionBuilder
from webapp.engine.definitions.model import Transition


def reading(text: str, *before: str, **properties: Any) -> DefinitionBuilder:
    """Return a flow whose nodes *before* come ahead of a Log that reads names."""
    builder = DefinitionBuilder("flow").add_start()
    last = "start"
    for number, type_ in enumerate(before, 1):
        builder.add_node(f"n{number}", type_, properties=properties.get(type_, DEFAULTS.get(type_, {})))
        builder.add_transition(last, f"n{number}")
        last = f"n{number}"
    builder.add_node("log", "Log", properties={"Message": text}).add_transition(last, "log")
    return builder.add_end().add_transition("log", "end")


def test_a_name_that_nothing_declares_or_writes_is_a_warning_with_its_place() -> None:
    (problem,) = validate(reading("Hello {{ nmae }} {{ outcome }}").build())
    assert (problem.severity, problem.key, problem.path) == (
        "warning",
        "workflow.expression.unknown_name",
        "nodes[1].properties.Message",
    )
    assert (problem.params, problem.line, problem.column) == ({"name": "nmae"}, 1, 10)


@pytest.mark.parametrize(
    ("before", "properties"),
    [
        (("SetVariable",), {"SetVariable": {"Values": {"x": 1}}}),
        (("SetVariable", "Log"), {"SetVariable": {"Expressions": {"x": "1"}}}),
        (("UserTask", "Log"), {}),
        (("UserTask",), {"UserTask": {"Assignees": ["a"], "WritableVariables": ["x", 5]}}),
        (("WaitSignal",), {}),
        (("Own",), {}),
        (("Http",), {"Http": {"ResultVariable": "x"}}),
    ],
)
def test_a_name_that_a_step_before_may_write_is_fine(before: tuple[str, ...], properties: Any) -> None:
    found = validate(reading("{{ x }}", *before, **properties).build(), LaterRegistry())
    assert [problem for problem in found if problem.severity == "warning"] == []


@pytest.mark.parametrize(
    ("before", "properties"),
    [
        (("Delay",), {}),
        (("SubWorkflow",), {}),
        (("UserTask",), {"UserTask": {"Assignees": ["a"], "WritableVariables": []}}),
        (("SetVariable",), {"SetVariable": {"Values": {"y": 1}}}),
    ],
)
def test_a_name_that_no_step_before_can_write_is_not(before: tuple[str, ...], properties: Any) -> None:
    found = validate(reading("{{ x }}", *before, **properties).build(), LaterRegistry())
    assert "workflow.expression.unknown_name" in [problem.key for problem in found]


def test_well_known_outputs() -> None:
    found = validate(reading("{{ httpStatusCode }}", "Http").build(), LaterRegistry())
    assert found == []
    builder = (
        flow()
        .add_node("risky", "Log", continue_on_error=True)
        .add_node("log", "Log", properties={"Message": "{{ lastError }}"})
    )
    builder.add_transition("start", "risky").add_transition("risky", "log")
    assert validate(builder.build()) == []


def test_a_variable_read_before_it_is_written_names_the_writer() -> None:
    builder = reading("{{ total }}").add_node("late", "SetVariable", "Add up", properties={"Values": {"total": 1}})
    builder.add_transition("log", "late").add_transition("late", "end")
    (problem,) = validate(builder.build())
    assert (problem.severity, problem.key, problem.params) == (
        "warning",
        "workflow.definition.variable.early",
        {"name": "total", "writers": ["Add up"]},
    )


def test_a_step_does_not_see_what_it_writes_itself_but_its_arrows_do() -> None:
    own = with_node("SetVariable", {"Values": {"x": 1}, "Expressions": {"y": "x + 1"}})
    assert told(validate(own)) == [("warning", "variable.early", "nodes[1].properties.Expressions.y")]
    edge = msgspec.structs.replace(
        with_node("SetVariable", {"Values": {"x": 1}}),
        transitions=[
            Transition(id="t1", source_node_id="start", target_node_id="node"),
            Transition(id="t2", source_node_id="node", target_node_id="end", condition="x == 1"),
        ],
    )
    assert validate(edge) == []


def test_conditions_after_a_step_that_writes_anything_are_not_judged() -> None:
    builder = DefinitionBuilder("a").add_start().add_node("task", "UserTask", properties={"Assignees": ["a"]}).add_end()
    builder.add_transition("start", "task").add_transition("task", "end", "note == 'x'")
    assert validate(builder.build()) == []


def test_an_optional_variable_without_default_that_is_read_is_a_warning() -> None:
    builder = reading("{{ reason }} {{ days }} {{ who }}")
    builder.add_variable("reason").add_variable("days", default=1).add_variable("who", required=True).add_variable(
        "unread"
    )
    found = validate(builder.build())
    assert told(found) == [("warning", "variable.unset", "variables[0]")]
    assert found[0].params == {"name": "reason"}


def test_expressions_that_cannot_be_read_do_not_hide_the_others() -> None:
    rules = [{"type": "Expression", "values": ["boss", "1 +"]}]
    found = validate(with_node("UserTask", {"AssigneeRules": rules}))
    assert [(problem.severity, problem.key) for problem in found] == [
        ("error", "workflow.expression.syntax.end"),
        ("warning", "workflow.expression.unknown_name"),
    ]
