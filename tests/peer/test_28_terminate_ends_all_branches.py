"""Scenario 28: Terminate in one branch ends the instance; the user task of the other branch is gone."""

from __future__ import annotations

from tests.support.engine import Installation
from tests.support.flows import START, edge, flow, node
from webapp.engine.instances.model import InstanceStatus, NodeStatus

DOCUMENT = flow(
    "terminated",
    [
        START,
        node("both", "Parallel"),
        node("ask", "UserTask", {"Assignees": ["u1"]}),
        node("stop", "Terminate", {"Reason": "out of {{what}}"}),
    ],
    [edge("start", "both"), edge("both", "ask"), edge("both", "stop")],
)


def test_terminate_ends_all_branches(house: Installation) -> None:
    house.publish(DOCUMENT)
    instance = house.start("terminated", {"what": "stock"})

    assert instance.status is InstanceStatus.TERMINATED
    stored = house.instance(instance.id)
    assert stored.cancellation_reason == "out of stock"
    assert stored.ended_at == house.store_set.clock.now()
    assert house.bookmarks(instance.id) == []
    assert house.tasks("u1") == []
    assert {one.node_id: one.status for one in house.nodes(instance.id)}["ask"] is NodeStatus.CANCELED
