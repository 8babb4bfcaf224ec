"""Scenario 27: canceling undoes what was done, the latest first, and once."""

from __future__ import annotations

from tests.support.engine import ADMIN, TestCompensable, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.instances.model import InstanceStatus, NodeStatus


def test_cancel_compensates_in_reverse(stores: StoreSet) -> None:
    recorder = TestCompensable()
    house = install(stores, activities=[recorder])
    steps = [node("step1", "TestCompensable"), node("step2", "TestCompensable")]
    ask = node("ask", "UserTask", {"Assignees": ["u1"]})
    house.publish(flow("undone", [START, *steps, ask, END], compensate_on_cancel=True))
    instance = house.start("undone")

    canceled = house.services.instances.cancel(ADMIN, instance.id, "no more")

    assert canceled.status is InstanceStatus.CANCELED
    assert canceled.cancellation_reason == "no more"
    assert recorder.undone == ["step2", "step1"]
    assert house.bookmarks(instance.id) == []
    by_status = [one.status for one in house.nodes(instance.id)]
    assert by_status.count(NodeStatus.COMPENSATED) == 2
    assert by_status.count(NodeStatus.CANCELED) == 1

    again = house.services.instances.cancel(ADMIN, instance.id, "another reason")
    assert again == house.instance(instance.id) == canceled
    assert recorder.undone == ["step2", "step1"]
