"""External tasks: fetch, complete, fail, extend (spec 6.7, 7)."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any

import pytest

from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, edge, flow, node
from tests.support.stores import StoreSet
from webapp.accounts.model import Actor
from webapp.accounts.permissions import OPERATOR, WORKER
from webapp.engine.errors import (
    CONFLICT_BOOKMARK,
    DENIED_PERMISSION,
    DENIED_WORKER,
    NOTFOUND_BOOKMARK,
    Conflict,
    Denied,
    InputInvalid,
    NotFound,
    WorkflowError,
)
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.services import ServiceSettings
from webapp.services.external_tasks import TopicRequest
from webapp.services.views import FetchedTask

WES = actor("wes", WORKER)
PAY = flow("pay", [START, node("pay", "ExternalTask", {"Topic": "pay", "VariableExpressions": {"n": "n"}}), END])


def fetch(
    house: Installation,
    *topics: str,
    worker: str = "w1",
    limit: int = 10,
    seconds: int = 60,
    wait: int = 0,
    by: Actor = WES,
) -> list[FetchedTask]:
    asked = [TopicRequest(topic=topic, lock_seconds=seconds) for topic in topics or ("pay",)]
    return house.services.external_tasks.fetch_and_lock(by, worker, asked, limit, wait).items


def held(house: Installation, **more: Any) -> tuple[WorkflowInstance, FetchedTask]:
    """Start one instance and fetch its task."""
    house.publish(flow("pay", [START, node("pay", "ExternalTask", {"Topic": "pay", **more}), END]))
    instance = house.start("pay")
    (task,) = fetch(house)
    return instance, task


def test_a_fetched_task_tells_all_that_a_worker_needs(house: Installation) -> None:
    house.publish(PAY)
    instance = house.start("pay", {"n": 7}, correlation_id="C")
    (task,) = fetch(house)
    assert task == FetchedTask(
        id=task.id,
        topic="pay",
        worker_id="w1",
        variables={"n": 7},
        instance_id=instance.id,
        definition_name="pay",
        correlation_id="C",
        retries=3,
        locked_until=house.store_set.clock.now() + timedelta(seconds=60),
    )
    assert fetch(house) == []
    assert house.instance(instance.id).revision == instance.revision


def test_a_completed_task_moves_the_flow_on(house: Installation) -> None:
    instance, task = held(house)
    result = house.services.external_tasks.complete(WES, task.id, "w1", variables={"paid": True}, outcome="ok")
    assert (result.id, result.instance_id, result.status) == (task.id, instance.id, "ended")
    assert result.instance_status is InstanceStatus.COMPLETED
    assert house.instance(instance.id).variables == {"paid": True, "outcome": "ok"}
    (entry,) = [one for one in house.services.instances.history(ADMIN, instance.id).items if one.action == "work"]
    assert (entry.actor_id, entry.task_id, entry.outcome) == ("wes", task.id, "ok")


def test_only_who_holds_the_lock_may_act(house: Installation) -> None:
    _, task = held(house)
    service = house.services.external_tasks
    calls = (
        lambda worker: service.complete(WES, task.id, worker),
        lambda worker: service.fail(WES, task.id, worker, "broken"),
        lambda worker: service.extend(WES, task.id, worker, 60),
    )
    for call in calls:
        with pytest.raises(Denied) as refused:
            call("w2")
        assert refused.value.code == DENIED_WORKER
    house.store_set.clock.advance(60)
    for call in calls:
        with pytest.raises(Denied) as refused:
            call("w1")
        assert refused.value.code == DENIED_WORKER
    # The lock has run out by itself: nobody had to free it.
    (again,) = fetch(house, worker="w2")
    assert (again.id, again.worker_id) == (task.id, "w2")
    service.complete(WES, task.id, "w2")


def test_a_lock_is_extended_from_now_on_without_a_revision(house: Installation) -> None:
    instance, task = held(house)
    house.store_set.clock.advance(50)
    result = house.services.external_tasks.extend(WES, task.id, "w1", 30)
    assert (result.status, result.retries) == ("open", 3)
    assert result.locked_until == house.store_set.clock.now() + timedelta(seconds=30)
    assert house.instance(instance.id).revision == instance.revision
    house.store_set.clock.advance(29)
    assert fetch(house, worker="w2") == []
    house.services.external_tasks.extend(WES, task.id, "w1", 1)
    house.store_set.clock.advance(1)
    assert [one.worker_id for one in fetch(house, worker="w2")] == ["w2"]


def test_a_failed_attempt_gives_the_task_back_after_its_delay(house: Installation) -> None:
    instance, task = held(house)
    result = house.services.external_tasks.fail(WES, task.id, "w1", "no answer", "trace", retry_delay_seconds=20)
    assert (result.status, result.retries, result.locked_until) == ("open", 2, None)
    assert fetch(house) == []
    house.store_set.clock.advance(20)
    (again,) = fetch(house)
    assert (again.id, again.retries) == (task.id, 2)
    (bookmark,) = house.bookmarks(instance.id, BookmarkKind.EXTERNAL_TASK)
    assert bookmark.payload["error"] == {"error": "no answer", "details": "trace"}
    assert house.instance(instance.id).status is InstanceStatus.RUNNING


def test_the_last_failed_attempt_fails_the_node(house: Installation) -> None:
    instance, task = held(house, Retries=2)
    service = house.services.external_tasks
    service.fail(WES, task.id, "w1", "first")
    fetch(house)
    result = service.fail(WES, task.id, "w1", "second", "why")
    assert (result.status, result.retries, result.instance_status) == ("ended", 0, InstanceStatus.FAULTED)
    fault = house.instance(instance.id).fault
    assert fault is not None
    assert (fault.key, fault.args) == ("workflow.external.failed", {"text": "second", "details": "why"})


@pytest.mark.parametrize("retries", [0, -1])
def test_a_worker_may_give_up_at_once(house: Installation, retries: int) -> None:
    instance, task = held(house)
    house.services.external_tasks.fail(WES, task.id, "w1", "hopeless", retries=retries)
    assert house.instance(instance.id).status is InstanceStatus.FAULTED


def test_a_worker_may_say_how_many_attempts_are_left(house: Installation) -> None:
    _, task = held(house)
    house.services.external_tasks.fail(WES, task.id, "w1", "later", retries=9)
    assert [one.retries for one in fetch(house)] == [9]


def test_a_failure_goes_through_retry_policy_and_continue_on_error(house: Installation) -> None:
    policy = {"maxAttempts": 2, "firstDelaySeconds": 10, "backoffFactor": 2}
    work = node("work", "ExternalTask", {"Topic": "pay", "Retries": 1}, retry_policy=policy, continue_on_error=True)
    house.publish(
        flow(
            "pay",
            [START, work, node("by-hand", "UserTask", {"Assignees": ["u1"]}), END],
            [
                edge("start", "work"),
                edge("work", "by-hand", "outcome == 'error'"),
                edge("work", "end", is_default=True),
                edge("by-hand", "end"),
            ],
        )
    )
    instance = house.start("pay")
    (task,) = fetch(house)
    house.services.external_tasks.fail(WES, task.id, "w1", "once")
    assert fetch(house) == []
    house.elapse(10)
    (again,) = fetch(house)
    assert again.id != task.id
    house.services.external_tasks.fail(WES, again.id, "w1", "twice")
    assert house.path(instance.id) == ["start", "work", "by-hand"]
    last_error = house.instance(instance.id).variables["lastError"]
    assert (last_error["key"], last_error["args"]["text"]) == ("workflow.external.failed", "twice")


def test_a_task_that_is_over_is_a_conflict_while_its_instance_is_kept(house: Installation) -> None:
    _, task = held(house)
    service = house.services.external_tasks
    service.complete(WES, task.id, "w1")
    for call in (
        lambda: service.complete(WES, task.id, "w1"),
        lambda: service.fail(WES, task.id, "w1", "late"),
        lambda: service.extend(WES, task.id, "w1", 5),
    ):
        with pytest.raises(Conflict) as refused:
            call()
        assert (refused.value.code, refused.value.details) == (CONFLICT_BOOKMARK, {"status": "Completed"})


@pytest.mark.parametrize("task_id", ["never", "never.3", "", "0.0", "x.1e9"])
def test_a_task_that_never_was_is_not_found(house: Installation, task_id: str) -> None:
    with pytest.raises(NotFound) as refused:
        house.services.external_tasks.complete(WES, task_id, "w1")
    assert refused.value.code == NOTFOUND_BOOKMARK


def test_a_user_task_is_no_external_task(house: Installation) -> None:
    house.publish(flow("ask", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END]))
    house.start("ask")
    with pytest.raises(NotFound):
        house.services.external_tasks.complete(WES, house.task("u1").id, "w1")


def test_a_canceled_instance_takes_its_tasks_along(house: Installation) -> None:
    instance, task = held(house)
    house.services.instances.cancel(ADMIN, instance.id)
    with pytest.raises(Conflict) as refused:
        house.services.external_tasks.complete(WES, task.id, "w1")
    assert refused.value.details == {"status": "Canceled"}


def test_another_partition_sees_nothing(house: Installation) -> None:
    instance, task = held(house)
    stranger = actor("stranger", WORKER, partition="t1")
    house.store_set.clock.advance(60)
    assert fetch(house, by=stranger) == []
    with pytest.raises(NotFound):
        house.services.external_tasks.complete(stranger, task.id, "w1")
    with pytest.raises(NotFound):
        house.services.external_tasks.complete(stranger, f"{instance.id}.1", "w1")


@pytest.mark.parametrize("who", [actor("emma"), actor("olga", OPERATOR)])
def test_work_needs_its_permission(house: Installation, who: Actor) -> None:
    _, task = held(house)
    for call in (
        lambda: fetch(house, by=who),
        lambda: house.services.external_tasks.complete(who, task.id, "w1"),
        lambda: house.services.external_tasks.fail(who, task.id, "w1", "x"),
        lambda: house.services.external_tasks.extend(who, task.id, "w1", 1),
    ):
        with pytest.raises(Denied) as refused:
            call()
        assert refused.value.code == DENIED_PERMISSION


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"limit": 0}, "maxTasks"),
        ({"limit": 1001}, "maxTasks"),
        ({"seconds": 0}, "topics[0].lockSeconds"),
        ({"seconds": -1}, "topics[0].lockSeconds"),
        ({"worker": " "}, "workerId"),
        ({"worker": "x" * 201}, "workerId"),
        ({"wait": 31}, "waitSeconds"),
        ({"wait": -1}, "waitSeconds"),
    ],
)
def test_what_a_fetch_may_ask_for(house: Installation, given: dict[str, Any], path: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        fetch(house, **given)
    assert [problem.path for problem in refused.value.problems] == [path]


@pytest.mark.parametrize("topics", [(), ("a", "a"), (" ",), tuple(f"t{number}" for number in range(51))])
def test_topics_are_named_once_and_not_too_many(house: Installation, topics: tuple[str, ...]) -> None:
    asked = [TopicRequest(topic=topic, lock_seconds=1) for topic in topics]
    with pytest.raises(InputInvalid):
        house.services.external_tasks.fetch_and_lock(WES, "w1", asked, 1)


@pytest.mark.parametrize("name", ["outcome", "lastError", "__state"])
def test_a_worker_may_not_write_what_is_the_engine_s(house: Installation, name: str) -> None:
    _, task = held(house)
    with pytest.raises(InputInvalid) as refused:
        house.services.external_tasks.complete(WES, task.id, "w1", variables={name: 1})
    assert [problem.path for problem in refused.value.problems] == [f"variables.{name}"]


@pytest.mark.parametrize("threads", [2, 50])
def test_of_many_completions_one_wins_and_the_others_are_conflicts(house: Installation, threads: int) -> None:
    instance, task = held(house)
    answers = _all_at_once(
        threads,
        lambda number: house.services.external_tasks.complete(WES, task.id, "w1", variables={"by": number}),
    )
    won = [number for number, answer in enumerate(answers) if not isinstance(answer, WorkflowError)]
    assert len(won) == 1
    assert {answer.code for answer in answers if isinstance(answer, WorkflowError)} == {CONFLICT_BOOKMARK}
    assert house.instance(instance.id).variables == {"by": won[0]}
    assert house.path(instance.id) == ["start", "pay", "end"]


def test_workers_that_fetch_while_others_complete_lose_nothing(house: Installation) -> None:
    house.publish(PAY)
    instances = [house.start("pay", {"n": number}) for number in range(24)]
    done: list[str] = []

    def work(number: int) -> None:
        misses = 0
        while misses < 3:
            found = fetch(house, worker=f"w{number}", limit=3)
            misses = 0 if found else misses + 1
            for task in found:
                house.services.external_tasks.complete(WES, task.id, f"w{number}", variables={"by": number})
                done.append(task.instance_id)

    assert _all_at_once(6, work) == [None] * 6
    assert sorted(done) == sorted(instance.id for instance in instances)
    assert {house.instance(one.id).status for one in instances} == {InstanceStatus.COMPLETED}


# --- waiting ---------------------------------------------------------------------------------


def test_a_fetch_that_waits_is_woken_by_the_commit_that_brings_a_task(stores: StoreSet) -> None:
    # The interval is longer than the test waits: only the commit can have woken it.
    house = install(stores, settings=ServiceSettings(long_poll_interval_seconds=60))
    house.publish(PAY)
    found: list[FetchedTask] = []
    waiter = threading.Thread(target=lambda: found.extend(fetch(house, wait=30)))
    began = time.monotonic()
    waiter.start()
    _until(lambda: house.services.external_tasks.waiting == 1)
    instance = house.start("pay", {"n": 1})
    waiter.join(20)
    assert [task.instance_id for task in found] == [instance.id]
    assert time.monotonic() - began < 20


def test_a_fetch_that_waits_looks_again_now_and_then(stores: StoreSet) -> None:
    house = install(stores, settings=ServiceSettings(long_poll_interval_seconds=0.05))
    _, task = held(house)
    found: list[FetchedTask] = []
    waiter = threading.Thread(target=lambda: found.extend(fetch(house, worker="w2", wait=30)))
    waiter.start()
    _until(lambda: house.services.external_tasks.waiting == 1)
    # Nothing is committed: the lock just runs out.
    stores.clock.advance(60)
    waiter.join(20)
    assert [one.id for one in found] == [task.id]


def test_a_fetch_that_finds_nothing_in_time_answers_empty(stores: StoreSet) -> None:
    house = install(stores, settings=ServiceSettings(long_poll_interval_seconds=0.05))
    asked = [TopicRequest(topic="pay", lock_seconds=1)]
    began = time.monotonic()
    result = house.services.external_tasks.fetch_and_lock(WES, "w1", asked, 1, 1)
    assert (result.items, result.retry_after) == ([], None)
    assert time.monotonic() - began >= 1


def test_no_more_wait_than_there_are_seats(stores: StoreSet) -> None:
    house = install(stores, settings=ServiceSettings(long_polls=2, long_poll_interval_seconds=60))
    asked = [TopicRequest(topic="pay", lock_seconds=60)]
    waiters = [threading.Thread(target=lambda: fetch(house, wait=30)) for _ in range(2)]
    for waiter in waiters:
        waiter.start()
    _until(lambda: house.services.external_tasks.waiting == 2)
    began = time.monotonic()
    result = house.services.external_tasks.fetch_and_lock(WES, "w1", asked, 1, 30)
    assert (result.items, result.retry_after) == ([], 1)
    assert time.monotonic() - began < 5
    # What needs no waiting is still answered.
    house.publish(PAY)
    house.services.external_tasks.close()
    for waiter in waiters:
        waiter.join(20)
    assert house.services.external_tasks.waiting == 0
    house.start("pay", {"n": 1})
    assert len(fetch(house, wait=30)) == 1


def _until(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def _all_at_once(count: int, call: Any) -> list[Any]:
    answers: list[Any] = [None] * count
    ready = threading.Barrier(count)

    def run(number: int) -> None:
        ready.wait(20)
        try:
            answers[number] = call(number)
        except Exception as error:
            answers[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers
