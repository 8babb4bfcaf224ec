"""An instance's own time limit: its three actions, and what a suspension does to it (3.12, D16)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance

HOUR = 3600


def begin(house: Installation, action: str) -> WorkflowInstance:
    ask = node("ask", "UserTask", {"Assignees": ["u1"]})
    house.publish(flow("bill", [START, ask, END], timeout=HOUR, timeoutAction=action))
    return house.start("bill")


@pytest.mark.parametrize("action", ["Fault", "Cancel", "Terminate"])
def test_a_suspended_instance_has_all_its_time_when_it_goes_on(house: Installation, action: str) -> None:
    ended = {"Fault": InstanceStatus.FAULTED, "Cancel": InstanceStatus.CANCELED, "Terminate": InstanceStatus.TERMINATED}
    instance = begin(house, action)
    due_at = house.store_set.clock.now() + timedelta(seconds=HOUR)
    house.services.operations.suspend(ADMIN, instance.id)
    house.elapse(HOUR)
    assert house.instance(instance.id).status is InstanceStatus.SUSPENDED
    (limit,) = house.bookmarks(instance.id, BookmarkKind.INSTANCE_TIMEOUT)
    now = house.store_set.clock.now()
    assert (limit.due_at, limit.original_due_at) == (now + timedelta(seconds=300), due_at)

    house.services.operations.resume(ADMIN, instance.id)
    (limit,) = house.bookmarks(instance.id, BookmarkKind.INSTANCE_TIMEOUT)
    assert (limit.due_at, limit.original_due_at) == (due_at, None)
    house.elapse(0)

    after = house.instance(instance.id)
    assert after.status is ended[action]
    if action == "Fault":
        assert after.fault is not None
        assert (after.fault.key, after.fault_node_id) == ("workflow.instance.timed_out", None)
    else:
        assert house.tasks("u1") == []


def test_an_instance_that_ends_in_time_has_no_limit_left(house: Installation) -> None:
    instance = begin(house, "Fault")
    assert house.decide("u1", "approved").status is InstanceStatus.COMPLETED
    assert house.bookmarks(instance.id) == []
    house.elapse(HOUR)
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
