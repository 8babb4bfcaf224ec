"""Many threads on one instance: one winner each, the others are told so, and nothing is lost (D36)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.engine import ADMIN, Installation, actor
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.errors import Conflict, WorkflowError
from webapp.engine.instances.model import InstanceStatus
from webapp.services.operation_views import Jump

FORK = flow(
    "fork",
    [
        START,
        node("split", "Parallel"),
        node("a", "UserTask", {"Assignees": ["anna"]}),
        node("b", "UserTask", {"Assignees": ["bert"]}),
        node("join", "Join"),
        node("last", "UserTask", {"Assignees": ["lars"]}),
        END,
    ],
    [
        edge("start", "split"), edge("split", "a"), edge("split", "b"), edge("a", "join"), edge("b", "join"),
        edge("join", "last"), edge("last", "end"),
    ],
)  # fmt: skip


def together(acts: list[Callable[[], object]]) -> list[WorkflowError | None]:
    """Run all at once; return for each what it was refused with, or None."""
    gate = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> WorkflowError | None:
        gate.wait(30)
        try:
            act()
        except WorkflowError as refused:
            return refused
        return None

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


@pytest.mark.parametrize("count", [2, 12])
def test_one_suspends_and_the_others_learn_that_it_does_not_run(house: Installation, count: int) -> None:
    house.publish(FORK)
    instance = house.start("fork")
    found = together([lambda: house.services.operations.suspend(ADMIN, instance.id)] * count)
    assert found.count(None) == 1
    assert all(isinstance(refused, Conflict) for refused in found if refused is not None)
    actions = [entry.action for entry in house.services.instances.history(ADMIN, instance.id).items]
    assert actions == ["start", "suspend"]


@pytest.mark.parametrize("repetition", range(3))
def test_decisions_jumps_and_a_suspension_at_once_leave_one_whole_state(house: Installation, repetition: int) -> None:
    house.publish(FORK)
    services, instance = house.services, house.start("fork")
    first, second = house.task("anna"), house.task("bert")
    acts: list[Callable[[], object]] = [
        lambda: services.inbox.complete(actor("anna"), first.id, "approved"),
        lambda: services.inbox.complete(actor("bert"), second.id, "approved"),
        lambda: services.operations.jump(ADMIN, instance.id, Jump(to_node_id="last")),
        lambda: services.operations.jump(ADMIN, instance.id, Jump(to_node_id="a", from_node_id="a")),
        lambda: services.operations.suspend(ADMIN, instance.id),
        lambda: services.operations.resume(ADMIN, instance.id),
        lambda: services.instances.retry(ADMIN, instance.id),
    ]
    refusals = together(acts)
    assert all(refused is None or refused.code.startswith("WORKFLOW_") for refused in refusals)
    stored = house.instance(instance.id)
    assert stored.status in (InstanceStatus.RUNNING, InstanceStatus.SUSPENDED)
    assert stored.revision == 1 + refusals.count(None)
    if stored.status is InstanceStatus.SUSPENDED:
        services.operations.resume(ADMIN, instance.id)
    for who in ("anna", "bert", "lars"):
        for task in house.tasks(who):
            services.inbox.complete(actor(who), task.id, "approved")
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    assert house.path(instance.id).count("end") == 1
    assert house.path(instance.id).count("join") <= 1
    assert house.publisher.topics().count("workflow.instance.completed") == 1


def test_ten_cancel_and_complete_at_once(house: Installation) -> None:
    house.publish(FORK)
    instance = house.start("fork")
    task = house.task("anna")
    acts: list[Callable[[], object]] = [lambda: house.services.instances.cancel(ADMIN, instance.id)] * 5
    acts += [lambda: house.services.inbox.complete(actor("anna"), task.id, "approved")] * 5
    together(acts)
    assert house.instance(instance.id).status is InstanceStatus.CANCELED
    assert house.bookmarks(instance.id) == []
    assert house.publisher.topics().count("workflow.instance.canceled") == 1
    assert house.publisher.topics().count("workflow.task.completed") <= 1
