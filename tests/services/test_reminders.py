"""Reminders of a task and the word that it is overdue: sent by the job ``workflow-timer`` (3.22, 6.4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.engine import ADMIN, Installation, actor
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance

REMINDED = "workflow.task.reminded"
OVERDUE = "workflow.task.overdue"


def begin(house: Installation, who: list[str], **properties: Any) -> WorkflowInstance:
    house.publish(flow("bill", [START, node("ask", "UserTask", {"Assignees": who, **properties}), END]))
    return house.start("bill")


def told(house: Installation, seconds: float, topic: str = REMINDED) -> list[tuple[str, Any]]:
    """Let time pass, run the job, and return who is told of what count."""
    house.store_set.clock.advance(seconds)
    house.publisher.events.clear()
    house.services.housekeeping.run_timers()
    return [(one["assigneeId"], one.get("count")) for one in house.publisher.of(topic)]


def reminders(house: Installation, instance: WorkflowInstance) -> list[float]:
    """Return in how many seconds each reminder of the instance is due."""
    now = house.store_set.clock.now()
    found = house.bookmarks(instance.id, BookmarkKind.REMINDER)
    return [(one.due_at - now).total_seconds() for one in found if one.due_at is not None]


def test_a_task_without_them_has_no_reminders(house: Installation) -> None:
    assert reminders(house, begin(house, ["u1"])) == []


def test_one_reminder_tells_those_who_have_not_decided(house: Installation) -> None:
    instance = begin(house, ["u1", "u2", "u3"], CompletionPolicy="All", RemindAfterSeconds="30 * 2")
    assert reminders(house, instance) == [60]
    house.decide("u2", "approved")
    assert told(house, 59) == []
    house.elapse(1)  # the poller leaves it alone
    assert told(house, 0) == [("u1", 1), ("u3", 1)]
    assert reminders(house, instance) == []
    with house.store_set.stores.reading(None) as work:
        entries = work.audit.by_instance(None, instance.id).items
    assert [(one.action, one.actor_id) for one in entries[-1:]] == [("remind", None)]


def test_reminders_repeat_at_their_pace_up_to_the_maximum(house: Installation) -> None:
    instance = begin(house, ["u1"], RemindAfterSeconds=60, RemindEverySeconds=600, MaxReminders=3)
    # The job comes late; the pace stays that of the plan, and what was missed is not made up for in a burst.
    assert told(house, 100) == [("u1", 1)]
    assert reminders(house, instance) == [560]
    assert told(house, 560) == [("u1", 2)]
    assert reminders(house, instance) == [600]
    assert told(house, 5000) == [("u1", 3)]
    assert reminders(house, instance) == []
    assert told(house, 5000) == []


def test_without_a_first_one_the_pace_says_when(house: Installation) -> None:
    instance = begin(house, ["u1"], RemindEverySeconds=600)
    assert reminders(house, instance) == [600]
    for count in range(1, 6):
        assert told(house, 600) == [("u1", count)]
    assert told(house, 5000) == [("u1", 6)]
    assert reminders(house, instance) == [600]


def test_reminders_end_with_the_node(house: Installation) -> None:
    instance = begin(house, ["u1"], RemindAfterSeconds=60, RemindEverySeconds=60)
    assert house.decide("u1", "approved").status is InstanceStatus.COMPLETED
    assert house.bookmarks(instance.id) == []
    assert told(house, 60) == []


def test_reminders_follow_the_task_to_whoever_has_it(house: Installation) -> None:
    instance = begin(house, ["u1"], RemindAfterSeconds=60, RemindEverySeconds=60)
    house.services.inbox.transfer(actor("u1"), house.task("u1").id, "u2")
    assert told(house, 60) == [("u2", 1)]
    assert reminders(house, instance) == [60]


def test_reminders_outlast_a_claim(house: Installation) -> None:
    instance = begin(house, ["u1", "u2"], RemindAfterSeconds=60)
    house.services.inbox.claim(actor("u1"), house.task("u1").id)
    assert reminders(house, instance) == [60]
    assert ("u1", 1) in told(house, 60)


def test_reminders_are_armed_again_by_a_return(house: Installation) -> None:
    """They used to be lost (what peers get wrong)."""
    first = node("first", "UserTask", {"Assignees": ["u1"], "RemindAfterSeconds": 60, "DueInSeconds": 90})
    second = node("second", "UserTask", {"Assignees": ["u2"]})
    house.publish(flow("two", [START, first, second, END]))
    instance = house.start("two")
    house.store_set.clock.advance(50)
    house.decide("u1", "approved")
    assert reminders(house, instance) == []
    house.services.returns.return_task(actor("u2"), house.task("u2").id, comment="once more")
    assert sorted(reminders(house, instance)) == [60, 90]
    assert told(house, 60) == [("u1", 1)]


def test_reminders_wait_while_the_instance_is_suspended(house: Installation) -> None:
    instance = begin(house, ["u1"], RemindAfterSeconds=60)
    house.services.operations.suspend(ADMIN, instance.id)
    assert told(house, 60) == []
    assert reminders(house, instance) == [300]
    house.services.operations.resume(ADMIN, instance.id)
    assert reminders(house, instance) == [0]
    assert told(house, 0) == [("u1", 1)]


@pytest.mark.parametrize("properties", [{"DueInSeconds": 60}, {"DueAt": "2026-07-16T08:01:00Z"}])
def test_a_passed_due_date_is_told_once(house: Installation, properties: dict[str, Any]) -> None:
    assert house.store_set.clock.now().isoformat() == "2026-07-16T08:00:00+00:00"
    instance = begin(house, ["u1", "u2"], CompletionPolicy="All", **properties)
    house.decide("u2", "approved")
    assert told(house, 59, OVERDUE) == []
    assert told(house, 1, OVERDUE) == [("u1", None)]
    assert told(house, 5000, OVERDUE) == []
    assert house.bookmarks(instance.id, BookmarkKind.REMINDER) == []
    assert house.instance(instance.id).status is InstanceStatus.RUNNING
    assert house.decide("u1", "approved").status is InstanceStatus.COMPLETED


@pytest.mark.parametrize("properties", [{"RemindAfterSeconds": "'soon'"}, {"RemindEverySeconds": "0"}])
def test_a_reminder_that_is_no_time_is_a_fault(house: Installation, properties: dict[str, Any]) -> None:
    instance = begin(house, ["u1"], **properties)
    assert instance.fault is not None
    assert instance.fault.key == "workflow.task.reminder_invalid"
