"""Scenario 47: resuming a user task's waiting point without inputs approves nothing; the task comes back anew."""

from __future__ import annotations

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus


def test_bare_resume_does_not_approve(house: Installation) -> None:
    house.publish(flow("kicked", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END]))
    instance = house.start("kicked")
    before = house.task("u1")

    after = house.services.instances.resume_bookmark(ADMIN, before.id, {})

    assert after.status is InstanceStatus.RUNNING
    again = house.task("u1")
    assert again.id != before.id
    assert (again.instance_id, again.title) == (instance.id, before.title)
    assert house.publisher.of("workflow.task.completed") == []
