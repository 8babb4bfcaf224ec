"""Scenario 49: a cancellation that nobody asked for is a fault of the node, which may be retried."""

from __future__ import annotations

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
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
