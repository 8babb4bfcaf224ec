"""Assignee rules at publish, and providers of an application's own (spec 4.9, 14, 2.4)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.engine.harness import World
from tests.support.clock import FakeClock
from tests.support.flows import END, START, flow, node
from webapp.engine.assignees import (
    BUILTIN_PROVIDERS,
    AssigneeError,
    AssigneeResolution,
    AssigneeRule,
    EmptyAssigneeStrategy,
    check_rules,
    read_rules,
)
from webapp.engine.assignees.providers import Check
from webapp.engine.errors import Problem
from webapp.engine.expressions import Diagnostic, ExpressionEvaluator, TextKind

PROVIDERS = {provider.rule_type: provider for provider in BUILTIN_PROVIDERS}
EVALUATOR = ExpressionEvaluator(FakeClock())


def check(text: str) -> list[Diagnostic]:
    return EVALUATOR.check(text, TextKind.EXPRESSION)


def problems(value: object) -> list[tuple[str, str]]:
    return [(problem.path, problem.key) for problem in check_rules(value, PROVIDERS, check)]


class DepartmentProvider:
    """Makes ``head-of-<department>`` of each value."""

    rule_type = "HeadOf"

    def validate(self, rule: AssigneeRule, check: Check) -> Sequence[Problem]:
        return [] if rule.values else [Problem(path="values", key="workflow.assignee.no_values")]

    def resolve(self, resolution: AssigneeResolution) -> Sequence[str]:
        if "lost" in resolution.rule.values:
            raise AssigneeError("workflow.assignee.not_names", args={"why": "lost"})
        return [f"head-of-{value}" for value in resolution.rule.values]


@pytest.mark.parametrize(
    "rules",
    [
        None,
        [],
        [{"type": "User", "values": ["u1"]}],
        [{"type": "User", "values": ["u1", " ", ""]}],
        [{"type": "Starter"}, {"type": "Starter", "values": []}],
        [{"type": "Expression", "values": ["people", "order.owner"]}],
        [{"type": "User", "values": ["u1"], "claimable": False}],
    ],
)
def test_good_rules_have_no_problems(rules: object) -> None:
    assert problems(rules) == []


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ("u1", [("", "workflow.assignee.rules_shape")]),
        ([{"type": " "}], [("[0]", "workflow.assignee.rule_shape")]),
        (
            [{"values": ["u1"]}, {"type": "Nobody"}, "u1", {"type": "User"}],
            [
                ("[0]", "workflow.assignee.rule_shape"),
                ("[1].type", "workflow.assignee.unknown_type"),
                ("[2]", "workflow.assignee.rule_shape"),
                ("[3].values", "workflow.assignee.no_values"),
            ],
        ),
        ([{"type": "Role", "values": ["x"]}], [("[0].type", "workflow.assignee.unknown_type")]),
        ([{"type": "user", "values": ["x"]}], [("[0].type", "workflow.assignee.unknown_type")]),
        ([{"type": "User"}], [("[0].values", "workflow.assignee.no_values")]),
        (
            [{"type": "User", "values": ["u1", " ", 5]}],
            [("[0].values[2]", "workflow.assignee.not_names")],
        ),
        ([{"type": "User", "values": ["", " "]}], [("[0].values", "workflow.assignee.no_values")]),
        ([{"type": "Expression", "values": []}], [("[0].values", "workflow.assignee.no_values")]),
        ([{"type": "Expression", "values": [5]}], [("[0].values[0]", "workflow.assignee.not_names")]),
        (
            [{"type": "Starter"}, {"type": "Expression", "values": ["ok", "a +"]}],
            [("[1].values[1]", "workflow.expression.syntax.end")],
        ),
        (
            [{"type": "User", "values": ["role:x"], "claimable": True}, {"type": "Gone"}],
            [("[1].type", "workflow.assignee.unknown_type")],
        ),
    ],
)
def test_problems_name_the_place(rules: object, found: list[tuple[str, str]]) -> None:
    assert problems(rules) == found


def test_the_place_inside_an_expression_is_kept() -> None:
    (problem,) = check_rules([{"type": "Expression", "values": ["1 + * 2"]}], PROVIDERS, check)
    assert (problem.line, problem.column) == (1, 5)


def test_rules_are_read_with_their_members() -> None:
    assert read_rules([{"type": "User", "values": ["a"], "claimable": True, "other": 1}]) == [
        AssigneeRule(type="User", values=("a",), claimable=True)
    ]


def test_an_applications_own_provider_is_asked() -> None:
    world = World(providers=[*BUILTIN_PROVIDERS, DepartmentProvider()])
    rules = [{"type": "HeadOf", "values": ["sales"]}, {"type": "Starter"}]
    run = world.start(flow("own", [START, node("ask", "UserTask", {"AssigneeRules": rules}), END]))
    assert run.holders() == ["head-of-sales", "starter"]


def test_a_provider_is_told_where_and_for_whom_it_resolves() -> None:
    asked: list[AssigneeResolution] = []

    class Asking(DepartmentProvider):
        def resolve(self, resolution: AssigneeResolution) -> Sequence[str]:
            asked.append(resolution)
            return [resolution.evaluate("boss")]

    document = flow("own", [START, node("ask", "UserTask", {"AssigneeRules": [{"type": "HeadOf"}]}), END])
    run = World(providers=[Asking()]).start(document, {"boss": "b"}, partition="acme")
    (resolution,) = asked
    assert (resolution.instance_id, resolution.node_id) == (run.instance.id, "ask")
    assert (resolution.partition, resolution.starter_id) == ("acme", "starter")
    assert run.holders() == ["b"]


def test_a_provider_that_cannot_answer_faults_the_node() -> None:
    world = World(providers=[DepartmentProvider()])
    properties = {"AssigneeRules": [{"type": "HeadOf", "values": ["lost"]}], "EmptyAssigneeStrategy": "Skip"}
    run = world.start(flow("own", [START, node("ask", "UserTask", properties), END]))
    assert run.instance.fault is not None
    assert (run.instance.fault.key, run.instance.fault.args) == ("workflow.assignee.not_names", {"why": "lost"})


@pytest.mark.parametrize(
    ("value", "strategy"),
    [
        (None, EmptyAssigneeStrategy.FAULT),
        ("Fault", EmptyAssigneeStrategy.FAULT),
        ("assignto", EmptyAssigneeStrategy.ASSIGN_TO),
        ("", None),
        ("Nobody", None),
        (0, None),
    ],
)
def test_a_strategy_is_read_by_its_name(value: object, strategy: EmptyAssigneeStrategy | None) -> None:
    assert EmptyAssigneeStrategy.read(value) is strategy
