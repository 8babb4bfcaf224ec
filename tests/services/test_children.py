"""Sub-workflows through the services: started after the parent's wave, told of when they end (spec 3.15, 3.22)."""

from __future__ import annotations

import pytest

from tests.services.subflows import ASKING, DOUBLE, FLAKY, cancel, child_of, children_of, parent, rows
from tests.support.engine import ADMIN, Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeStatus


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    made = install(stores)
    for document in (DOUBLE, ASKING, FLAKY):
        made.publish(document)
    return made


def test_a_child_runs_with_its_variables_and_the_parent_goes_on_with_its_result(house: Installation) -> None:
    house.publish(
        parent(
            DefinitionName="double",
            Variables={"item": 1, "kept": "yes"},
            VariableExpressions={"item": "amount + 1"},
            ResultVariable="result",
        )
    )
    started = house.start("parent", {"amount": 20}, correlation_id="c-1")
    found, child = house.instance(started.id), child_of(house, started.id)
    assert found.status is InstanceStatus.COMPLETED
    assert found.variables == {
        "amount": 20,
        "outcome": "completed",
        "result": {"item": 21, "kept": "yes", "doubled": 42},
    }
    assert house.path(started.id) == ["start", "sub", "end"]
    (_, sub, _) = house.nodes(started.id)
    assert child.status is InstanceStatus.COMPLETED
    assert (child.parent_instance_id, child.parent_node_instance_id) == (started.id, sub.id)
    assert (child.root_instance_id, child.depth) == (started.id, 1)
    assert (child.correlation_id, child.starter_id, child.title) == ("c-1", "admin", "Double")
    assert sub.state["__childInstanceIds"] == [child.id]
    assert rows(house) == []


def test_a_child_that_waits_holds_its_parent_by_one_bookmark(house: Installation) -> None:
    house.publish(parent(DefinitionName="asking", Variables={"item": "x"}))
    started = house.start("parent")
    (bookmark,) = house.bookmarks(started.id)
    (_, sub) = house.nodes(started.id)
    assert (bookmark.kind, bookmark.key) == (BookmarkKind.SUB_WORKFLOW, sub.id)
    assert house.task("u1").title == "About x"
    house.decide("u1", "approved")
    assert house.instance(started.id).status is InstanceStatus.COMPLETED


def test_fire_and_forget_goes_on_at_once_and_hears_nothing(house: Installation) -> None:
    house.publish(parent(DefinitionName="asking", Variables={"item": "x"}, WaitForCompletion=False))
    started = house.start("parent")
    assert house.instance(started.id).status is InstanceStatus.COMPLETED
    assert child_of(house, started.id).status is InstanceStatus.RUNNING
    house.decide("u1", "approved")
    assert child_of(house, started.id).status is InstanceStatus.COMPLETED
    assert rows(house) == []


def test_a_cancel_reaches_children_and_grandchildren(house: Installation) -> None:
    house.publish(parent(name="middle", DefinitionName="asking", Variables={"item": "x"}))
    house.publish(parent(DefinitionName="middle"))
    started = house.start("parent")
    middle = child_of(house, started.id)
    leaf = child_of(house, middle.id)
    cancel(house, started.id, "no longer wanted")
    for instance_id in (started.id, middle.id, leaf.id):
        found = house.instance(instance_id)
        assert (found.status, found.cancellation_reason) == (InstanceStatus.CANCELED, "no longer wanted")
    assert house.tasks("u1") == []
    assert rows(house) == []


def test_a_terminate_node_terminates_children_that_nobody_waits_for_too(house: Installation) -> None:
    sub = node("sub", "SubWorkflow", {"DefinitionName": "asking", "Variables": {"item": 1}, "WaitForCompletion": False})
    house.publish(flow("ending", [START, sub, node("stop", "Terminate", {"Reason": "enough"})]))
    started = house.start("ending")
    assert house.instance(started.id).status is InstanceStatus.TERMINATED
    # The child was asked for and not wanted any more when its turn came.
    assert children_of(house, started.id) == []
    ask = node("ask", "UserTask", {"Assignees": ["u2"]})
    house.publish(flow("later", [START, sub, ask, node("stop", "Terminate", {"Reason": "enough"})]))
    started = house.start("later")
    assert child_of(house, started.id).status is InstanceStatus.RUNNING
    house.decide("u2", "approved")
    assert child_of(house, started.id).status is InstanceStatus.TERMINATED


