"""Background nodes: a click never waits for them, the poller runs them in its own time (3.22)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, edge, flow, node
from tests.support.stores import StoreSet
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.instances.bookmarks import BACKGROUND_KEY, BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeInstance, NodeStatus, WorkflowInstance
from webapp.poller import Threads


def one(house: Installation, instance: WorkflowInstance, node_id: str) -> NodeInstance:
    (found,) = [each for each in house.nodes(instance.id) if each.node_id == node_id]
    return found


def begin(
    house: Installation, activity: str, properties: dict[str, Any] | None = None, **more: Any
) -> WorkflowInstance:
    house.publish(flow("slow", [START, node("x", activity, properties or {}, background=True, **more), END]))
    return house.start("slow")


def test_reaching_one_runs_nothing_yet(house: Installation) -> None:
    woken: list[bool] = []
    house.services.housekeeping.on_due_now(lambda: woken.append(True))
    instance = begin(house, "SetVariable", {"Values": {"done": True}})
    assert (instance.status, instance.variables) == (InstanceStatus.RUNNING, {})
    assert woken == [True]
    found = one(house, instance, "x")
    assert (found.status, found.try_count) == (NodeStatus.SUSPENDED, 0)
    (wait,) = house.bookmarks(instance.id)
    assert (wait.kind, wait.key, wait.payload) == (BookmarkKind.RETRY, BACKGROUND_KEY, {"reason": "background"})
    assert wait.due_at == house.store_set.clock.now()
    assert [each["nodeInstance"]["nodeId"] for each in house.publisher.of("workflow.node.executing")] == ["start"]

    house.elapse(0)

    after = house.instance(instance.id)
    assert (after.status, after.variables) == (InstanceStatus.COMPLETED, {"done": True})
    found = one(house, instance, "x")
    assert (found.status, found.try_count) == (NodeStatus.COMPLETED, 1)
    assert house.path(instance.id) == ["start", "x", "end"]


def test_the_time_limit_begins_with_the_run(house: Installation) -> None:
    instance = begin(house, "UserTask", {"Assignees": ["u1"]}, timeout_seconds=60)
    assert house.bookmarks(instance.id, BookmarkKind.NODE_TIMEOUT) == []
    house.elapse(30)
    (limit,) = house.bookmarks(instance.id, BookmarkKind.NODE_TIMEOUT)
    assert limit.due_at == house.store_set.clock.now() + timedelta(seconds=60)
    assert house.decide("u1", "approved").status is InstanceStatus.COMPLETED


def test_its_retries_are_background_work_too(house: Installation) -> None:
    retry = {"maxAttempts": 3, "firstDelaySeconds": 10}
    instance = begin(house, "TestFlaky", {"SucceedOnAttempt": 2}, retry_policy=retry)
    house.elapse(0)
    found = one(house, instance, "x")
    assert (found.status, found.try_count) == (NodeStatus.FAULTED, 1)
    (wait,) = house.bookmarks(instance.id)
    assert (wait.kind, wait.key) == (BookmarkKind.RETRY, BACKGROUND_KEY)
    assert wait.due_at == house.store_set.clock.now() + timedelta(seconds=10)
    house.elapse(10)
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    assert one(house, instance, "x").try_count == 2


def test_it_may_continue_on_error(house: Installation) -> None:
    instance = begin(house, "TestFlaky", {"SucceedOnAttempt": 9}, continue_on_error=True)
    house.elapse(0)
    after = house.instance(instance.id)
    assert (after.status, after.variables["outcome"]) == (InstanceStatus.COMPLETED, "error")


def test_a_retry_by_hand_does_not_wait_for_it_either(house: Installation) -> None:
    instance = begin(house, "TestFlaky", {"SucceedOnAttempt": 2})
    house.elapse(0)
    assert house.instance(instance.id).status is InstanceStatus.FAULTED
    house.services.instances.retry(ADMIN, instance.id)
    found = one(house, instance, "x")
    assert (house.instance(instance.id).status, found.status, found.try_count) == (
        InstanceStatus.RUNNING,
        NodeStatus.SUSPENDED,
        1,
    )
    assert found.fault is None
    house.elapse(0)
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    assert one(house, instance, "x").try_count == 2


def test_it_can_be_canceled_while_it_waits(house: Installation) -> None:
    instance = begin(house, "SetVariable", {"Values": {"done": True}})
    house.services.instances.cancel(ADMIN, instance.id)
    assert one(house, instance, "x").status is NodeStatus.CANCELED
    house.elapse(0)
    after = house.instance(instance.id)
    assert (after.status, after.variables) == (InstanceStatus.CANCELED, {})


def test_a_person_who_decides_does_not_wait_for_what_follows(house: Installation) -> None:
    nodes = [
        START,
        node("ask", "UserTask", {"Assignees": ["u1"]}),
        node("x", "SetVariable", {"Values": {"done": True}}, background=True),
        END,
    ]
    house.publish(flow("bill", nodes, [edge("start", "ask"), edge("ask", "x"), edge("x", "end")]))
    house.start("bill")
    after = house.services.inbox.complete(actor("u1"), house.task("u1").id, "approved")
    assert after.instance_status is InstanceStatus.RUNNING


def test_a_join_and_an_end_may_run_in_the_background(house: Installation) -> None:
    nodes = [
        START,
        node("split", "Parallel"),
        node("a", "SetVariable", {"Values": {"a": 1}}, background=True),
        node("b", "SetVariable", {"Values": {"b": 2}}),
        node("join", "Join", background=True),
        node("end", "End", {"Outcome": "fine"}, background=True),
    ]
    edges = [
        edge("start", "split"),
        edge("split", "a"),
        edge("split", "b"),
        edge("a", "join"),
        edge("b", "join"),
        edge("join", "end"),
    ]
    house.publish(flow("fork", nodes, edges))
    instance = house.start("fork")
    for _ in range(3):
        house.elapse(0)
    after = house.instance(instance.id)
    assert (after.status, after.outcome) == (InstanceStatus.COMPLETED, "fine")
    assert after.variables == {"a": 1, "b": 2, "outcome": "fine"}
    assert sorted(house.path(instance.id)) == ["a", "b", "end", "join", "split", "start"]


class Counting:
    """Runs for as long as the test wants, and knows how many did so at once."""

    descriptor = ActivityDescriptor(type="TestCounting", category=Category.CUSTOM, icon="x", custom=True)

    def __init__(self) -> None:
        self.leave = threading.Event()
        self.most = self.runs = self._now = 0
        self._lock = threading.Lock()
        self.two = threading.Event()

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Wait."""
        with self._lock:
            self.runs += 1
            self._now += 1
            self.most = max(self.most, self._now)
            if self._now == 2:
                self.two.set()
        self.leave.wait(10)
        with self._lock:
            self._now -= 1
        return Complete()


