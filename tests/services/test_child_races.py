"""Parents and children at once from many threads: one winner, nothing lost, nobody waits for nothing (spec 3.22)."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.services.subflows import ASKING, child_of, children_of, parent, rows
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, edge, flow, node
from tests.support.stores import StoreSet
from webapp.engine.errors import Conflict, WorkflowError
from webapp.engine.instances.model import InstanceStatus, NodeStatus

CHILDREN = 20
SECONDS = 60
"""Far more than the work takes; far less than waiting for leases one after the other would."""


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    made = install(stores)
    made.publish(ASKING)
    return made


def twenty(house: Installation) -> str:
    house.publish(
        parent(
            "ForEach",
            DefinitionName="asking",
            ItemsExpression="numbers",
            Parallel=True,
            ResultVariable="results",
        )
    )
    return house.start("parent", {"numbers": list(range(CHILDREN))}).id


def at_once(calls: list[Callable[[], object]]) -> list[object]:
    """Run the calls together; return what each answered or raised."""
    together = Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        together.wait()
        try:
            return call()
        except WorkflowError as refused:
            return refused

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def settle(house: Installation) -> None:
    """Let the poller run what a call left: what it found busy, it tries again a second later."""
    for _ in range(5):
        house.store_set.clock.advance(30)
        house.services.housekeeping.poll_once()


def completing(house: Installation, task_id: str) -> Callable[[], object]:
    return lambda: house.services.inbox.complete(actor("u1"), task_id, "approved")


@pytest.mark.parametrize("threads", [2, 10, 50])
def test_a_parent_with_twenty_children_is_canceled_while_they_complete(house: Installation, threads: int) -> None:
    started = twenty(house)
    tasks = [one.id for one in house.tasks("u1")]
    calls: list[Callable[[], object]] = [lambda: house.services.instances.cancel(ADMIN, started, "stop")]
    calls += [completing(house, tasks[number % CHILDREN]) for number in range(threads - 1)]
    begun = time.monotonic()
    answers = at_once(calls)
    assert time.monotonic() - begun < SECONDS
    for answer in answers:
        # Who lost is told so; nothing failed, nothing timed out.
        assert not isinstance(answer, WorkflowError) or isinstance(answer, Conflict), answer
    settle(house)
    instance = house.instance(started)
    assert instance.status in (InstanceStatus.CANCELED, InstanceStatus.COMPLETED)
    found = children_of(house, started)
    assert len(found) == CHILDREN
    for child in found:
        assert child.status in (InstanceStatus.CANCELED, InstanceStatus.COMPLETED)
    completed = sum(not isinstance(answer, WorkflowError) for answer in answers[1:])
    assert sum(child.status is InstanceStatus.COMPLETED for child in found) == completed
    if instance.status is InstanceStatus.CANCELED:
        assert house.nodes(started)[1].status is NodeStatus.CANCELED
    assert house.tasks("u1") == []
    assert rows(house) == []


def test_twenty_children_that_complete_at_once_join_once(house: Installation) -> None:
    house.publish(
        flow(
            "joined",
            [
                START,
                node("split", "Parallel"),
                node("each", "ForEach", {
                    "DefinitionName": "asking", "ItemsExpression": "numbers", "Parallel": True, "ResultVariable": "r",
                }),
                node("other", "SubWorkflow", {"DefinitionName": "asking", "Variables": {"item": "other"}}),
                node("join", "Join"),
                END,
            ],
            [
                edge("start", "split"),
                edge("split", "each"),
                edge("split", "other"),
                edge("each", "join"),
                edge("other", "join"),
                edge("join", "end"),
            ],
        )
    )  # fmt: skip
    started = house.start("joined", {"numbers": list(range(CHILDREN - 1))}).id
    tasks = [one.id for one in house.tasks("u1")]
    assert len(tasks) == CHILDREN
    answers = at_once([completing(house, task) for task in tasks])
    assert [answer for answer in answers if isinstance(answer, WorkflowError)] == []
    settle(house)
    instance = house.instance(started)
    assert instance.status is InstanceStatus.COMPLETED
    assert [one["item"] for one in instance.variables["r"]] == list(range(CHILDREN - 1))
    assert sorted(house.path(started)) == ["each", "end", "join", "other", "split", "start"]
    assert rows(house) == []


def test_two_failures_at_once_fault_the_parent_once(house: Installation) -> None:
    started = twenty(house)
    found = children_of(house, started)
    cancels: list[Callable[[], object]] = [
        lambda child=child: house.services.instances.cancel(ADMIN, child.id)  # type: ignore[misc]  # bound now
        for child in found[:8]
    ]
    at_once(cancels)
    settle(house)
    instance = house.instance(started)
    assert instance.status is InstanceStatus.FAULTED
    assert len([event for event in house.publisher.events if event.topic == "workflow.instance.faulted"]) == 1
    assert {child.status for child in children_of(house, started)} == {InstanceStatus.CANCELED}
    assert house.tasks("u1") == []


def test_retries_of_parent_and_child_at_once_run_the_child_once(house: Installation) -> None:
    attempts, ask = node("try", "TestFlaky", {"SucceedOnAttempt": 2}), node("ask", "UserTask", {"Assignees": ["u1"]})
    house.publish(flow("flaky", [START, attempts, ask, END]))
    house.publish(parent(DefinitionName="flaky"))
    for _ in range(5):
        started = house.start("parent").id
        child = child_of(house, started)
        answers = at_once(
            [
                lambda: house.services.instances.retry(ADMIN, started),  # noqa: B023  # called in this round
                lambda: house.services.instances.retry(ADMIN, child.id),  # noqa: B023  # called in this round
            ]
        )
        for answer in answers:
            assert not isinstance(answer, WorkflowError) or isinstance(answer, Conflict), answer
        settle(house)
        assert house.instance(child.id).status is InstanceStatus.RUNNING
        assert [one.try_count for one in house.nodes(child.id)] == [1, 2, 1]
        assert house.instance(started).status is InstanceStatus.RUNNING
        house.decide("u1", "approved")
        settle(house)
        assert house.instance(started).status is InstanceStatus.COMPLETED
        assert len(children_of(house, started)) == 1


def test_a_follow_up_holds_one_lease_at_a_time(house: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[str] = []
    most: list[int] = []
    leases = house.store_set.leases
    hold = type(leases).hold

    def counted(self: object, name: str) -> object:
        return _Counted(hold(leases, name), name, held, most)

    monkeypatch.setattr(type(leases), "hold", counted)
    started = twenty(house)
    for task in house.tasks("u1")[:3]:
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    house.services.instances.cancel(ADMIN, started)
    assert max(most) == 1
    assert len(most) > CHILDREN


class _Counted:
    """A lease that counts how many are held beside it."""

    def __init__(self, lease: object, name: str, held: list[str], most: list[int]) -> None:
        self._lease, self._name, self._held, self._most = lease, name, held, most

    def __enter__(self) -> None:
        self._lease.__enter__()  # type: ignore[attr-defined]  # a context manager
        self._held.append(self._name)
        self._most.append(sum(name.startswith("instance:") for name in self._held))

    def __exit__(self, *error: object) -> object:
        self._held.remove(self._name)
        return self._lease.__exit__(*error)  # type: ignore[attr-defined]  # a context manager
