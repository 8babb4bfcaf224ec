"""Decisions that can be undone for a moment, on each set of stores (spec 6.7, Undo)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.services.test_statements import watched
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet, on_databases
from webapp.accounts.permissions import OPERATOR
from webapp.engine.errors import Conflict, Denied, InputInvalid
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.notifications.model import EventType
from webapp.services.queries import NoticeQuery, TaskQuery
from webapp.services.views import TaskRights

ASK = flow(
    "ask",
    [START, node("ask", "UserTask", {"Assignees": ["u1", "u2"]}), END],
)


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    made = install(stores)
    made.publish(ASK)
    return made


def decide(house: Installation, seconds: Any = 10, **more: Any) -> str:
    house.start("ask", by=actor("sue"))
    task = house.task("u1")
    house.services.inbox.complete(actor("u1"), task.id, "approved", "fine", undo_seconds=seconds, **more)
    return task.id


def told(house: Installation, task_id: str) -> list[tuple[str, str | None]]:
    trail = house.services.inbox.get(actor("sue"), task_id).trail
    return [(entry.action, entry.actor_id) for entry in reversed(trail) if entry.kind == "command"]


def test_everybody_sees_it_decided_and_nothing_has_happened_yet(house: Installation) -> None:
    task_id = decide(house, variables={"x": 1})
    inbox, now = house.services.inbox, house.store_set.clock.now()
    detail = inbox.get(actor("sue"), task_id)
    assert (detail.status, detail.completed_by, detail.outcome, detail.comment) == (
        "decided", "u1", "approved", "fine",
    )  # fmt: skip
    assert (detail.ended_at, detail.undo_until is not None and (detail.undo_until - now).total_seconds()) == (now, 10)
    assert detail.rights == TaskRights()
    assert inbox.get(actor("u1"), task_id).rights == TaskRights(undo=True)
    instance = house.instance(detail.instance_id)
    assert (instance.status, "x" in instance.variables) == (InstanceStatus.RUNNING, False)
    assert inbox.query(actor("u1")).total == 0
    assert inbox.counts(actor("u1")) == {"mine": 0, "claimable": 0}
    assert inbox.query(ADMIN, TaskQuery(), scope="all").total == 1
    assert "workflow.task.completed" not in house.publisher.topics()


def test_other_actions_on_it_are_conflicts_that_say_who_decided(house: Installation) -> None:
    task_id = decide(house)
    inbox, operator = house.services.inbox, actor("op", OPERATOR)
    for act in (
        lambda: inbox.complete(actor("u1"), task_id, "rejected"),
        lambda: inbox.transfer(actor("u1"), task_id, "u9"),
        lambda: inbox.transfer(operator, task_id, "u9"),
        lambda: inbox.add(operator, task_id, ["u9"]),
        lambda: inbox.remove(operator, task_id, ["u1"]),
        lambda: inbox.claim(actor("u1"), task_id),
        lambda: inbox.delegate(actor("u1"), task_id, "u9"),
    ):
        with pytest.raises(Conflict) as raised:
            act()
        assert raised.value.code == "WORKFLOW_CONFLICT_003"
        assert (raised.value.details["completedBy"], raised.value.details["outcome"]) == ("u1", "approved")


def test_it_can_be_undone_and_made_again(house: Installation) -> None:
    task_id = decide(house)
    inbox = house.services.inbox
    with pytest.raises(Denied):
        inbox.undo(actor("u2"), task_id)
    back = inbox.undo(actor("u1"), task_id)
    assert (back.task.status, back.task.outcome, back.task.undo_until) == ("open", None, None)
    assert inbox.query(actor("u1")).total == 1
    with pytest.raises(Conflict):
        inbox.undo(actor("u1"), task_id)
    with pytest.raises(Denied):
        inbox.undo(actor("u9"), task_id)
    inbox.complete(actor("u1"), task_id, "rejected", undo_seconds=Decimal("0.5"))
    house.elapse(30)
    instance = house.instance(back.instance_id)
    assert (instance.status, instance.variables["outcome"]) == (InstanceStatus.COMPLETED, "rejected")
    assert told(house, task_id) == [("start", "sue"), ("complete", "u1"), ("undo", "u1"), ("complete", "u1")]


def test_the_poller_carries_it_out(house: Installation) -> None:
    task_id = decide(house, variables={"x": 1})
    house.elapse(9)
    assert house.services.inbox.get(actor("sue"), task_id).status == "decided"
    house.elapse(2)
    done = house.services.inbox.get(actor("sue"), task_id)
    assert (done.status, done.completed_by, done.outcome, done.comment) == ("ended", "u1", "approved", "fine")
    instance = house.instance(done.instance_id)
    assert (instance.status, instance.variables["x"]) == (InstanceStatus.COMPLETED, 1)
    assert house.publisher.topics()[-1] == "workflow.task.completed"
    assert told(house, task_id) == [("start", "sue"), ("complete", "u1")]
    with pytest.raises(Conflict) as raised:
        house.services.inbox.undo(actor("u1"), task_id)
    assert raised.value.details["completedBy"] == "u1"


def test_the_persons_next_request_carries_out_what_is_due(house: Installation) -> None:
    task_id = decide(house)
    house.services.inbox.counts(actor("u1"))
    assert house.services.inbox.get(actor("sue"), task_id).status == "decided"
    house.store_set.clock.advance(11)
    house.services.inbox.counts(actor("u2"))
    assert house.services.inbox.get(actor("sue"), task_id).status == "decided"
    house.services.inbox.counts(actor("u1"))
    assert house.services.inbox.get(actor("sue"), task_id).status == "ended"
    assert house.services.housekeeping.poll_once().follow_ups == 0


def test_a_decision_that_came_too_late_is_told_in_the_trail(house: Installation) -> None:
    task_id = decide(house)
    house.decide("u2", "rejected")
    house.elapse(11)
    assert told(house, task_id)[-1] == ("decideFailed", None)
    assert house.services.housekeeping.poll_once().follow_ups == 0
    instance_id = house.services.inbox.get(actor("sue"), task_id).instance_id
    assert house.instance(instance_id).variables["outcome"] == "rejected"


def test_who_decided_is_told_that_it_could_not_be_carried_out(house: Installation) -> None:
    for name in ("u1", "u2", "sue"):
        house.account(name)
    late = decide(house)
    late_id = house.services.inbox.get(actor("sue"), late).instance_id
    house.decide("u2", "rejected")
    house.elapse(11)
    again = decide(house)
    again_id = house.services.inbox.get(actor("sue"), again).instance_id
    house.services.operations.suspend(ADMIN, again_id)
    house.elapse(11)

    found = house.services.notices.list(actor("u1"), NoticeQuery()).items
    refused = {one.instance_id: one for one in found if one.event_type is EventType.DECISION_FAILED}
    assert {one: refused[one].task_id for one in refused} == {late_id: None, again_id: again}
    assert "Outcome: approved" in refused[late_id].body
    assert "Comment: fine" in refused[late_id].body
    others = house.services.notices.list(actor("u2"), NoticeQuery()).items
    assert EventType.DECISION_FAILED not in {one.event_type for one in others}


def test_a_decision_that_cannot_be_carried_out_opens_the_task_again(house: Installation) -> None:
    task_id = decide(house)
    instance_id = house.services.inbox.get(actor("sue"), task_id).instance_id
    house.services.operations.suspend(ADMIN, instance_id)
    house.elapse(11)
    detail = house.services.inbox.get(actor("sue"), task_id)
    assert (detail.status, told(house, task_id)[-1]) == ("open", ("decideFailed", None))
    house.services.operations.resume(ADMIN, instance_id)
    assert house.services.inbox.complete(actor("u1"), task_id, "approved").task.status == "ended"


@pytest.mark.parametrize("seconds", [-1, 31, Decimal("30.001")])
def test_at_most_thirty_seconds(house: Installation, seconds: Any) -> None:
    with pytest.raises(InputInvalid) as raised:
        decide(house, seconds)
    assert raised.value.problems[0].path == "undoSeconds"


def test_what_is_wrong_is_refused_at_once(house: Installation) -> None:
    with pytest.raises(InputInvalid):
        decide(house, variables={"outcome": "x"})
    assert house.services.inbox.query(actor("u1")).total == 1


@on_databases
def test_holding_a_decision_is_two_reads_and_five_writes(stores: StoreSet) -> None:
    house = install(stores)
    house.publish(ASK)
    house.start("ask")
    task = house.task("u1")
    with watched(stores) as seen:
        house.services.inbox.complete(actor("u1"), task.id, "approved", undo_seconds=5)
    # The instance, the task and its mark, what is owed, the trail.
    assert (len(seen.reads), len(seen.writes), seen.commits) == (2, 5, 1), seen.texts


def timed(house: Installation, action: str) -> str:
    """Decide within the time limit of an hour, so that the limit passes while the decision can be undone."""
    more = {"timeout_target": ["boss"]} if action in ("Transfer", "Escalate") else {}
    ask = node("ask", "UserTask", {"Assignees": ["u1"]}, timeout_seconds=3600, timeout_action=action, **more)
    house.publish(flow("timed", [START, ask, END]))
    house.start("timed", by=actor("sue"))
    house.elapse(3595)
    task_id = house.task("u1").id
    house.services.inbox.complete(actor("u1"), task_id, "rejected", undo_seconds=10)
    house.elapse(5)
    house.services.housekeeping.run_timers()
    return task_id


@pytest.mark.parametrize("action", ["Approve", "Fault", "Transfer", "Escalate"])
def test_a_time_limit_waits_for_who_decided_in_time(house: Installation, action: str) -> None:
    task_id = timed(house, action)
    assert house.services.inbox.get(actor("sue"), task_id).status == "decided"
    house.elapse(5)
    done = house.services.inbox.get(actor("sue"), task_id)
    assert (done.status, done.completed_by, done.outcome) == ("ended", "u1", "rejected")
    assert house.instance(done.instance_id).status is InstanceStatus.COMPLETED
    assert house.bookmarks(done.instance_id) == []


@pytest.mark.parametrize(("action", "holder"), [("Transfer", "boss"), ("Approve", None)])
def test_a_time_limit_passes_when_the_decision_was_undone(house: Installation, action: str, holder: str | None) -> None:
    task_id = timed(house, action)
    instance_id = house.services.inbox.get(actor("sue"), task_id).instance_id
    house.services.inbox.undo(actor("u1"), task_id)
    house.elapse(6)
    house.services.housekeeping.run_timers()
    tasks = house.bookmarks(instance_id, BookmarkKind.USER_TASK)
    assert [task.key for task in tasks] == ([] if holder is None else [holder])
    variables = house.instance(instance_id).variables
    assert variables.get("outcome") == (None if holder else "approved")


def test_who_has_decided_is_not_reminded(house: Installation) -> None:
    ask = node("ask", "UserTask", {"Assignees": ["u1", "u2"], "CompletionPolicy": "All", "RemindAfterSeconds": 60})
    house.publish(flow("both", [START, ask, END]))
    house.start("both")
    house.store_set.clock.advance(55)
    house.services.inbox.complete(actor("u1"), house.task("u1").id, "approved", undo_seconds=10)
    house.store_set.clock.advance(5)
    house.services.housekeeping.run_timers()
    assert [one["assigneeId"] for one in house.publisher.of("workflow.task.reminded")] == ["u2"]


def in_turn(house: Installation, second: str = "UserTask") -> str:
    """Start a flow whose first signer has decided; the task of the second is open. Return the first one's task."""
    if second == "UserTask":
        nodes = [node(f"n{number}", "UserTask", {"Assignees": [f"u{number}"]}) for number in (1, 2)]
    else:
        nodes = [node("both", "UserTask", {"Assignees": ["u1", "u2"], "CompletionPolicy": "Sequential"})]
    house.publish(flow("turns", [START, *nodes, END]))
    house.start("turns", by=actor("sue"))
    task_id = house.task("u1").id
    house.decide("u1", "approved")
    return task_id


