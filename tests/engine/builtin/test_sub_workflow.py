"""SubWorkflow in the wave: what it asks for, what becomes of the child's end (spec 3.15, 4.13)."""

from __future__ import annotations

import pytest

from tests.engine.builtin.single import fault_of
from tests.engine.harness import Run, World
from tests.engine.subflows import DOOMED, asked, child_ids, owed, tell
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonObject


def started(properties: JsonObject, variables: JsonObject | None = None, **settings: object) -> Run:
    sub = node("sub", "SubWorkflow", {"DefinitionName": "child", **properties}, **settings)
    return World().start(flow("parent", [START, sub, END]), variables)


def test_it_asks_for_one_child_and_waits_under_its_own_key() -> None:
    run = started(
        {"DefinitionName": "{{kind}}.child", "DefinitionVersion": 3, "Variables": {"a": 1, "b": 1}}, {"kind": "tax"}
    )
    (follow_up,) = run.last.write_set.new_follow_ups
    (child_id,) = child_ids(run)
    bookmark = run.only(BookmarkKind.SUB_WORKFLOW)
    assert (follow_up.action, follow_up.source_instance_id) == ("startChild", run.instance.id)
    assert follow_up.target_instance_id == child_id
    assert follow_up.payload == {
        "nodeInstanceId": run.node("sub").id,
        "definitionName": "tax.child",
        "version": 3,
        "variables": {"a": 1, "b": 1},
        "waits": True,
    }
    assert (bookmark.key, bookmark.due_at) == (run.node("sub").id, None)
    assert (run.node("sub").status, run.instance.has_children) == (NodeStatus.SUSPENDED, True)


def test_expressions_win_over_values_and_see_the_variables() -> None:
    run = started({"Variables": {"a": 1, "b": 2}, "VariableExpressions": {"b": "n * 10"}}, {"n": 4})
    assert asked(run) == [{"a": 1, "b": 40}]


def test_a_broken_expression_is_a_fault_and_asks_for_nothing() -> None:
    run = started({"VariableExpressions": {"b": "missing"}})
    assert fault_of(run).key == "workflow.property.failed"
    assert owed(run) == []


def test_a_blank_definition_is_a_fault() -> None:
    fault = fault_of(started({"DefinitionName": "{{name}}"}, {"name": " "}))
    assert (fault.key, fault.args) == ("workflow.property.missing", {"name": "DefinitionName"})


def test_without_waiting_it_completes_with_the_child_owed() -> None:
    run = started({"WaitForCompletion": False})
    assert run.instance.status is InstanceStatus.COMPLETED
    assert [action for action, _ in owed(run)] == ["startChild"]
    assert run.last.write_set.new_follow_ups[0].payload["waits"] is False
    assert run.node("sub").outputs == {}


def test_the_result_is_the_childs_variables_under_their_name_alone() -> None:
    run = started({"ResultVariable": "r"}, {"x": 1})
    tell(run, *child_ids(run), variables={"x": 2, "outcome": "inner"})
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables == {"x": 1, "outcome": "completed", "r": {"x": 2, "outcome": "inner"}}
    assert run.node("sub").inputs["childStatus"] == "Completed"


@pytest.mark.parametrize(
    ("status", "key"),
    [
        (InstanceStatus.FAULTED, "workflow.child.faulted"),
        (InstanceStatus.CANCELED, "workflow.child.canceled"),
        (InstanceStatus.TERMINATED, "workflow.child.terminated"),
    ],
)
def test_a_child_that_did_not_complete_is_a_fault_or_a_label(status: InstanceStatus, key: str) -> None:
    run = started({})
    (child_id,) = child_ids(run)
    tell(run, child_id, status, fault=DOOMED)
    fault = fault_of(run)
    assert (fault.key, fault.args, fault.inner) == (key, {"childInstanceId": child_id, "definition": "child"}, DOOMED)
    run = started({"FailOnChildFault": False})
    tell(run, *child_ids(run), status)
    assert run.instance.variables["outcome"] == status.value.lower()


def test_an_end_of_a_child_of_somebody_else_is_dropped() -> None:
    run = started({})
    revision = run.instance.revision
    wave = tell(run, "stranger")
    assert wave is not None
    assert wave.write_set.instance is None
    assert run.instance.revision == revision


def test_a_resume_by_hand_with_something_else_is_a_fault() -> None:
    run = started({})
    run.resume(run.only(BookmarkKind.SUB_WORKFLOW), {"childInstanceId": "x"})
    assert fault_of(run).key == "workflow.child.unknown"


def test_a_time_that_is_over_cancels_the_child() -> None:
    run = started({}, timeout_seconds=5)
    (child_id,) = child_ids(run)
    run.world.clock.advance(5)
    run.due()
    assert fault_of(run).key == "workflow.node.timed_out"
    assert owed(run) == [("operateChild", child_id)]


def test_a_retry_policy_cancels_the_child_and_starts_another() -> None:
    run = started({}, timeout_seconds=5, retry_policy={"maxAttempts": 2, "firstDelaySeconds": 1})
    (first,) = child_ids(run)
    run.world.clock.advance(5)
    run.due()
    assert owed(run) == [("operateChild", first)]
    assert {bookmark.kind for bookmark in run.bookmarks.values()} == {BookmarkKind.RETRY}
    run.world.clock.advance(1)
    run.due()
    (second,) = child_ids(run)
    assert second != first
    assert owed(run) == [("startChild", second)]


def test_continue_on_error_goes_on_with_the_fault_as_last_error() -> None:
    run = started({}, continue_on_error=True)
    tell(run, *child_ids(run), InstanceStatus.FAULTED, fault=DOOMED)
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables["outcome"] == "error"
    assert run.instance.variables["lastError"]["inner"]["args"] == {"text": "no"}
