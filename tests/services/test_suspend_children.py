"""Suspending a parent with its children, and without (spec 3.22)."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus

CHILD = flow("child", [START, node("work", "UserTask", {"Assignees": ["chris"]}), END])
PARENT = flow("parent", [START, node("sub", "SubWorkflow", {"DefinitionName": "child"}), END])


@pytest.fixture
def family(house: Installation) -> tuple[str, str]:
    house.publish(CHILD)
    house.publish(PARENT)
    parent = house.start("parent")
    return parent.id, house.task("chris").instance_id


def test_children_follow_when_asked_to(house: Installation, family: tuple[str, str]) -> None:
    parent, child = family
    house.services.operations.suspend(ADMIN, parent, "Audit", cascade=True)
    stopped = house.instance(child)
    assert (stopped.status, stopped.suspended_by, stopped.suspension_reason) == (
        InstanceStatus.SUSPENDED,
        "admin",
        "Audit",
    )
    house.services.operations.resume(ADMIN, parent, cascade=True)
    assert house.instance(child).status is InstanceStatus.RUNNING
    house.decide("chris", "approved")
    assert house.instance(parent).status is InstanceStatus.COMPLETED


def test_a_child_that_ends_while_its_parent_is_suspended_is_not_lost(
    house: Installation, family: tuple[str, str]
) -> None:
    parent, child = family
    house.services.operations.suspend(ADMIN, parent)
    house.decide("chris", "approved")
    assert house.instance(child).status is InstanceStatus.COMPLETED
    assert house.instance(parent).status is InstanceStatus.SUSPENDED
    house.services.operations.resume(ADMIN, parent)
    assert house.instance(parent).status is InstanceStatus.COMPLETED
    assert house.path(parent) == ["start", "sub", "end"]


def test_terminate_takes_the_children_along(house: Installation, family: tuple[str, str]) -> None:
    parent, child = family
    house.services.operations.terminate(ADMIN, parent, "Duplicate")
    assert house.instance(child).status is InstanceStatus.TERMINATED
