"""Peer scenario 29: a suspended instance refuses, and goes on with the same task."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation, actor
from tests.support.flows import END, START, flow, node
from webapp.engine.errors import CONFLICT_BOOKMARK, Conflict
from webapp.engine.instances.model import InstanceStatus


def test_a_suspended_instance_refuses(house: Installation) -> None:
    house.publish(flow("suspended", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END]))
    instance = house.start("suspended")
    task = house.task("u1")
    house.services.operations.suspend(ADMIN, instance.id)
    with pytest.raises(Conflict) as refused:
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert refused.value.code == CONFLICT_BOOKMARK
    house.services.operations.resume(ADMIN, instance.id)
    house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
