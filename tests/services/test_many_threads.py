"""2, 10 and 50 threads at once on one task, one Join, one correlation id: one winner, nothing lost, no vain wait.

Whoever loses is told so by a conflict, never by a failure; and the longest call takes no longer than the work of all
that were queued before it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier
from typing import TypeVar

import pytest

from tests.support.engine import ADMIN, Installation, actor
from tests.support.flows import END, START, edge, flow, node
from tests.support.stores import on_databases
from webapp.engine.errors import (
    CONFLICT_BOOKMARK,
    CONFLICT_CORRELATION,
    Conflict,
    Denied,
    InputInvalid,
    WorkflowError,
)
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.runtime.migration import Migration

T = TypeVar("T")

THREADS = pytest.mark.parametrize("threads", [2, 10, 50])
APPROVAL = flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END])
SHARE = 5
"""How much slower than alone a piece of work may be among others, on a machine that has other things to do."""
PAUSES = 5.0
"""Seconds for starting threads and for the pauses of those who wait for a lease."""


def fork(branches: int) -> dict[str, object]:
    """Return a flow of so many tasks side by side, of u0, u1 …, that a Join and then one more step gather."""
    names = [f"b{number}" for number in range(branches)]
    tasks = [node(name, "UserTask", {"Assignees": [f"u{number}"]}) for number, name in enumerate(names)]
    return flow(
        "fork",
        [START, node("split", "Parallel"), *tasks, node("join", "Join"), node("after", "SetVariable"), END],
        [
            edge("start", "split"), *(edge("split", name) for name in names), *(edge(name, "join") for name in names),
            edge("join", "after"), edge("after", "end"),
        ],
    )  # fmt: skip


def at_once(calls: list[Callable[[], T]]) -> tuple[list[T | WorkflowError], float]:
    """Run the calls together; return what each answered or was refused with, and how long the longest took."""
    together = Barrier(len(calls))

    def run(call: Callable[[], T]) -> tuple[T | WorkflowError, float]:
        together.wait(30)
        begun = time.monotonic()
        try:
            answer: T | WorkflowError = call()
        except WorkflowError as refused:
            answer = refused
        return answer, time.monotonic() - begun

    with ThreadPoolExecutor(len(calls)) as pool:
        found = list(pool.map(run, calls))
    return [answer for answer, _ in found], max(seconds for _, seconds in found)


def alone(call: Callable[[], object]) -> float:
    """Return how long a call takes when nobody else is there."""
    begun = time.monotonic()
    call()
    return time.monotonic() - begun


@on_databases
@THREADS
def test_on_one_task_one_wins(house: Installation, threads: int) -> None:
    house.publish(APPROVAL)
    house.start("approval")
    each = alone(lambda: house.decide("u1", "approved"))
    instance = house.start("approval")
    task = house.task("u1")
    decide = house.services.inbox.complete
    answers, longest = at_once(
        [lambda number=number: decide(actor("u1"), task.id, f"label {number}") for number in range(threads)]  # type: ignore[misc]  # mypy cannot type a default of a lambda
    )
    refused = [answer for answer in answers if isinstance(answer, WorkflowError)]
    assert len(refused) == threads - 1
    assert {(type(one), one.code) for one in refused} <= {(Conflict, CONFLICT_BOOKMARK)}
    after = house.instance(instance.id)
    assert after.status is InstanceStatus.COMPLETED
    (winner,) = [number for number, answer in enumerate(answers) if not isinstance(answer, WorkflowError)]
    assert after.variables["outcome"] == f"label {winner}"
    assert house.path(instance.id) == ["start", "ask", "end"]
    assert longest < SHARE * threads * each + PAUSES


@on_databases
@THREADS
def test_one_join_that_all_branches_reach_at_once_fires_once(house: Installation, threads: int) -> None:
    house.publish(fork(threads))
    instance = house.start("fork")
    tasks = [house.task(f"u{number}").id for number in range(threads)]
    house.publish(APPROVAL)
    house.start("approval", by=ADMIN, title="to compare with")
    mine = next(one for one in house.tasks("u1") if one.id not in tasks)
    each = alone(lambda: house.services.inbox.complete(actor("u1"), mine.id, "approved"))
    complete = house.services.inbox.complete
    answers, longest = at_once(
        [lambda number=number: complete(actor(f"u{number}"), tasks[number], "approved") for number in range(threads)]  # type: ignore[misc]  # mypy cannot type a default of a lambda
    )
    assert [answer for answer in answers if isinstance(answer, WorkflowError)] == []
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    runs = Counter(house.path(instance.id))
    assert (runs["join"], runs["after"], runs["end"]) == (1, 1, 1)
    assert sum(runs.values()) == threads + 5
    (join,) = [one for one in house.nodes(instance.id) if one.node_id == "join"]
    assert len(join.caused_by) == threads
    topics = house.publisher.topics()
    assert topics.count("workflow.instance.completed") == 2
    assert longest < SHARE * threads * each + PAUSES


@on_databases
@THREADS
@pytest.mark.parametrize("policy", ["UseExisting", "RejectDuplicate"])
def test_one_correlation_id_is_one_instance(house: Installation, threads: int, policy: str) -> None:
    house.publish(APPROVAL)

    def start(correlation_id: str) -> str:
        found = house.services.instances.start(
            ADMIN, name="approval", correlation_id=correlation_id, reuse_policy=policy
        )
        return found.instance.id

    each = alone(lambda: start("other"))
    answers, longest = at_once([lambda: start("o-1")] * threads)
    started = [answer for answer in answers if not isinstance(answer, WorkflowError)]
    refused = [answer for answer in answers if isinstance(answer, WorkflowError)]
    assert len(set(started)) == 1
    if policy == "UseExisting":
        assert refused == []
    else:
        assert len(started) == 1
        assert {one.code for one in refused} <= {CONFLICT_CORRELATION}
    assert len(house.tasks("u1")) == 2
    assert longest < SHARE * threads * each + PAUSES


def review(*after: str) -> dict[str, object]:
    """Return a flow of two tasks side by side and one behind them, with more steps *after* their Join."""
    people = {"draft": "dora", "a": "anna", "b": "bert", "last": "lars"}
    tasks = [node(name, "UserTask", {"Assignees": [who]}) for name, who in people.items()]
    steps = [node(name, "SetVariable") for name in after]
    ends = ["join", *after, "last", "end"]
    return flow(
        "review",
        [START, *tasks, node("split", "Parallel"), node("join", "Join"), *steps, END],
        [
            edge("start", "draft"), edge("draft", "split"), edge("split", "a"), edge("split", "b"), edge("a", "join"),
            edge("b", "join"), *(edge(source, target) for source, target in pairwise(ends)),
        ],
    )  # fmt: skip


@on_databases
@THREADS
def test_decisions_returns_and_migrations_at_once_leave_one_whole_state(house: Installation, threads: int) -> None:
    house.publish(review())
    instance = house.start("review")
    house.publish(review("stamp"))
    house.decide("dora", "approved")
    services, tasks = house.services, {who: house.task(who).id for who in ("anna", "bert")}
    kinds: list[Callable[[], object]] = [
        lambda: services.returns.return_task(actor("anna"), tasks["anna"], comment="Once more"),
        lambda: services.operations.migrate(ADMIN, instance.id, 2, Migration()),
        lambda: services.inbox.complete(actor("bert"), tasks["bert"], "approved"),
        lambda: services.operations.migrate(ADMIN, instance.id, 1, Migration()),
        lambda: services.inbox.complete(actor("anna"), tasks["anna"], "approved"),
    ]
    answers, _ = at_once([kinds[number % len(kinds)] for number in range(threads)])
    refused = [answer for answer in answers if isinstance(answer, WorkflowError)]
    assert all(isinstance(one, Conflict | Denied | InputInvalid) for one in refused), refused
    won = [number % len(kinds) for number, answer in enumerate(answers) if not isinstance(answer, WorkflowError)]
    assert won.count(0) + won.count(4) <= 1, "who decides a task and who returns it cannot both win"
    assert won.count(2) <= 1
    stored = house.instance(instance.id)
    assert stored.status is InstanceStatus.RUNNING
    assert stored.revision == 2 + len(won), "each that was not refused is in, and nothing else"
    for _ in range(6):
        for who in ("dora", "anna", "bert", "lars"):
            for task in house.tasks(who):
                services.inbox.complete(actor(who), task.id, "approved")
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    runs = Counter(house.path(instance.id))
    assert (runs["join"], runs["last"], runs["end"]) == (1, 1, 1)
    assert house.bookmarks(instance.id) == []
    assert house.publisher.topics().count("workflow.instance.completed") == 1