@pytest.fixture
def counting() -> Iterator[Counting]:
    made = Counting()
    yield made
    made.leave.set()


def test_half_of_the_threads_stay_free_for_timers(stores: StoreSet, counting: Counting) -> None:
    house = install(stores, activities=(counting,))
    house.publish(flow("slow", [START, node("x", "TestCounting", background=True), END]))
    house.publish(flow("pause", [START, node("wait", "Delay", {"DurationSeconds": 1}), END]))
    slow = [house.start("slow") for _ in range(6)]
    pauses = [house.start("pause") for _ in range(6)]
    stores.clock.advance(1)
    crew = Threads(4)
    poll = threading.Thread(target=house.services.housekeeping.poll_once, args=(crew,))
    poll.start()
    try:
        assert counting.two.wait(10)
        deadline = threading.Event()
        for _ in range(400):
            if all(house.instance(each.id).status is InstanceStatus.COMPLETED for each in pauses):
                break
            deadline.wait(0.02)
        assert all(house.instance(each.id).status is InstanceStatus.COMPLETED for each in pauses)
        assert counting.most == 2
    finally:
        counting.leave.set()
        poll.join(10)
        crew.close()
    house.services.housekeeping.poll_once()
    assert all(house.instance(each.id).status is InstanceStatus.COMPLETED for each in slow)
    assert (counting.runs, counting.most) == (6, 2)
