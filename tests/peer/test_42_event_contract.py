"""Scenario 42: the events of a simple approval, once each, with their data, in the order of spec 9.1."""

from __future__ import annotations

from tests.support.engine import Installation
from tests.support.flows import END, START, flow, node

TASK = node("ask", "UserTask", {"Assignees": ["u1"], "CcUserIds": ["cc1", "cc2"]})


def test_event_contract(house: Installation) -> None:
    house.publish(flow("events", [START, TASK, END]))
    instance = house.start("events")
    task = house.task("u1")
    house.decide("u1", "approved")

    publisher = house.publisher
    assert [data["instance"]["id"] for data in publisher.of("workflow.instance.started")] == [instance.id]
    (created,) = publisher.of("workflow.task.created")
    assert (created["assigneeId"], created["ccUserIds"]) == ("u1", ["cc1", "cc2"])
    (completed,) = publisher.of("workflow.task.completed")
    assert {name: completed[name] for name in ("taskId", "instanceId", "nodeId", "actorId", "outcome")} == {
        "taskId": task.id,
        "instanceId": instance.id,
        "nodeId": "ask",
        "actorId": "u1",
        "outcome": "approved",
    }
    assert [data["instance"]["id"] for data in publisher.of("workflow.instance.completed")] == [instance.id]
    assert publisher.topics() == [
        "workflow.instance.started",
        "workflow.node.executing",
        "workflow.node.executed",
        "workflow.node.executing",
        "workflow.task.created",
        "workflow.node.executed",
        "workflow.node.executing",
        "workflow.node.executed",
        "workflow.node.executing",
        "workflow.node.executed",
        "workflow.instance.completed",
        "workflow.task.completed",
    ]