def test_a_child_that_faults_faults_its_parent_with_the_cause_inside(house: Installation) -> None:
    house.publish(parent(DefinitionName="flaky"))
    started = house.start("parent")
    found, child = house.instance(started.id), child_of(house, started.id)
    assert found.status is InstanceStatus.FAULTED
    assert found.fault is not None
    assert found.fault.key == "workflow.child.faulted"
    assert found.fault.args == {"childInstanceId": child.id, "definition": "flaky"}
    assert found.fault.inner == child.fault
    (_, sub) = house.nodes(started.id)
    assert sub.inputs["childFault"] == {
        "code": "WORKFLOW_UNEXPECTED_001",
        "key": "workflow.activity.exception",
        "args": {"text": "attempt 1 doomed"},
        "inner": None,
    }
    assert (sub.inputs["childStatus"], sub.status) == ("Faulted", NodeStatus.FAULTED)


def test_a_parent_that_does_not_fail_with_its_child_gets_its_end_as_label(house: Installation) -> None:
    house.publish(parent(DefinitionName="flaky", FailOnChildFault=False, ResultVariable="r"))
    started = house.start("parent")
    assert house.instance(started.id).variables == {"outcome": "faulted", "r": {}}
    house.publish(parent(name="canceling", DefinitionName="asking", Variables={"item": 1}, FailOnChildFault=False))
    started = house.start("canceling")
    cancel(house, child_of(house, started.id).id)
    assert house.instance(started.id).variables == {"outcome": "canceled"}


def test_a_canceled_child_is_a_fault_of_its_own_key(house: Installation) -> None:
    house.publish(parent(DefinitionName="asking", Variables={"item": 1}))
    started = house.start("parent")
    cancel(house, child_of(house, started.id).id)
    fault = house.instance(started.id).fault
    assert fault is not None
    assert (fault.key, fault.inner) == ("workflow.child.canceled", None)


def test_a_child_that_cannot_be_started_is_a_faulted_child(house: Installation) -> None:
    house.publish(parent(DefinitionName="nowhere"))
    started = house.start("parent")
    fault = house.instance(started.id).fault
    assert fault is not None
    assert fault.inner is not None
    assert fault.inner.inner is not None
    assert (fault.key, fault.inner.key) == ("workflow.child.faulted", "workflow.child.start_failed")
    assert (fault.inner.code, fault.inner.args) == ("WORKFLOW_NOTFOUND_001", {"definition": "nowhere"})
    assert fault.inner.inner.args == {"id": "nowhere"}
    assert children_of(house, started.id) == []
    assert rows(house) == []


@pytest.mark.parametrize("activity", ["SubWorkflow", "ForEach"])
def test_a_background_node_asks_for_its_children_when_the_poller_runs_it(house: Installation, activity: str) -> None:
    properties: dict[str, object] = {"DefinitionName": "double", "ResultVariable": "r"}
    if activity == "ForEach":
        properties["ItemsExpression"] = "numbers"
    else:
        properties["VariableExpressions"] = {"item": "numbers[0]"}
    house.publish(flow("parent", [START, node("sub", activity, properties, background=True), END]))
    started = house.start("parent", {"numbers": [4]})
    assert children_of(house, started.id) == []
    house.elapse(0)
    instance = house.instance(started.id)
    assert instance.status is InstanceStatus.COMPLETED
    result = instance.variables["r"][0] if activity == "ForEach" else instance.variables["r"]
    assert result["doubled"] == 8
    assert rows(house) == []


def test_a_child_of_a_pinned_version_is_that_version(house: Installation) -> None:
    triple = {**DOUBLE, "nodes": [START, node("twice", "SetVariable", {"Expressions": {"doubled": "item * 3"}}), END]}
    house.publish(triple)
    house.publish(parent(DefinitionName="double", DefinitionVersion=1, Variables={"item": 5}, ResultVariable="r"))
    assert house.start("parent").variables["r"]["doubled"] == 10
    house.publish(parent(DefinitionName="double", Variables={"item": 5}, ResultVariable="r"))
    assert house.start("parent").variables["r"]["doubled"] == 15


def test_a_child_that_misses_a_variable_faults_with_its_name(house: Installation) -> None:
    house.publish({**DOUBLE, "name": "strict", "variables": [{"name": "item", "type": "number", "required": True}]})
    house.publish(parent(DefinitionName="strict"))
    fault = house.start("parent").fault
    assert fault is not None
    keys = []
    while fault is not None:
        keys.append((fault.key, fault.args.get("name")))
        fault = fault.inner
    assert keys == [
        ("workflow.child.faulted", None),
        ("workflow.child.start_failed", None),
        ("workflow.start.invalid", None),
        ("workflow.variable.required", "item"),
    ]


def test_a_disabled_child_definition_is_a_start_that_fails(house: Installation) -> None:
    published = house.publish({**DOUBLE, "name": "disabled"})
    house.services.catalog.disable(ADMIN, published.id)
    house.publish(parent(DefinitionName="disabled", DefinitionVersion=1))
    fault = house.start("parent").fault
    assert fault is not None
    assert fault.inner is not None
    assert (fault.inner.key, fault.inner.code) == ("workflow.child.start_failed", "WORKFLOW_CONFLICT_002")
