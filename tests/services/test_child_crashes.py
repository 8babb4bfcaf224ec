"""A process that dies between a commit and its follow-ups loses nothing and does nothing twice (spec 3.22)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.services.subflows import (
    ASKING,
    DOUBLE,
    cancel,
    child_of,
    children_of,
    commands_of,
    crash,
    parent,
    recover,
    rows,
)
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.instances.journal import FollowUp
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.stores import WriteSet
from webapp.engine.runtime.commands import EngineOptions
from webapp.services import ServiceSettings


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    made = install(stores)
    made.publish(DOUBLE)
    made.publish(ASKING)
    return made


def poll(house: Installation) -> None:
    house.services.housekeeping.poll_once()


def one_step(house: Installation) -> None:
    """Run one follow-up as a process that dies right after its commit."""
    now = house.store_set.clock.now()
    with house.store_set.stores.writing(None) as work:
        (claimed,) = work.follow_ups.claim_due(now, 1, "other", now + timedelta(seconds=0))
    house.services.follow_ups.run_claimed(claimed)


def test_a_start_whose_process_dies_is_the_pollers(house: Installation) -> None:
    house.publish(parent(DefinitionName="double", Variables={"item": 1}, ResultVariable="r"))
    crash(house)
    started = house.start("parent").id
    assert children_of(house, started) == []
    assert [one.action for one in rows(house)] == ["startChild"]
    recover(house)
    poll(house)
    assert house.instance(started).variables["r"]["doubled"] == 2
    assert rows(house) == []


def test_a_crash_at_each_commit_ends_as_the_uninterrupted_run(house: Installation) -> None:
    house.publish(
        parent("ForEach", DefinitionName="double", ItemsExpression="numbers", Parallel=True, ResultVariable="results")
    )
    crash(house)
    started = house.start("parent", {"numbers": [1, 2, 3]}).id
    steps = 0
    while rows(house):
        one_step(house)
        steps += 1
        assert steps < 50
    # Three starts and three ends.
    assert steps == 6
    instance = house.instance(started)
    assert instance.status is InstanceStatus.COMPLETED
    assert [one["doubled"] for one in instance.variables["results"]] == [2, 4, 6]
    assert len(children_of(house, started)) == 3


def test_a_child_that_was_committed_is_not_started_twice_when_its_row_is_there_still(
    house: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.publish(parent(DefinitionName="asking", Variables={"item": 1}))
    crash(house)
    started = house.start("parent").id
    (row,) = rows(house)

    def die(owed: FollowUp) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("webapp.services.child_starts.ChildStarts._settle_start", lambda self, owed: die(owed))
    with pytest.raises(KeyboardInterrupt):
        house.services.follow_ups.run_claimed(row)
    child = child_of(house, started)
    assert [one.id for one in rows(house)] == [row.id]
    monkeypatch.undo()
    recover(house)
    poll(house)
    assert child_of(house, started).revision == child.revision
    assert len(house.tasks("u1")) == 1
    assert rows(house) == []


def test_a_cancel_before_the_start_leaves_no_child_behind(house: Installation) -> None:
    house.publish(parent(DefinitionName="asking", Variables={"item": 1}))
    crash(house)
    started = house.start("parent").id
    cancel(house, started)
    recover(house)
    poll(house)
    assert children_of(house, started) == []
    assert rows(house) == []


def test_a_cancel_between_the_childs_commit_and_the_second_look_reaches_it(
    house: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cascade ran before the child was there: the start itself looks again."""
    house.publish(parent(DefinitionName="asking", Variables={"item": 1}))
    commands = commands_of(house)
    start = commands.start

    def late(build: object, **more: object) -> object:
        # Only the child's start leaves its settling to the caller.
        if more.get("settle") is False:
            (running,) = house.services.instances.query(ADMIN).items
            cancel(house, running.id, "too late")
        return start(build, **more)

    monkeypatch.setattr(commands, "start", late)
    started = house.start("parent").id
    child = child_of(house, started)
    assert (child.status, child.cancellation_reason) == (InstanceStatus.CANCELED, "too late")
    assert house.tasks("u1") == []
    assert rows(house) == []


def test_the_end_of_a_child_whose_process_dies_reaches_the_parent(house: Installation) -> None:
    house.publish(parent(DefinitionName="asking", Variables={"item": 1}))
    started = house.start("parent").id
    crash(house)
    house.decide("u1", "approved")
    assert house.instance(started).status is InstanceStatus.RUNNING
    recover(house)
    poll(house)
    assert house.instance(started).status is InstanceStatus.COMPLETED


def test_an_end_told_twice_counts_once(house: Installation) -> None:
    house.publish(parent("ForEach", DefinitionName="asking", ItemsExpression="names", Parallel=True))
    started = house.start("parent", {"names": ["a", "b"]}).id
    first, _ = children_of(house, started)
    task = next(one for one in house.tasks("u1") if one.instance_id == first.id)
    crash(house)
    house.services.inbox.complete(actor("u1"), task.id, "approved")
    (row,) = rows(house)
    house.services.follow_ups.run_claimed(row)
    again = FollowUp(**{name: getattr(row, name) for name in row.__struct_fields__} | {"id": "again"})
    with house.store_set.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, new_follow_ups=[again]))
    revision = house.instance(started).revision
    house.services.follow_ups.run_claimed(again)
    assert house.instance(started).revision == revision
    assert house.instance(started).status is InstanceStatus.RUNNING
    assert rows(house) == []


def test_depth_sixteen_is_legal_and_seventeen_is_refused(house: Installation) -> None:
    """Each version starts the same name once more: the seventeenth child is one too many."""
    house.publish(flow("deep", [START, node("sub", "SubWorkflow", {"DefinitionName": "deep"}), END]))
    top = house.start("deep").id
    for _ in range(3):
        poll(house)
    depths, current = [], top
    while found := children_of(house, current):
        (child,) = found
        depths.append(house.instance(child.id).depth)
        current = child.id
    assert depths == list(range(1, 17))
    fault = house.instance(top).fault
    keys = []
    while fault is not None:
        keys.append(fault.key)
        fault = fault.inner
    # The top and sixteen children, each because of the one below.
    assert keys == ["workflow.child.faulted"] * 17 + ["workflow.child.start_failed", "workflow.depth.exceeded"]
    assert rows(house) == []


def test_depth_zero_disables_sub_workflows(stores: StoreSet) -> None:
    house = install(stores, options=EngineOptions(max_sub_workflow_depth=0))
    house.publish(DOUBLE)
    house.publish(parent(DefinitionName="double", Variables={"item": 1}))
    fault = house.instance(house.start("parent").id).fault
    assert fault is not None
    assert fault.inner is not None
    assert fault.inner.inner is not None
    assert (fault.inner.inner.key, fault.inner.inner.args) == ("workflow.depth.exceeded", {"depth": 1, "max": 0})


def test_what_is_over_the_bound_of_a_call_is_told_to_the_poller(stores: StoreSet) -> None:
    house = install(stores, settings=ServiceSettings(follow_ups_per_call=3))
    house.publish(DOUBLE)
    house.publish(parent("ForEach", DefinitionName="double", ItemsExpression="numbers", Parallel=True))
    woken: list[bool] = []
    house.services.housekeeping.on_due_now(lambda: woken.append(True))
    started = house.start("parent", {"numbers": [1, 2, 3]}).id
    assert house.instance(started).status is InstanceStatus.RUNNING
    assert woken
    poll(house)
    poll(house)
    assert house.instance(started).status is InstanceStatus.COMPLETED
