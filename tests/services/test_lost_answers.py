"""A commit whose answer is lost, and another process that goes on with it before it is tried again (spec 3.22)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.services.stores_that_fail import FailingStores, busy
from tests.support.engine import ADMIN, Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.clock import SystemIds
from webapp.engine.instances.journal import FollowUp
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.stores import WriteSet
from webapp.services.settling import Settling

WAIT = flow("wait", [START, node("wait", "WaitSignal", {"SignalName": "paid"}), END])
COMPLETED, RUNNING = InstanceStatus.COMPLETED, InstanceStatus.RUNNING


def losing(stores: StoreSet, meanwhile: Callable[[], object]) -> Installation:
    """Return an installation whose next commit is made, its answer lost, and *meanwhile* done by somebody else."""
    broken = FailingStores(stores.stores)
    house = install(replace(stores, stores=broken))
    broken.after = [busy()]

    def pause(seconds: float) -> None:
        meanwhile()

    house.services.housekeeping._due.storage._pause = pause
    return house


def test_a_kept_signal_that_somebody_took_meanwhile_is_not_kept_again(stores: StoreSet) -> None:
    other = install(stores)
    other.publish(WAIT)
    started: list[str] = []
    house = losing(stores, lambda: started.append(other.start("wait", correlation_id="C").id))
    told = house.services.signals.publish(ADMIN, "paid", correlation_id="C", ttl_seconds=600)
    assert len(started) == 1
    assert (told.resumed, told.kept) == (0, True)
    second = other.start("wait", correlation_id="C")
    for _ in range(3):
        other.elapse(10)
    assert [other.instance(one).status for one in (*started, second.id)] == [COMPLETED, RUNNING]


def test_the_trail_tells_who_had_a_signal_kept(house: Installation) -> None:
    house.publish(WAIT)
    house.services.signals.publish(ADMIN, "paid", correlation_id="C", ttl_seconds=600)
    house.services.sealing.seal()
    entries = [row for row in house.services.audit.rows(None, 0) if row.action == "keepSignal"]
    assert [(row.actor_id, '"correlationId":"C"' in (row.after or "")) for row in entries] == [("admin", True)]


def test_what_took_a_follow_ups_place_and_was_run_meanwhile_does_not_come_again(stores: StoreSet) -> None:
    now = stores.clock.now()

    def owed(name: str) -> FollowUp:
        return FollowUp(id=name, action="childEnded", created_at=now, due_at=now)

    def run() -> None:
        with stores.stores.writing(None) as work:
            assert work.follow_ups.delete(None, "second")

    with stores.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, new_follow_ups=[owed("first")]))
    house = losing(stores, run)
    storage, commands = house.services.housekeeping._due.storage, house.services.signals._commands
    settling = Settling(storage=storage, commands=commands, clock=stores.clock, ids=SystemIds())
    assert settling.replace(owed("first"), [owed("second")]) == [owed("second")]
    with stores.stores.reading(None) as work:
        assert not work.follow_ups.any_due(now)
