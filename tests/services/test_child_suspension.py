"""Children of parents that do not run: what came meanwhile is kept, and told when the parent runs again (3.22, 21)."""

from __future__ import annotations

import pytest

from tests.services.subflows import ASKING, DOUBLE, child_of, children_of, crash, parent, recover, rows
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, edge, flow, node
from tests.support.stores import StoreSet
from webapp.engine.instances.model import InstanceStatus


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    made = install(stores)
    made.publish(ASKING)
    made.publish(DOUBLE)
    return made


def waiting(house: Installation, **settings: object) -> str:
    sub = node("sub", "SubWorkflow", {"DefinitionName": "asking", "Variables": {"item": 1}, "ResultVariable": "r"})
    house.publish(flow("parent", [START, sub, END], **settings))
    return house.start("parent").id


def test_an_end_while_the_parent_is_suspended_is_told_at_its_resume(house: Installation) -> None:
    started = waiting(house)
    house.services.operations.suspend(ADMIN, started)
    house.decide("u1", "done")
    assert house.instance(started).status is InstanceStatus.SUSPENDED
    (kept,) = rows(house)
    assert (kept.action, kept.failures) == ("childEnded", 1)
    house.services.operations.resume(ADMIN, started)
    instance = house.instance(started)
    assert instance.status is InstanceStatus.COMPLETED
    assert instance.variables["r"]["outcome"] == "done"
    house.elapse(400)
    assert rows(house) == []


def test_an_end_that_nobody_rechecks_is_told_when_its_row_is_due(house: Installation) -> None:
    started = waiting(house)
    house.services.operations.suspend(ADMIN, started)
    house.decide("u1", "done")
    for seconds in (1, 5, 25, 300):
        house.elapse(seconds)
    assert house.instance(started).status is InstanceStatus.SUSPENDED
    crash(house)
    house.services.operations.resume(ADMIN, started)
    recover(house)
    house.elapse(301)
    assert house.instance(started).status is InstanceStatus.COMPLETED
    assert rows(house) == []


def test_a_child_is_not_started_while_its_parent_is_suspended(house: Installation) -> None:
    house.publish(parent(name="once", DefinitionName="double", Variables={"item": 4}, ResultVariable="r"))
    crash(house)
    started = house.start("once").id
    house.services.operations.suspend(ADMIN, started)
    recover(house)
    house.elapse(0)
    assert children_of(house, started) == []
    house.services.operations.resume(ADMIN, started)
    house.elapse(2)
    assert house.instance(started).variables["r"]["doubled"] == 8


def test_a_child_whose_start_was_pushed_back_is_started_by_the_resume_itself(house: Installation) -> None:
    """The start has been put off for 300 seconds by then; nobody waits for that."""
    house.publish(parent(name="once", DefinitionName="double", Variables={"item": 4}, ResultVariable="r"))
    crash(house)
    started = house.start("once").id
    house.services.operations.suspend(ADMIN, started)
    recover(house)
    for seconds in (0, 1, 5, 25, 300):
        house.elapse(seconds)
    assert children_of(house, started) == []
    house.services.operations.resume(ADMIN, started)
    instance = house.instance(started)
    assert instance.status is InstanceStatus.COMPLETED
    assert instance.variables["r"]["doubled"] == 8
    assert rows(house) == []


def test_the_end_of_a_child_that_nobody_waits_for_is_not_kept_for_a_suspended_parent(house: Installation) -> None:
    forget = node(
        "sub", "SubWorkflow", {"DefinitionName": "asking", "Variables": {"item": 1}, "WaitForCompletion": False}
    )
    ask = node("ask", "UserTask", {"Assignees": ["u2"]})
    house.publish(flow("parent", [START, forget, ask, END]))
    started = house.start("parent").id
    house.services.operations.suspend(ADMIN, started)
    house.decide("u1", "done")
    assert rows(house) == []


@pytest.mark.parametrize(
    ("action", "status"), [("Cancel", InstanceStatus.CANCELED), ("Terminate", InstanceStatus.TERMINATED)]
)
def test_an_instance_whose_time_is_over_takes_its_children_along(
    house: Installation, action: str, status: InstanceStatus
) -> None:
    started = waiting(house, timeout=60, timeout_action=action)
    house.elapse(61)
    assert house.instance(started).status is status
    assert child_of(house, started).status is status


def test_the_fault_of_a_parent_leaves_its_children_alone(house: Installation) -> None:
    started = waiting(house, timeout=60, timeout_action="Fault")
    house.elapse(61)
    assert house.instance(started).status is InstanceStatus.FAULTED
    assert child_of(house, started).status is InstanceStatus.RUNNING
    # The timeout of an instance has no node to retry; closing it closes the child too.
    house.services.instances.cancel(ADMIN, started)
    assert child_of(house, started).status is InstanceStatus.CANCELED
    assert rows(house) == []


def test_a_suspend_that_cascades_reaches_grandchildren_and_so_does_its_resume(house: Installation) -> None:
    house.publish(parent(name="middle", DefinitionName="asking", Variables={"item": 1}))
    house.publish(parent(DefinitionName="middle"))
    started = house.start("parent").id
    middle = child_of(house, started)
    leaf = child_of(house, middle.id)
    family = (started, middle.id, leaf.id)
    house.services.operations.suspend(ADMIN, started, "audit", cascade=True)
    for instance_id in family:
        found = house.instance(instance_id)
        assert (found.status, found.suspension_reason, found.suspended_by) == (
            InstanceStatus.SUSPENDED,
            "audit",
            "admin",
        )
    assert house.tasks("u1") == []
    house.services.operations.resume(ADMIN, started, cascade=True)
    assert [house.instance(one).status for one in family] == [InstanceStatus.RUNNING] * 3
    house.decide("u1", "approved")
    assert house.instance(started).status is InstanceStatus.COMPLETED
    assert rows(house) == []


def test_a_suspend_alone_leaves_the_children_running(house: Installation) -> None:
    started = waiting(house)
    house.services.operations.suspend(ADMIN, started)
    assert child_of(house, started).status is InstanceStatus.RUNNING


def test_a_return_over_a_waiting_child_cancels_it_and_the_next_visit_starts_another(house: Installation) -> None:
    """The child of the branch that a return takes back is not wanted any more; its end feeds nothing."""
    house.publish(
        flow(
            "branches",
            [
                START,
                node("first", "UserTask", {"Assignees": ["a"]}),
                node("split", "Parallel"),
                node("sub", "SubWorkflow", {"DefinitionName": "asking", "Variables": {"item": 1}}),
                node("check", "UserTask", {"Assignees": ["b"]}),
                node("join", "Join"),
                END,
            ],
            [
                edge("start", "first"),
                edge("first", "split"),
                edge("split", "sub"),
                edge("split", "check"),
                edge("sub", "join"),
                edge("check", "join"),
                edge("join", "end"),
            ],
        )
    )
    started = house.start("branches").id
    house.decide("a", "approved")
    first = child_of(house, started)
    house.services.returns.return_task(actor("b"), house.task("b").id, to_node_id="first", comment="again")
    assert house.instance(first.id).status is InstanceStatus.CANCELED
    assert house.tasks("u1") == []
    house.decide("a", "approved")
    house.decide("u1", "approved")
    house.decide("b", "approved")
    assert house.instance(started).status is InstanceStatus.COMPLETED
    assert house.path(started).count("join") == 1
    assert rows(house) == []
