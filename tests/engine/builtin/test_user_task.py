"""What a user task asks for: its assignees, its texts, its due date, its payload (spec 4.9, 4.20, 6.6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.engine.harness import Run, World
from tests.support.flows import END, START, flow, node
from webapp.engine.errors import NOTFOUND_TYPE, UNEXPECTED, VALIDATION_EXPRESSION
from webapp.engine.instances.bookmarks import Priority
from webapp.engine.instances.model import InstanceStatus, NodeStatus, WorkflowFault
from webapp.engine.numbers import JsonObject


def ask(properties: JsonObject, variables: JsonObject | None = None, **more: Any) -> Run:
    settings = more.pop("settings", {})
    document = flow("ask", [START, node("ask", "UserTask", properties, name="Ask them"), END], **settings)
    return World().start(document, variables, **more)


def fault(run: Run) -> WorkflowFault:
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault_node_id == "ask"
    assert run.instance.fault is not None
    assert run.bookmarks == {}
    return run.instance.fault


def test_a_thousand_people_may_be_asked() -> None:
    names = [f"u{number}" for number in range(1_000)]
    assert ask({"AssigneesExpression": "names"}, {"names": names}).holders() == names


# --- who ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("properties", "holders"),
    [
        ({"Assignees": ["u1", "u2"]}, ["u1", "u2"]),
        ({"Assignees": ["u1", " ", "u2", "u1", " u2 "]}, ["u1", "u2"]),
        ({"Assignees": ["U1", "u1"]}, ["U1", "u1"]),
        ({"AssigneesExpression": "people"}, ["p1", "p2"]),
        ({"AssigneesExpression": "'a, b ,, a'"}, ["a", "b"]),
        ({"AssigneesExpression": "order.owner"}, ["own"]),
        ({"AssigneesExpression": "numbers"}, ["1001", "7"]),
        ({"Assignees": ["u1"], "AssigneesExpression": "people"}, ["u1"]),
        ({"Assignees": None, "AssigneesExpression": "people"}, ["p1", "p2"]),
        ({"AssigneeRules": [{"type": "User", "values": ["u1", "u2"]}]}, ["u1", "u2"]),
        ({"AssigneeRules": [{"type": "Starter"}]}, ["starter"]),
        ({"AssigneeRules": [{"type": "Starter", "values": []}]}, ["starter"]),
        ({"AssigneeRules": [{"type": "Expression", "values": ["people", "order.owner"]}]}, ["p1", "p2", "own"]),
        (
            {
                "AssigneeRules": [
                    {"type": "Expression", "values": ["'z,y'"]},
                    {"type": "Starter"},
                    {"type": "User", "values": ["y", "a"]},
                ]
            },
            ["z", "y", "starter", "a"],
        ),
        ({"Assignees": ["u1"], "AssigneeRules": [{"type": "Starter"}]}, ["u1", "starter"]),
        ({"assigneeRules": [{"type": "User", "values": ["u1"]}]}, ["u1"]),
    ],
)
def test_assignees_come_from_names_expressions_and_rules(properties: JsonObject, holders: list[str]) -> None:
    variables = {"people": ["p1", None, "p2"], "order": {"owner": "own"}, "numbers": [1001, 7]}
    assert ask(properties, variables).holders() == holders


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        ({}, "workflow.task.no_assignee"),
        ({"Assignees": []}, "workflow.task.no_assignee"),
        ({"Assignees": [], "AssigneesExpression": "'u1'"}, "workflow.task.no_assignee"),
        ({"Assignees": ["", "  "]}, "workflow.task.no_assignee"),
        ({"AssigneesExpression": "null"}, "workflow.task.no_assignee"),
        ({"AssigneesExpression": "nobody"}, "workflow.task.no_assignee"),
        ({"AssigneeRules": []}, "workflow.task.no_assignee"),
        ({"Assignees": "u1"}, "workflow.assignee.not_names"),
        ({"Assignees": [{}]}, "workflow.assignee.not_names"),
        ({"AssigneesExpression": "5"}, "workflow.assignee.not_names"),
        ({"AssigneesExpression": "true"}, "workflow.assignee.not_names"),
        ({"AssigneesExpression": 5}, "workflow.assignee.not_names"),
        ({"AssigneesExpression": "flags"}, "workflow.assignee.not_names"),
        ({"AssigneeRules": {}}, "workflow.assignee.rules_shape"),
        ({"AssigneeRules": ["u1"]}, "workflow.assignee.rule_shape"),
        ({"AssigneeRules": [{"values": []}]}, "workflow.assignee.rule_shape"),
        ({"AssigneeRules": [{"type": "User", "values": "u1"}]}, "workflow.assignee.rule_shape"),
        ({"AssigneeRules": [{"type": "User", "claimable": 1}]}, "workflow.assignee.rule_shape"),
        ({"AssigneeRules": [{"type": "Expression", "values": [5]}]}, "workflow.assignee.not_names"),
        ({"Assignees": ["u" * 129]}, "workflow.assignee.too_long"),
        ({"Assignees": [f"u{number}" for number in range(1_001)]}, "workflow.assignee.too_many"),
    ],
)
def test_nobody_or_nonsense_is_a_fault(properties: JsonObject, key: str) -> None:
    found = fault(ask(properties, {"nobody": [], "flags": [True]}))
    assert (found.code, found.key) == (UNEXPECTED, key)


def test_a_starter_rule_without_a_starter_finds_nobody() -> None:
    found = fault(ask({"AssigneeRules": [{"type": "Starter"}]}, starter_id=None))
    assert found.key == "workflow.task.no_assignee"


def test_a_rule_type_that_nobody_registered_is_a_fault() -> None:
    found = fault(ask({"AssigneeRules": [{"type": "Role", "values": ["boss"]}], "EmptyAssigneeStrategy": "Skip"}))
    assert (found.code, found.key, found.args) == (NOTFOUND_TYPE, "workflow.assignee.unknown_type", {"type": "Role"})


@pytest.mark.parametrize(
    "properties",
    [
        {"AssigneesExpression": "missing"},
        {"AssigneeRules": [{"type": "Expression", "values": ["missing"]}], "EmptyAssigneeStrategy": "Skip"},
    ],
)
def test_a_rule_that_fails_is_never_nobody(properties: JsonObject) -> None:
    found = fault(ask(properties))
    assert (found.code, found.key) == (VALIDATION_EXPRESSION, "workflow.property.failed")
    assert found.args == {"name": next(iter(properties))}
    assert found.inner is not None
    assert found.inner.key == "workflow.expression.unknown_name"


@pytest.mark.parametrize(("strategy", "label"), [("Skip", "approved"), ("skip", "approved"), ("Reject", "rejected")])
def test_a_strategy_may_complete_the_node(strategy: str, label: str) -> None:
    run = ask({"Assignees": [], "EmptyAssigneeStrategy": strategy})
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables["outcome"] == label
    assert run.node("ask").status is NodeStatus.COMPLETED
    (entry,) = run.node("ask").state["history"]
    assert (entry["actorId"], entry["outcome"]) == (None, label)
    assert run.records == {}


@pytest.mark.parametrize(
    ("properties", "holders"),
    [
        ({"EmptyAssigneeStrategy": "Starter"}, ["starter"]),
        ({"EmptyAssigneeStrategy": "AssignTo", "FallbackAssignees": ["f1", "", "f2", "f1"]}, ["f1", "f2"]),
    ],
)
def test_a_strategy_may_find_somebody_else(properties: JsonObject, holders: list[str]) -> None:
    assert ask({"Assignees": [], **properties}).holders() == holders


@pytest.mark.parametrize(
    "properties",
    [
        {"EmptyAssigneeStrategy": "Fault"},
        {"EmptyAssigneeStrategy": "AssignTo"},
        {"EmptyAssigneeStrategy": "AssignTo", "FallbackAssignees": [""]},
        {"EmptyAssigneeStrategy": "Starter"},
    ],
)
def test_a_strategy_that_finds_nobody_is_a_fault(properties: JsonObject) -> None:
    assert fault(ask({"Assignees": [], **properties}, starter_id=None)).key == "workflow.task.no_assignee"


@pytest.mark.parametrize("strategy", ["Ignore", 1, ["Skip"]])
def test_an_unknown_strategy_is_a_fault(strategy: object) -> None:
    found = fault(ask({"Assignees": [], "EmptyAssigneeStrategy": strategy}))
    assert (found.key, found.args) == ("workflow.task.unknown_strategy", {"strategy": strategy})


@pytest.mark.parametrize("policy", ["Countersign", "2", "Any,All", 2])
def test_an_unknown_policy_is_a_fault(policy: object) -> None:
    found = fault(ask({"Assignees": ["u1"], "CompletionPolicy": policy}))
    assert (found.key, found.args) == ("workflow.task.unknown_policy", {"policy": policy})


# --- what -----------------------------------------------------------------------------------------


def test_a_task_carries_its_texts_and_lists() -> None:
    properties = {
        "Assignees": ["u1"],
        "Title": "单据 {{billNo}} 审批",
        "FormData": {"a": {"b": [1]}},
        "CcUserIds": ["cc1", "cc2", "cc1", ""],
        "AllowedOutcomes": ["approved", "revise"],
        "CommentRequired": ["revise"],
        "ShowVariables": ["billNo"],
        "WritableVariables": ["note"],
        "CompletionPolicy": "all",
    }
    run = ask(properties, {"billNo": "B001"})
    task = run.task("u1")
    assert task.title == "单据 B001 审批"
    assert task.payload == {
        "title": "单据 B001 审批",
        "formData": {"a": {"b": [1]}},
        "ccUserIds": ["cc1", "cc2"],
        "allowedOutcomes": ["approved", "revise"],
        "commentRequired": ["revise"],
        "showVariables": ["billNo"],
        "writableVariables": ["note"],
        "policy": "All",
    }
    assert (task.due_at, task.task_due_at, task.priority) == (None, None, Priority.NORMAL)
    state = run.node("ask").state
    assert (state["policy"], state["title"]) == ("All", "单据 B001 审批")


def test_without_writable_variables_the_payload_has_none() -> None:
    assert "writableVariables" not in ask({"Assignees": ["u1"]}).task("u1").payload


@pytest.mark.parametrize("title", [None, "", "  "])
def test_without_a_title_the_node_gives_its_name(title: str | None) -> None:
    assert ask({"Assignees": ["u1"], "Title": title}).task("u1").title == "Ask them"


def test_the_definitions_form_data_is_not_shared() -> None:
    document = flow("own", [START, node("ask", "UserTask", {"Assignees": ["u1", "u2"], "FormData": {"a": [1]}})])
    run = World().start(document)
    first, second = run.last.write_set.new_bookmarks
    first.payload["formData"]["a"].append(2)
    assert second.payload["formData"] == {"a": [1]}
    assert document["nodes"][1]["properties"]["FormData"] == {"a": [1]}


@pytest.mark.parametrize(
    ("properties", "args"),
    [
        ({"FormData": []}, {"name": "FormData", "type": "object"}),
        ({"AllowedOutcomes": "approved"}, {"name": "AllowedOutcomes", "type": "array"}),
        ({"CcUserIds": [5]}, {"name": "CcUserIds", "type": "array"}),
        ({"WritableVariables": {}}, {"name": "WritableVariables", "type": "array"}),
        ({"Title": []}, {"name": "Title", "type": "string"}),
    ],
)
def test_a_property_of_another_type_is_a_fault(properties: JsonObject, args: JsonObject) -> None:
    found = fault(ask({"Assignees": ["u1"], **properties}))
    assert (found.key, found.args) == ("workflow.property.type", args)


def test_a_title_beyond_its_length_is_a_fault() -> None:
    found = fault(ask({"Assignees": ["u1"], "Title": "{{t}}"}, {"t": "t" * 501}))
    assert (found.key, found.args) == ("workflow.property.too_long", {"name": "Title", "max": 500})
    assert ask({"Assignees": ["u1"], "Title": "{{t}}"}, {"t": "t" * 500}).task("u1").title == "t" * 500


# --- priority and due date ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("priority", "default", "expected"),
    [
        ("high", None, Priority.HIGH),
        ("URGENT", None, Priority.URGENT),
        ("{{p}}", None, Priority.LOW),
        (None, None, Priority.NORMAL),
        (" ", None, Priority.NORMAL),
        (None, "high", Priority.HIGH),
        ("low", "high", Priority.LOW),
    ],
)
def test_a_priority_is_the_nodes_or_the_definitions(
    priority: str | None, default: str | None, expected: Priority
) -> None:
    run = ask({"Assignees": ["u1"], "Priority": priority}, {"p": "low"}, settings={"priority": default})
    assert run.task("u1").priority is expected


def test_an_unknown_priority_is_a_fault() -> None:
    found = fault(ask({"Assignees": ["u1"], "Priority": "soon"}))
    assert (found.key, found.args) == ("workflow.task.unknown_priority", {"priority": "soon"})


@pytest.mark.parametrize(
    ("properties", "due"),
    [
        ({"DueInSeconds": 60}, datetime(2026, 7, 16, 8, 1, tzinfo=UTC)),
        ({"DueInSeconds": "minutes * 60"}, datetime(2026, 7, 16, 8, 2, tzinfo=UTC)),
        ({"DueAt": "2026-12-01T09:00:00+08:00"}, datetime(2026, 12, 1, 1, tzinfo=UTC)),
        ({"DueAt": "deadline"}, datetime(2026, 12, 24, tzinfo=UTC)),
        ({"DueAt": "date('2026-12-01 09:30')"}, datetime(2026, 12, 1, 9, 30, tzinfo=UTC)),
        ({"DueAt": "null"}, None),
        ({"DueInSeconds": 60, "DueAt": "2026-12-01T09:00:00Z"}, datetime(2026, 7, 16, 8, 1, tzinfo=UTC)),
    ],
)
def test_a_due_date_is_a_span_or_an_instant(properties: JsonObject, due: datetime | None) -> None:
    run = ask({"Assignees": ["u1"], **properties}, {"minutes": 2, "deadline": "2026-12-24"})
    assert run.task("u1").task_due_at == due
    assert run.task("u1").due_at is None


@pytest.mark.parametrize(
    "properties", [{"DueInSeconds": 0}, {"DueInSeconds": "'soon'"}, {"DueAt": "'soon'"}, {"DueAt": 5}]
)
def test_what_is_no_due_date_is_a_fault(properties: JsonObject) -> None:
    assert fault(ask({"Assignees": ["u1"], **properties})).key == "workflow.task.due_invalid"


def test_the_due_date_of_later_signers_is_that_of_the_node() -> None:
    run = ask({"Assignees": ["u1", "u2"], "CompletionPolicy": "Sequential", "DueInSeconds": 60})
    due = run.task("u1").task_due_at
    run.world.clock.advance(30)
    run.approve("u1")
    assert run.task("u2").task_due_at == due == run.world.clock.now() + timedelta(seconds=30)