@pytest.mark.parametrize("second", ["UserTask", "Sequential"])
def test_a_decision_is_not_recalled_from_under_who_has_decided_after_it(house: Installation, second: str) -> None:
    first = in_turn(house, second)
    later = house.task("u2").id
    house.services.inbox.complete(actor("u2"), later, "approved", undo_seconds=10)
    with pytest.raises(Conflict) as refused:
        house.services.returns.recall(actor("u1"), first)
    assert refused.value.key == "workflow.recall.too_late"
    house.services.inbox.undo(actor("u2"), later)
    assert house.services.returns.recall(actor("u1"), first).task.status == "open"


def test_a_request_is_not_withdrawn_while_an_approval_can_be_undone(house: Installation) -> None:
    task_id = decide(house)
    instance_id = house.services.inbox.get(actor("sue"), task_id).instance_id
    with pytest.raises(Conflict) as refused:
        house.services.returns.withdraw(actor("sue"), instance_id)
    assert refused.value.key == "workflow.withdraw.approved"
    house.services.inbox.undo(actor("u1"), task_id)
    house.services.inbox.complete(actor("u1"), task_id, "rejected", undo_seconds=10)
    withdrawn = house.services.returns.withdraw(actor("sue"), instance_id)
    assert withdrawn.status is InstanceStatus.CANCELED
