"""Batches over the stores: small steps, one command an item, nothing lost and nothing twice (spec 11, 8.10)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.services.stores_that_fail import FailingStores, busy
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.accounts.permissions import OPERATOR
from webapp.engine.errors import CONFLICT_INSTANCE, NOTFOUND_INSTANCE, Conflict, Denied, InputInvalid, NotFound
from webapp.engine.instances.batches import Batch, BatchItemStatus, BatchStatus
from webapp.engine.instances.model import InstanceStatus
from webapp.services import batches as module
from webapp.services.commands import lease_name
from webapp.services.queries import InstanceQuery

WAITING = flow("waiting", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END], owners=["olga"])
FAILING = flow("failing", [START, node("flaky", "TestFlaky", {"SucceedOnAttempt": 2}), END])
BOSS = actor("boss", OPERATOR)


def started(house: Installation, count: int, name: str = "waiting") -> list[str]:
    return [house.start(name).id for _ in range(count)]


def run(house: Installation, batch: Batch) -> Batch:
    for _ in range(20):
        house.services.batches.run_due()
        found = house.services.batches.get(BOSS, batch.id)
        if found.status is not BatchStatus.RUNNING:
            return found
    raise AssertionError("the batch does not end")


def statuses(house: Installation, ids: list[str]) -> set[InstanceStatus]:
    return {house.instance(one).status for one in ids}


def test_every_instance_has_its_own_command(house: Installation) -> None:
    house.publish(WAITING)
    ids = started(house, 5)
    batch = house.services.batches.create(BOSS, "suspend", instance_ids=ids, reason="Audit")
    assert (batch.status, batch.total, batch.done) == (BatchStatus.RUNNING, 5, 0)
    assert statuses(house, ids) == {InstanceStatus.RUNNING}
    done = run(house, batch)
    assert (done.status, done.done, done.failed) == (BatchStatus.COMPLETED, 5, 0)
    assert done.ended_at == house.store_set.clock.now()
    for one in ids:
        instance = house.instance(one)
        assert (instance.status, instance.suspended_by, instance.suspension_reason) == (
            InstanceStatus.SUSPENDED,
            "boss",
            "Audit",
        )
        last = house.services.instances.history(ADMIN, one).items[-1]
        assert (last.action, last.actor_id, last.reason) == ("suspend", "boss", "Audit")
    items = house.services.batches.items(BOSS, batch.id)
    assert [item.instance_id for item in items.items] == sorted(ids)
    assert {item.status for item in items.items} == {BatchItemStatus.DONE}


def test_a_batch_whose_answer_was_lost_is_made_once(stores: StoreSet) -> None:
    failing = FailingStores(stores.stores)
    house = install(replace(stores, stores=failing))
    house.publish(WAITING)
    ids = started(house, 2)
    failing.after = [busy()]
    batch = house.services.batches.create(BOSS, "suspend", instance_ids=ids)
    assert [one.id for one in house.services.batches.query(BOSS).items] == [batch.id]
    assert run(house, batch).done == 2


def test_a_turn_whose_answer_was_lost_is_no_conflict(stores: StoreSet) -> None:
    failing = FailingStores(stores.stores)
    house = install(replace(stores, stores=failing))
    house.publish(WAITING)
    batch = house.services.batches.create(BOSS, "suspend", instance_ids=started(house, 2))
    for turn, status in (
        ("pause", BatchStatus.PAUSED),
        ("resume", BatchStatus.RUNNING),
        ("cancel", BatchStatus.CANCELED),
    ):
        failing.after = [busy()]
        assert getattr(house.services.batches, turn)(BOSS, batch.id).status is status
    failing.after = []
    with pytest.raises(Conflict):
        house.services.batches.cancel(BOSS, batch.id)


def test_each_failure_is_told_and_stops_nothing(house: Installation) -> None:
    house.publish(WAITING)
    ids = started(house, 3)
    house.services.operations.suspend(BOSS, ids[1])
    batch = run(house, house.services.batches.create(BOSS, "suspend", instance_ids=[*ids, "nothing"]))
    assert (batch.status, batch.done, batch.failed) == (BatchStatus.COMPLETED, 2, 2)
    failed = house.services.batches.items(BOSS, batch.id, BatchItemStatus.FAILED)
    assert failed.total == 2
    codes = {item.instance_id: item.problem["code"] for item in failed.items if item.problem is not None}
    assert codes == {ids[1]: CONFLICT_INSTANCE, "nothing": NOTFOUND_INSTANCE}


def test_a_query_is_resolved_when_the_batch_is_made(house: Installation) -> None:
    house.publish(WAITING)
    house.publish(FAILING)
    ids = started(house, 3)
    failed = started(house, 2, "failing")
    query = InstanceQuery(statuses=(InstanceStatus.FAULTED,), definition_name="failing")
    batch = house.services.batches.create(BOSS, "retry", query=query)
    started(house, 1, "failing")
    assert run(house, batch).done == 2
    assert statuses(house, failed) == {InstanceStatus.COMPLETED}
    assert statuses(house, ids) == {InstanceStatus.RUNNING}


@pytest.mark.parametrize(
    ("action", "status"), [("cancel", InstanceStatus.CANCELED), ("terminate", InstanceStatus.TERMINATED)]
)
def test_cancel_and_terminate(house: Installation, action: str, status: InstanceStatus) -> None:
    house.publish(WAITING)
    ids = started(house, 2)
    house.services.instances.cancel(BOSS, ids[0]) if action == "cancel" else None
    assert run(house, house.services.batches.create(BOSS, action, instance_ids=ids)).done == 2
    assert statuses(house, ids) == {status}


def test_migrate_and_resume(house: Installation) -> None:
    house.publish(WAITING)
    ids = started(house, 2)
    house.publish(flow("waiting", [START, node("only", "UserTask", {"Assignees": ["u1"]}), END]))
    service = house.services.batches
    run(house, service.create(BOSS, "suspend", instance_ids=ids))
    parameters = {"version": 2, "nodeMapping": {"ask": "only"}}
    assert run(house, service.create(BOSS, "migrate", instance_ids=ids, parameters=parameters)).done == 2
    assert run(house, service.create(BOSS, "migrate", instance_ids=ids, parameters=parameters)).failed == 2
    assert run(house, service.create(BOSS, "resume", instance_ids=ids)).done == 2
    assert {house.instance(one).definition_version for one in ids} == {2}
    assert statuses(house, ids) == {InstanceStatus.RUNNING}


def test_pause_resume_cancel(house: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEP", 2)
    monkeypatch.setattr(module, "STEPS", 1)
    house.publish(WAITING)
    ids, service = sorted(started(house, 6)), house.services.batches
    batch = service.create(BOSS, "suspend", instance_ids=ids)
    assert service.run_due() == 2
    assert service.pause(BOSS, batch.id).status is BatchStatus.PAUSED
    assert service.run_due() == 0
    with pytest.raises(Conflict):
        service.pause(BOSS, batch.id)
    assert service.resume(BOSS, batch.id).status is BatchStatus.RUNNING
    assert service.run_due() == 2
    ended = service.cancel(BOSS, batch.id)
    assert (ended.status, ended.done, ended.ended_at) == (BatchStatus.CANCELED, 4, house.store_set.clock.now())
    assert service.run_due() == 0
    assert statuses(house, ids[:4]) == {InstanceStatus.SUSPENDED}
    assert statuses(house, ids[4:]) == {InstanceStatus.RUNNING}
    for turn in (service.resume, service.pause, service.cancel):
        with pytest.raises(Conflict):
            turn(BOSS, batch.id)


def test_a_busy_instance_is_left_for_a_later_step_and_never_waited_for(house: Installation) -> None:
    house.publish(WAITING)
    ids = started(house, 3)
    batch = house.services.batches.create(BOSS, "suspend", instance_ids=ids)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with house.store_set.leases.hold(lease_name(ids[1])):
            held.set()
            done.wait(30)

    elsewhere = threading.Thread(target=hold)
    elsewhere.start()
    held.wait(30)
    try:
        assert house.services.batches.run_due() == 2
        assert house.services.batches.get(BOSS, batch.id).status is BatchStatus.RUNNING
    finally:
        done.set()
        elsewhere.join()
    assert run(house, batch).done == 3


def test_an_item_and_its_command_are_stored_together(
    house: Installation, monkeypatch: pytest.MonkeyPatch, stores: StoreSet
) -> None:
    house.publish(WAITING)
    ids = started(house, 3)
    batch = house.services.batches.create(BOSS, "suspend", instance_ids=ids)
    service = house.services.batches
    attempt: Callable[..., object] = service._commands.attempt
    calls = []

    def dies(*arguments: object, **named: object) -> object:
        attempt(*arguments, **named)
        calls.append(arguments[1])
        raise KeyboardInterrupt("the process dies after the commit")

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(service._commands, "attempt", dies)
        service.run_due()
    assert calls == sorted(ids)[:1]
    again = install(stores)
    found = run(again, batch)
    assert (found.done, found.failed) == (3, 0)
    for one in ids:
        actions = [entry.action for entry in again.services.instances.history(ADMIN, one).items]
        assert actions == ["start", "suspend"]


def test_what_fails_in_an_unforeseen_way_does_not_hold_up_the_others(
    house: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.publish(WAITING)
    ids = sorted(started(house, 3))
    batch = house.services.batches.create(BOSS, "suspend", instance_ids=ids)
    attempt: Callable[..., object] = house.services.batches._commands.attempt

    def breaks(*arguments: object, **named: object) -> object:
        if arguments[1] == ids[0]:
            raise ZeroDivisionError("broken")
        return attempt(*arguments, **named)

    monkeypatch.setattr(house.services.batches._commands, "attempt", breaks)
    done = run(house, batch)
    assert (done.status, done.done, done.failed) == (BatchStatus.COMPLETED, 2, 1)
    (failed,) = house.services.batches.items(BOSS, batch.id, BatchItemStatus.FAILED).items
    assert failed.instance_id == ids[0]
    assert failed.problem is not None
    assert (failed.problem["code"], failed.problem["key"]) == (
        "WORKFLOW_UNEXPECTED_001",
        "workflow.activity.exception",
    )


def test_what_is_no_batch(house: Installation) -> None:
    house.publish(WAITING)
    (one,) = started(house, 1)
    create = house.services.batches.create
    mapping = {"version": 1, "nodeMapping": {"a": 1}}
    wrong: list[tuple[str, dict[str, object], str]] = [
        ("explode", {"instance_ids": [one]}, "action"),
        ("suspend", {}, "ids"),
        ("suspend", {"instance_ids": [one], "query": InstanceQuery()}, "ids"),
        ("suspend", {"instance_ids": []}, "ids"),
        ("suspend", {"query": InstanceQuery(definition_name="nothing")}, "query"),
        ("suspend", {"instance_ids": [one], "parameters": {"version": 1}}, "parameters.version"),
        ("suspend", {"instance_ids": [one], "parameters": {"cascade": 1}}, "parameters.cascade"),
        ("migrate", {"instance_ids": [one]}, "parameters.version"),
        ("migrate", {"instance_ids": [one], "parameters": mapping}, "parameters.nodeMapping"),
    ]
    for action, more, path in wrong:
        with pytest.raises(InputInvalid) as refused:
            create(BOSS, action, **more)  # type: ignore[arg-type]  # each case misuses one argument
        assert [problem.path for problem in refused.value.problems] == [path]


def test_owners_make_batches_of_their_own_and_see_only_theirs(house: Installation) -> None:
    house.publish(WAITING)
    house.publish(FAILING)
    own, other = started(house, 2), started(house, 1, "failing")
    olga, service = actor("olga"), house.services.batches
    batch = service.create(olga, "suspend", instance_ids=own)
    for ids in ([*own, *other], ["nothing"]):
        with pytest.raises(Denied):
            service.create(olga, "suspend", instance_ids=ids)
    with pytest.raises(Denied):
        service.query(olga)
    assert service.get(olga, batch.id) == batch
    with pytest.raises(NotFound):
        service.get(actor("somebody"), batch.id)
    assert [one.id for one in service.query(BOSS).items] == [batch.id]
    with pytest.raises(NotFound):
        service.get(actor("boss", OPERATOR, partition="other"), batch.id)
