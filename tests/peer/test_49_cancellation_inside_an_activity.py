"""Scenario 49: a cancellation that nobody asked for is a fault of the node, which may be retried."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.cancellation import Cancellation
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.errors import OperationCancelled
from webapp.engine.instances.model import InstanceStatus, NodeStatus


def test_cancellation_inside_an_activity(house: Installation) -> None:
    house.publish(flow("boom", [START, node("boom", "TestCancellation"), END]))
    instance = house.instance(house.start("boom").id)

    assert instance.status is InstanceStatus.FAULTED
    assert instance.fault_node_id == "boom"
    failed = next(one for one in house.nodes(instance.id) if one.id == instance.fault_node_instance_id)
    assert failed.status is NodeStatus.FAULTED

    again = house.services.instances.retry(ADMIN, instance.id)
    assert again.status is InstanceStatus.FAULTED
    assert next(one for one in house.nodes(instance.id) if one.node_id == "boom").try_count == 2


class TestLong:
    """Long work during which the caller goes away, once; it looks at the token now and then."""

    __test__ = False
    descriptor = ActivityDescriptor(type="TestLong", category=Category.CUSTOM, icon="timer", custom=True)

    def __init__(self) -> None:
        self.caller = Cancellation()

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Notice what happened meanwhile."""
        self.caller.set()
        context.cancellation.check()
        return Complete()


def test_the_callers_cancellation_rolls_the_call_back(stores: StoreSet) -> None:
    long = TestLong()
    house = install(stores, activities=[long])
    house.publish(flow("long", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), node("work", "TestLong"), END]))
    begun = house.start("long")
    task = house.task("u1")

    with pytest.raises(OperationCancelled):
        house.services.instances.resume_bookmark(ADMIN, task.id, {"outcome": "approved"}, cancellation=long.caller)

    assert house.instance(begun.id) == begun
    assert house.path(begun.id) == ["start", "ask"]
    assert house.task("u1").id == task.id

    assert house.decide("u1", "approved").status is InstanceStatus.COMPLETED
