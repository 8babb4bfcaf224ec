"""Properties and the texts in them (spec 2.4: 14 to 16, 20 to 25; 2.5: 28, 29)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.support.validation import LaterRegistry, flow, told, validate, with_node
from webapp.engine.definitions.builder import DefinitionBuilder
from webapp.engine.definitions.model import WorkflowDefinition


@pytest.mark.parametrize("mode", ["WaitAll", "waitany", "ALL", "Any", None])
def test_14_known_join_modes(mode: str | None) -> None:
    assert validate(with_node("Join", {"Mode": mode})) == []


def test_14_an_unknown_join_mode() -> None:
    (problem,) = validate(with_node("Join", {"Mode": "WaitFirst"}))
    assert (problem.key, problem.path) == ("workflow.definition.join.mode", "nodes[1].properties.Mode")
    assert told(validate(with_node("Join", {"mode": 2}))) == [
        ("error", "property.expected", "nodes[1].properties.mode")
    ]


@pytest.mark.parametrize("policy", ["Any", "all", "SEQUENTIAL", None])
def test_15_known_policies(policy: str | None) -> None:
    assert validate(with_node("UserTask", {"Assignees": ["a"], "CompletionPolicy": policy})) == []


@pytest.mark.parametrize("policy", ["Countersign", "Any,All", "2", ""])
def test_15_an_unknown_policy(policy: str) -> None:
    (problem,) = validate(with_node("UserTask", {"Assignees": ["a"], "CompletionPolicy": policy}))
    assert (problem.key, problem.path) == ("workflow.property.choice", "nodes[1].properties.CompletionPolicy")
    assert problem.params["choices"][:3] == ["Any", "All", "Sequential"]


@pytest.mark.parametrize(
    "properties",
    [
        {"Assignees": ["a"]},
        {"assignees": ["a"]},
        {"AssigneesExpression": "'a'"},
        {"AssigneeRules": [{"type": "Starter"}]},
        {"EmptyAssigneeStrategy": "AssignTo", "FallbackAssignees": ["a"]},
        {"Assignees": [], "EmptyAssigneeStrategy": "skip"},
    ],
)
def test_16_somebody_decides(properties: dict[str, Any]) -> None:
    assert validate(with_node("UserTask", properties)) == []


@pytest.mark.parametrize(
    "properties", [{}, {"Assignees": None}, {"AssigneeRules": []}, {"AssigneesExpression": None, "Title": "t"}]
)
def test_16_nobody_decides(properties: dict[str, Any]) -> None:
    (problem,) = validate(with_node("UserTask", properties))
    assert (problem.key, problem.path) == ("workflow.definition.task.no_assignee", "nodes[1].properties")
    assert problem.node_id == "node"


def test_16_an_empty_list_is_legal_and_worth_a_warning() -> None:
    found = validate(with_node("UserTask", {"Assignees": []}))
    assert told(found) == [("warning", "task.empty_assignees", "nodes[1].properties.Assignees")]


def test_16_assign_to_needs_somebody_to_assign_to() -> None:
    found = validate(with_node("UserTask", {"EmptyAssigneeStrategy": "AssignTo"}))
    assert told(found) == [("error", "task.fallback", "nodes[1].properties.FallbackAssignees")]


def test_20_expressions_of_every_kind_are_checked_where_they_stand() -> None:
    properties = {
        "Title": "{{ 1 + }}",
        "Assignees": ["a"],
        "AssigneesExpression": "foo()",
        "DueInSeconds": "(" * 65 + "1" + ")" * 65,
        "DueAt": "1 +",
        "Priority": "{{ }}",
    }
    found = validate(with_node("UserTask", properties))
    assert told(found) == [
        ("error", "expression.syntax.end", "nodes[1].properties.Title"),
        ("error", "expression.unknown_function", "nodes[1].properties.AssigneesExpression"),
        ("error", "expression.too_deep", "nodes[1].properties.DueInSeconds"),
        ("error", "expression.syntax.end", "nodes[1].properties.DueAt"),
        ("error", "expression.syntax.empty", "nodes[1].properties.Priority"),
    ]
    assert all(problem.node_id == "node" for problem in found)


def test_20_expressions_inside_objects_have_the_path_of_their_member() -> None:
    found = validate(with_node("SetVariable", {"Expressions": {"total": "len()", "odd name": "1 +", "five": 5}}))
    assert told(found) == [
        ("error", "expression.arity", "nodes[1].properties.Expressions.total"),
        ("error", "expression.syntax.end", 'nodes[1].properties.Expressions["odd name"]'),
    ]


def test_20_4001_characters_are_too_many() -> None:
    found = validate(flow().add_transition("start", "end", "1" + "+1" * 2000).build())
    assert told(found)[0] == ("error", "expression.too_long", "transitions[1].condition")


def test_20_an_instant_is_no_expression_and_texts_elsewhere_are_not_evaluated() -> None:
    properties = {"Assignees": ["a ("], "DueAt": "2026-07-16T08:00:00Z", "FormData": {"x": "{{ 1 +"}}
    assert validate(with_node("UserTask", properties)) == []
    assert validate(with_node("SetVariable", {"Values": {"text": "{{ 1 +"}})) == []


def test_21_a_delay_has_exactly_one_span() -> None:
    both = {"DurationSeconds": 5, "Until": "2026-07-16T08:00:00Z"}
    for properties in ({}, both, {"DurationSeconds": None}, {"Cron": ""}):
        (problem,) = validate(with_node("Delay", properties))
        assert problem.key == "workflow.definition.delay.span"
        assert problem.params == {"choices": ["DurationSeconds", "Until", "Cron"]}
    assert validate(with_node("Delay", {"Until": "2026-07-16T08:00:00Z"})) == []


def test_21_a_start_has_one_trigger_at_most() -> None:
    builder = DefinitionBuilder("a").add_start(properties={"SignalName": "s", "Cron": "0 8 * * *"})
    definition = builder.add_end().add_transition("start", "end").build()
    assert told(validate(definition)) == [("error", "start.triggers", "nodes[0].properties")]


def test_23_assignee_rules_are_judged_by_their_provider() -> None:
    rules = [{"type": "Role", "values": ["x"]}, {"type": "Expression", "values": ["1 +", "'ok'"]}, {"type": "User"}]
    found = validate(with_node("UserTask", {"AssigneeRules": rules}))
    assert [(problem.key, problem.path) for problem in found] == [
        ("workflow.assignee.unknown_type", "nodes[1].properties.AssigneeRules[0].type"),
        ("workflow.expression.syntax.end", "nodes[1].properties.AssigneeRules[1].values[0]"),
        ("workflow.assignee.no_values", "nodes[1].properties.AssigneeRules[2].values"),
    ]
    assert all(problem.node_id == "node" for problem in found)


@pytest.mark.parametrize(
    "rules",
    [
        ["x"],
        [{"type": "Expression", "values": "x"}],
        [{"type": "Expression"}],
        [{}],
        [{"type": "Expression", "values": [5]}],
    ],
)
def test_23_rules_of_the_wrong_shape(rules: Any) -> None:
    found = validate(with_node("UserTask", {"AssigneeRules": rules}))
    assert [problem.severity for problem in found] == ["error"]


def test_24_choices() -> None:
    found = validate(with_node("UserTask", {"Assignees": ["a"], "EmptyAssigneeStrategy": "Nobody", "Priority": "now"}))
    assert told(found) == [
        ("error", "property.choice", "nodes[1].properties.EmptyAssigneeStrategy"),
        ("error", "property.choice", "nodes[1].properties.Priority"),
    ]
    templated = validate(with_node("UserTask", {"Assignees": ["a"], "Priority": "{{ 'high' }}"}))
    assert templated == []


def test_24_an_unknown_log_level_is_a_warning() -> None:
    assert told(validate(with_node("Log", {"Level": "Loud"}))) == [
        ("warning", "property.choice", "nodes[1].properties.Level")
    ]
    assert validate(with_node("Log", {"Level": "warning"})) == []


@pytest.mark.parametrize("properties", [{}, {"Url": None}, {"Url": " "}])
def test_25_a_required_property_is_missing(properties: dict[str, Any]) -> None:
    found = validate(with_node("Http", properties))
    assert ("error", "property.required", "nodes[1].properties.Url") in told(found)


def test_25_a_required_property_in_camel_case_counts() -> None:
    assert validate(with_node("Delay", {"durationSeconds": 5})) == []


def test_28_a_trigger_does_not_supply_required_variables() -> None:
    def triggered(**properties: Any) -> WorkflowDefinition:
        builder = DefinitionBuilder("a").add_start(properties=properties).add_end().add_transition("start", "end")
        builder.add_variable("x", required=True).add_variable("y", required=True, default=1).add_variable(
            "z", default=2
        )
        return builder.build()

    assert told(validate(triggered(Cron="0 8 * * *"))) == [("error", "start.required_variable", "variables[0]")]
    assert told(validate(triggered(SignalName="paid"))) == [("warning", "start.required_variable", "variables[0]")]
    assert validate(triggered()) == []


def test_29_a_property_that_the_activity_does_not_have() -> None:
    (problem,) = validate(with_node("Log", {"Message": "m", "Cron": "* * * * *"}))
    assert (problem.key, problem.path) == ("workflow.property.unknown", "nodes[1].properties.Cron")
    assert problem.params == {"type": "Log", "name": "Cron"}


def test_29_both_spellings_of_one_property() -> None:
    found = validate(with_node("Log", {"Message": "m", "message": "n"}))
    assert told(found) == [("error", "property.twice", "nodes[1].properties.message")]


@pytest.mark.parametrize(
    ("activity_type", "properties", "path"),
    [
        ("Log", {"Message": ["x"]}, "Message"),
        ("SetVariable", {"Values": "x"}, "Values"),
        ("SetVariable", {"Expressions": ["x"]}, "Expressions"),
        ("UserTask", {"Assignees": "anna"}, "Assignees"),
        ("UserTask", {"Assignees": ["anna", 5]}, "Assignees[1]"),
        ("UserTask", {"Assignees": ["a"], "FormData": []}, "FormData"),
        ("UserTask", {"AssigneesExpression": 5}, "AssigneesExpression"),
        ("UserTask", {"Assignees": ["a"], "DueInSeconds": True}, "DueInSeconds"),
        ("UserTask", {"Assignees": ["a"], "DueAt": 5}, "DueAt"),
        ("Everything", {"Count": "5"}, "Count"),
        ("Everything", {"Flag": "yes"}, "Flag"),
        ("Everything", {"When": True}, "When"),
        ("Everything", {"Texts": "x"}, "Texts"),
    ],
)
def test_values_of_the_wrong_type(activity_type: str, properties: dict[str, Any], path: str) -> None:
    (problem,) = validate(with_node(activity_type, properties), LaterRegistry())
    assert (problem.key, problem.path) == ("workflow.property.expected", f"nodes[1].properties.{path}")


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        ({"Count": 1}, "property.minimum"),
        ({"Count": Decimal("1.9")}, "property.minimum"),
        ({"Exact": "a"}, "property.choice"),
        ({"When": "1 +"}, "expression.syntax.end"),
        ({"Texts": {"a": "{{ 1 + }}"}}, "expression.syntax.end"),
    ],
)
def test_values_out_of_bounds(properties: dict[str, Any], key: str) -> None:
    assert [found[1] for found in told(validate(with_node("Everything", properties), LaterRegistry()))] == [key]


def test_values_within_bounds() -> None:
    properties = {
        "Any": [1, {}],
        "Count": 2,
        "Exact": "b",
        "Flag": False,
        "When": "true",
        "Texts": {"a": 5, "b": "{{ 1 }}"},
    }
    assert validate(with_node("Everything", properties), LaterRegistry()) == []


@pytest.mark.parametrize("seconds", [0, -5, Decimal("-0.5")])
def test_a_span_of_time_is_above_zero(seconds: Any) -> None:
    found = validate(with_node("Delay", {"DurationSeconds": seconds}))
    assert told(found) == [("error", "property.positive", "nodes[1].properties.DurationSeconds")]


@pytest.mark.parametrize(
    ("properties", "legal"),
    [
        ({"CompletionThreshold": 0}, False),
        ({"CompletionThreshold": Decimal("1.1")}, False),
        ({"CompletionThreshold": Decimal("0.5")}, True),
        ({"CompletionThreshold": 1}, True),
        ({"CompletionPolicy": "Ratio", "CompletionThreshold": "2 / 3"}, True),
        ({"CompletionPolicy": "ratio"}, False),
        ({"CompletionPolicy": "All"}, True),
    ],
)
def test_a_threshold_lies_between_0_and_1_and_a_ratio_has_one(properties: dict[str, Any], legal: bool) -> None:
    found = told(validate(with_node("UserTask", {"Assignees": ["a"], **properties})))
    threshold = ("error", "task.threshold", "nodes[1].properties.CompletionThreshold")
    assert found == ([] if legal else [threshold])


def test_2000_nodes_are_judged_quickly_and_without_recursion() -> None:
    definition = flow(*["Log"] * 1998).build()
    assert validate(definition) == []
