"""Scenario 55: cancelling a parent cancels the child that it waits for, and the child's task is gone."""

from __future__ import annotations

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus
from webapp.services.queries import InstanceQuery


def test_cancel_cascades(house: Installation) -> None:
    house.publish(flow("asking", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END]))
    house.publish(flow("parent", [START, node("child", "SubWorkflow", {"DefinitionName": "asking"}), END]))
    started = house.start("parent")
    assert len(house.tasks("u1")) == 1

    house.services.instances.cancel(ADMIN, started.id, "no longer needed")

    assert house.instance(started.id).status is InstanceStatus.CANCELED
    (child,) = house.services.instances.query(ADMIN, InstanceQuery(parent_instance_id=started.id)).items
    assert child.status is InstanceStatus.CANCELED
    assert house.tasks("u1") == []
