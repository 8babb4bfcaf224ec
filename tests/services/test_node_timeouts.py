"""What a node's timeout does: fault, approve, reject by the poller; escalate, hand over by ``workflow-timer`` (D14)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.support.engine import ADMIN, Installation, actor
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import EndReason, TaskRecord
from webapp.engine.instances.model import InstanceStatus, NodeStatus, WorkflowInstance
from webapp.services.commands import lease_name

HOUR = 3600


def begin(house: Installation, action: str | None, who: list[str], **more: Any) -> WorkflowInstance:
    """Start a flow whose task waits an hour; its outcome decides which end is reached."""
    properties = {"Assignees": who, **more.pop("properties", {})}
    ask = node("ask", "UserTask", properties, timeout_seconds=HOUR, timeout_action=action, **more)
    ends = [node(label, "End", {"Outcome": label}) for label in ("approved", "rejected", "timeout", "other")]
    edges = [edge("start", "ask")]
    edges += [edge("ask", label, f"outcome == '{label}'") for label in ("approved", "rejected", "timeout")]
    house.publish(flow("bill", [START, ask, *ends], [*edges, edge("ask", "other", is_default=True)]))
    return house.start("bill")


def records(house: Installation, instance: WorkflowInstance) -> list[TaskRecord]:
    with house.store_set.stores.reading(None) as work:
        return list(work.task_records.by_instance(None, instance.id))


def run_timers(house: Installation, seconds: float = 0) -> int:
    house.store_set.clock.advance(seconds)
    return house.services.housekeeping.run_timers().resumed


@pytest.mark.parametrize(
    ("action", "outcome"),
    [(None, "timeout"), ("Outcome", "timeout"), ("Approve", "approved"), ("Reject", "rejected")],
)
def test_a_timeout_ends_the_task_with_its_label(house: Installation, action: str | None, outcome: str) -> None:
    instance = begin(house, action, ["u1", "u2"], properties={"CompletionPolicy": "All"})
    (limit,) = house.bookmarks(instance.id, BookmarkKind.NODE_TIMEOUT)
    assert limit.due_at == house.store_set.clock.now() + timedelta(seconds=HOUR)
    house.decide("u1", "approved")
    house.elapse(HOUR - 1)
    assert house.instance(instance.id).status is InstanceStatus.RUNNING

    house.elapse(1)

    after = house.instance(instance.id)
    assert (after.status, after.outcome) == (InstanceStatus.COMPLETED, outcome)
    assert house.bookmarks(instance.id) == []
    ended = {record.assignee_id: (record.end_reason, record.outcome) for record in records(house, instance)}
    assert ended == {"u1": (EndReason.COMPLETED, "approved"), "u2": (EndReason.TIMEOUT, None)}
    (ask,) = [one for one in house.nodes(instance.id) if one.node_id == "ask"]
    assert [(one["actorId"], one["outcome"]) for one in ask.state["history"]] == [("u1", "approved"), (None, outcome)]


def test_a_timeout_can_be_a_fault_of_any_node(house: Installation) -> None:
    instance = begin(house, "Fault", ["u1"])
    house.publish(flow("pause", [START, node("wait", "Delay", {"DurationSeconds": 9999}, timeout_seconds=HOUR), END]))
    other = house.start("pause")
    house.elapse(HOUR)
    for one in (instance, other):
        after = house.instance(one.id)
        assert (after.status, after.fault and after.fault.key) == (InstanceStatus.FAULTED, "workflow.node.timed_out")
    assert [record.end_reason for record in records(house, instance)] == [EndReason.FAULTED]


def test_a_fault_by_timeout_goes_through_the_retry_policy(house: Installation) -> None:
    retry = {"maxAttempts": 2, "firstDelaySeconds": 10}
    instance = begin(house, "Fault", ["u1"], retry_policy=retry)
    house.elapse(HOUR)
    assert house.instance(instance.id).status is InstanceStatus.RUNNING
    house.elapse(10)
    (ask,) = [one for one in house.nodes(instance.id) if one.node_id == "ask"]
    assert (ask.status, ask.try_count) == (NodeStatus.SUSPENDED, 2)
    (limit,) = house.bookmarks(instance.id, BookmarkKind.NODE_TIMEOUT)
    assert limit.due_at == house.store_set.clock.now() + timedelta(seconds=HOUR)
    assert house.decide("u1", "approved").outcome == "approved"


def test_a_fault_by_timeout_can_be_gone_on_from(house: Installation) -> None:
    instance = begin(house, "Fault", ["u1"], continue_on_error=True)
    house.elapse(HOUR)
    after = house.instance(instance.id)
    assert (after.status, after.outcome) == (InstanceStatus.COMPLETED, "other")


def test_escalating_adds_the_target_and_leaves_the_first_as_they_are(house: Installation) -> None:
    instance = begin(house, "Escalate", ["u1", "u2"], timeout_target=["boss", "u2"])
    first = {task.id for name in ("u1", "u2") for task in house.tasks(name)}
    house.elapse(HOUR)
    assert house.tasks("boss") == []  # the poller leaves it to the job workflow-timer
    assert house.bookmarks(instance.id, BookmarkKind.NODE_TIMEOUT) != []
    house.publisher.events.clear()

    assert run_timers(house) == 1

    assert house.bookmarks(instance.id, BookmarkKind.NODE_TIMEOUT) == []
    assert {task.id for name in ("u1", "u2") for task in house.tasks(name)} == first
    task = house.task("boss")
    assert (task.signers_done, task.signers_total) == (0, 3)
    told = house.publisher.of("workflow.task.escalated")
    assert sorted(one["taskId"] for one in told) == sorted(first)
    assert {(tuple(one["targets"]), tuple(one["added"])) for one in told} == {(("boss", "u2"), ("boss",))}
    (created,) = house.publisher.of("workflow.task.created")
    assert (created["taskId"], created["ccUserIds"]) == (task.id, [])
    with house.store_set.stores.reading(None) as work:
        entries = work.audit.by_instance(None, instance.id).items
    assert [(one.action, one.actor_id) for one in entries] == [("start", "admin"), ("escalate", None)]
    assert run_timers(house, HOUR) == 0
    assert house.decide("boss", "rejected").outcome == "rejected"


def test_escalating_frees_a_claimed_task_for_the_target(house: Installation) -> None:
    begin(house, "Escalate", ["u1", "u2"], timeout_target=["boss"])
    house.services.inbox.claim(actor("u1"), house.task("u1").id)
    run_timers(house, HOUR)
    assert house.task("boss").claimed_by is None
    assert house.decide("boss", "approved").outcome == "approved"


def test_handing_over_keeps_the_task_and_changes_whose_it_is(house: Installation) -> None:
    instance = begin(house, "Transfer", ["u1"], timeout_target=["boss"])
    task = house.task("u1")
    house.publisher.events.clear()

    assert run_timers(house, HOUR) == 1

    assert house.tasks("u1") == []
    assert house.task("boss").id == task.id
    (told,) = house.publisher.of("workflow.task.transferred")
    assert (told["taskId"], told["from"], told["target"], told["actorId"]) == (task.id, "u1", "boss", None)
    rounds = [(one.round, one.assignee_id, one.end_reason) for one in records(house, instance)]
    assert rounds == [(1, "u1", EndReason.TRANSFERRED), (2, "boss", None)]
    assert house.bookmarks(instance.id, BookmarkKind.NODE_TIMEOUT) == []
    assert house.decide("boss", "approved").outcome == "approved"


def test_one_target_takes_over_from_all_who_have_not_decided(house: Installation) -> None:
    properties = {"CompletionPolicy": "All"}
    instance = begin(house, "Transfer", ["u1", "u2", "u3"], timeout_target=["boss"], properties=properties)
    house.decide("u1", "approved")
    run_timers(house, HOUR)
    assert [house.tasks(name) for name in ("u2", "u3")] == [[], []]
    task = house.task("boss")
    assert (task.signers_done, task.signers_total) == (1, 2)
    after = house.decide("boss", "approved")
    assert (after.id, after.status, after.outcome) == (instance.id, InstanceStatus.COMPLETED, "approved")


def test_handing_over_to_somebody_who_has_decided_changes_nothing(house: Installation) -> None:
    """Else the others would be gone, and All would be approved by one."""
    properties = {"CompletionPolicy": "All"}
    instance = begin(house, "Transfer", ["u1", "boss"], timeout_target=["boss"], properties=properties)
    house.decide("boss", "approved")
    run_timers(house, HOUR)
    assert house.instance(instance.id).status is InstanceStatus.RUNNING
    assert house.task("u1").signers_total == 2
    assert house.bookmarks(instance.id, BookmarkKind.NODE_TIMEOUT) == []


def test_a_disabled_target_gets_nothing(house: Installation) -> None:
    boss = house.services.accounts.create(name="boss")
    begin(house, "Transfer", ["u1"], timeout_target=["boss"])
    house.services.accounts.set_disabled(boss, True)
    run_timers(house, HOUR)
    assert house.tasks("boss") == []
    assert house.task("u1").assignee_id == "u1"


def test_a_busy_instance_is_left_to_the_next_cycle_of_the_job(house: Installation) -> None:
    instance = begin(house, "Transfer", ["u1"], timeout_target=["boss"])
    house.store_set.clock.advance(HOUR)
    with house.store_set.leases.hold(lease_name(instance.id)), ThreadPoolExecutor(1) as elsewhere:
        report = elsewhere.submit(house.services.housekeeping.run_timers).result()
    assert (report.claimed, report.resumed, report.left) == (1, 0, 1)
    assert run_timers(house) == 1
    assert house.task("boss").assignee_id == "boss"


def test_an_operator_who_resumes_the_limit_escalates_at_once(house: Installation) -> None:
    instance = begin(house, "Escalate", ["u1"], timeout_target=["boss"])
    (limit,) = house.bookmarks(instance.id, BookmarkKind.NODE_TIMEOUT)
    house.services.instances.resume_bookmark(ADMIN, limit.id, {})
    assert house.task("boss").assignee_id == "boss"
    assert house.instance(instance.id).status is InstanceStatus.RUNNING
