"""Numbers that lists sort by, and what ended means (spec 1.6, decision D21)."""

from __future__ import annotations

from webapp.engine.instances.bookmarks import Priority
from webapp.engine.instances.model import InstanceStatus, NodeStatus


def test_statuses_have_the_ranks_of_the_specification() -> None:
    assert {status.value: status.rank for status in InstanceStatus} == {
        "Running": 1,
        "Suspended": 2,
        "Completed": 3,
        "Canceled": 4,
        "Faulted": 5,
        "Terminated": 6,
    }


def test_only_running_and_suspended_instances_have_not_ended() -> None:
    assert [status for status in InstanceStatus if not status.ended] == [
        InstanceStatus.RUNNING,
        InstanceStatus.SUSPENDED,
    ]


def test_only_running_and_suspended_nodes_are_active() -> None:
    assert [status for status in NodeStatus if status.active] == [NodeStatus.RUNNING, NodeStatus.SUSPENDED]


def test_priorities_rise_from_low_to_urgent() -> None:
    assert [(priority.value, priority.rank) for priority in Priority] == [
        ("low", 0),
        ("normal", 1),
        ("high", 2),
        ("urgent", 3),
    ]
