"""Scenario 33: a straight flow computes and completes in one wave, with one record for each node."""

from __future__ import annotations

from tests.support.engine import Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus, NodeStatus

DOCUMENT = flow("linear", [START, node("calc", "SetVariable", {"Expressions": {"total": "price * count"}}), END])


def test_linear(house: Installation) -> None:
    house.publish(DOCUMENT)
    instance = house.instance(house.start("linear", {"price": 25, "count": 4}).id)

    assert instance.status is InstanceStatus.COMPLETED
    assert instance.variables["total"] == 100
    assert instance.ended_at == house.store_set.clock.now()
    nodes = house.nodes(instance.id)
    assert [one.node_id for one in nodes] == ["start", "calc", "end"]
    assert {one.status for one in nodes} == {NodeStatus.COMPLETED}
