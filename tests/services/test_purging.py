"""Housekeeping in small transactions: by turns, resumable, one process at a time (spec 3.20, 8.10)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

import pytest

from tests.services.stores_that_fail import FailingStores, busy
from tests.stores.records import audit, bookmark, instance, node, record
from tests.support.engine import ADMIN, Installation, install
from tests.support.stores import StoreSet
from webapp.engine.errors import NotFound
from webapp.engine.instances.batches import Batch, BatchStatus
from webapp.engine.instances.journal import FiringStatus, TaskCopy, TimerFiring
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.purge import Purged, PurgeWish
from webapp.engine.ports.queries import Paging
from webapp.engine.ports.stores import IdempotencyRecord, Partition, Stores, UnitOfWork, WriteSet
from webapp.services import ServiceSettings
from webapp.services.purging import PURGE_LEASE, Pace

DAY = 24 * 3600.0
SETTINGS = ServiceSettings(retention_days=30, purge_rows=40)


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    """An installation with a retention of thirty days, at a time at which what ended before now is over."""
    return install(stores, settings=SETTINGS)


def ended(
    house: Installation, instance_id: str, nodes: int = 1, partition: str | None = None, **values: object
) -> None:
    """Store an instance that ended now, with all that may hang on it."""
    now = house.store_set.clock.now()
    made = instance(
        instance_id,
        tenant_id=partition,
        **{"status": InstanceStatus.COMPLETED, "created_at": now, "ended_at": now, **values},
    )
    task = f"{instance_id}-task"
    with house.store_set.stores.writing(partition) as work:
        work.apply(
            WriteSet(
                partition=partition,
                instance=made,
                is_new=True,
                node_instances=[node(f"{instance_id}-{n}", instance_id, tenant_id=partition) for n in range(nodes)],
                new_bookmarks=[bookmark(task, instance_id, tenant_id=partition)],
                task_records=[record(task, instance_id, tenant_id=partition)],
                task_copies=[TaskCopy(task_id=task, instance_id=instance_id, user_id="cc", created_at=now)],
                audit=[audit(f"{instance_id}-a", tenant_id=partition, instance_id=instance_id, at=now)],
            )
        )


def left(house: Installation, partition: str | None = None) -> list[str]:
    with house.store_set.stores.reading(partition) as work:
        found = work.purges.pick(partition, everything(house), trees=300, rows=100_000)
    return sorted(tree.root_id for tree in found.trees)


def everything(house: Installation) -> PurgeWish:
    return PurgeWish(
        before=datetime.max.replace(tzinfo=house.store_set.clock.now().tzinfo), statuses=tuple(InstanceStatus)
    )


def rows_of(house: Installation, instance_id: str) -> int:
    with house.store_set.stores.reading(None) as work:
        return work.instances.node_instances(None, instance_id).total + len(
            work.task_records.by_instance(None, instance_id)
        )


def after(times: int) -> Callable[[], bool]:
    """Return what says to stop after it was asked so often."""
    asked = iter(range(times))
    return lambda: next(asked, None) is None


def test_trees_that_are_over_go_and_later_ones_stay(house: Installation) -> None:
    for number in range(25):
        ended(house, f"old{number}")
    house.store_set.clock.advance(30 * DAY)
    ended(house, "new")
    assert house.services.housekeeping.housekeep() == 25
    assert left(house) == ["new"]
    assert house.pauses
    state = house.services.purges.state(None)
    assert (state.trees, state.oldest, state.marked) == (0, None, 0)
    assert state.run is not None
    assert (state.run.instances, state.run.ended_at) == (25, house.store_set.clock.now())
    # Each with a node instance, a task round, a bookmark and a copy.
    assert state.run.removed_rows >= 25 * 4


def test_the_trail_tells_of_a_run_and_keeps_what_it_knew(house: Installation) -> None:
    ended(house, "old")
    house.store_set.clock.advance(30 * DAY)
    house.services.housekeeping.housekeep()
    with house.store_set.stores.reading(None) as work:
        assert work.audit.by_instance(None, "old").total == 1
        rows = work.seals.unsealed(None, 9)
    (told,) = [row for row in rows if row.action == "purge"]
    assert told.actor_id is None
    assert '"purged":1' in (told.after or "")
    house.services.housekeeping.housekeep()
    with house.store_set.stores.reading(None) as work:
        assert len(work.seals.unsealed(None, 9)) == len(rows)


class Forgetful(FailingStores):
    """Stores of which every other commit loses its answer."""

    def __init__(self, stores: Stores) -> None:
        super().__init__(stores)
        self._loses = False

    @contextmanager
    def writing(self, partition: Partition) -> Iterator[UnitOfWork]:
        with super().writing(partition) as work:
            yield work
        self._loses = not self._loses
        if self._loses:
            raise busy()


def test_a_commit_whose_answer_was_lost_counts_once(stores: StoreSet) -> None:
    house = install(replace(stores, stores=Forgetful(stores.stores)), settings=SETTINGS)
    with_all = install(stores, settings=SETTINGS)
    for number in range(25):
        ended(with_all, f"old{number}")
    stores.clock.advance(30 * DAY)
    assert house.services.housekeeping.housekeep() == 25
    with stores.stores.reading(None) as work:
        run = work.purges.last_run(None)
    assert run is not None
    assert run.instances == 25
    assert run.ended_at is not None
    assert house.services.housekeeping.housekeep() == 0


def test_a_run_that_came_too_late_for_everything_is_none(house: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would be told of as one that goes on."""
    ended(house, "again")
    house.store_set.clock.advance(30 * DAY)
    with house.store_set.stores.reading(None) as work:
        monkeypatch.setattr(type(work.purges), "take", lambda *_: Purged())
    assert house.services.housekeeping.housekeep() == 0
    with house.store_set.stores.reading(None) as work:
        assert work.purges.last_run(None) is None


def test_what_was_cut_off_goes_on_where_it_was(house: Installation) -> None:
    for number in range(40):
        ended(house, f"i{number:02}")
    house.store_set.clock.advance(30 * DAY)
    first = house.services.housekeeping.housekeep(after(4))
    assert 0 < first < 40
    state = house.services.purges.state(None)
    assert state.run is not None
    assert (state.run.ended_at, state.run.instances, state.trees) == (None, first, 40 - first)
    other = install(house.store_set, settings=SETTINGS)
    assert other.services.housekeeping.housekeep() == 40 - first
    run = other.services.purges.state(None).run
    assert run is not None
    assert (run.instances, run.ended_at is None) == (40, False)


def test_a_huge_tree_keeps_no_other_waiting_and_is_gone_at_once(house: Installation) -> None:
    ended(house, "huge", nodes=500)
    house.store_set.clock.advance(1)
    for number in range(30):
        ended(house, f"i{number:02}")
    house.store_set.clock.advance(30 * DAY)
    steps = house.services.purges.steps(None)
    next(steps)
    with pytest.raises(NotFound):
        house.services.instances.get(ADMIN, "huge")
    with pytest.raises(NotFound):
        house.services.operations.terminate(ADMIN, "huge")
    assert house.services.purges.state(None).marked == 1
    while left(house):
        next(steps)
    assert rows_of(house, "huge") > 300
    list(steps)
    assert rows_of(house, "huge") == 0
    assert house.services.purges.state(None).marked == 0


def test_one_process_at_a_time(house: Installation) -> None:
    ended(house, "old")
    house.store_set.clock.advance(30 * DAY)
    other = install(house.store_set, settings=SETTINGS)
    # Re-entrant inside one thread: as another thread, as the other process is.
    done: list[int] = []
    with house.store_set.leases.hold(PURGE_LEASE):
        _in_thread(lambda: done.append(other.services.housekeeping.housekeep()))
    assert done == [0]
    assert left(house) == ["old"]
    assert other.services.housekeeping.housekeep() == 1


def _in_thread(call: Callable[[], object]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def test_partitions_take_turns_and_a_failing_one_stops_no_other(house: Installation) -> None:
    for tenant in ("acme", "bolt"):
        house.account(f"boss-{tenant}", partition=tenant)
        for number in range(20):
            ended(house, f"{tenant}{number}", partition=tenant)
    house.store_set.clock.advance(30 * DAY)
    steps = house.services.purges.steps

    def failing(partition: str | None) -> object:
        if partition == "acme":
            raise ZeroDivisionError
            yield
        yield from steps(partition)

    house.services.purges.steps = failing  # type: ignore[method-assign,assignment]  # one partition fails
    assert house.services.housekeeping.housekeep() == 20
    assert (len(left(house, "acme")), left(house, "bolt")) == (20, [])
    house.services.purges.steps = steps
    assert house.services.housekeeping.housekeep() == 20


def test_faulted_trees_wait_for_whoever_names_them(house: Installation) -> None:
    ended(house, "bad", status=InstanceStatus.FAULTED)
    ended(house, "good")
    house.store_set.clock.advance(30 * DAY)
    assert house.services.purges.state(None).trees == 1
    assert house.services.housekeeping.housekeep() == 1
    now = house.store_set.clock.now()
    assert house.services.operations.purge(ADMIN, ended_before=now) == 0
    assert house.services.operations.purge(ADMIN, ended_before=now, statuses=[InstanceStatus.FAULTED]) == 1
    assert rows_of(house, "bad") == 0


def test_a_purge_by_hand_is_one_transaction_and_what_hangs_loose_goes_after_it(house: Installation) -> None:
    for number in range(30):
        ended(house, f"i{number:02}", nodes=3)
    house.store_set.clock.advance(1)
    ended(house, "huge", nodes=9_000)
    now = house.store_set.clock.now()
    assert house.services.operations.purge(ADMIN, ended_before=now, limit=20) == 20
    assert left(house) == ["huge", *(f"i{number:02}" for number in range(20, 30))]
    assert [rows_of(house, f"i{number:02}") for number in range(20)] == [0] * 20
    house.services.purges._clear = lambda partition: None  # type: ignore[method-assign]  # as if it had been killed
    assert house.services.operations.purge(ADMIN, ended_before=now) == 11
    assert left(house) == []
    assert rows_of(house, "huge") > 0
    assert house.services.housekeeping.housekeep() == 0
    assert rows_of(house, "huge") == 0


def test_without_retention_marks_are_swept_all_the_same(stores: StoreSet) -> None:
    house = install(stores)
    ended(house, "old", nodes=50)
    house.services.purges._clear = lambda partition: None
    assert house.services.operations.purge(ADMIN, ended_before=stores.clock.now()) == 1
    assert rows_of(house, "old") > 0
    house.services.housekeeping.housekeep()
    assert rows_of(house, "old") == 0
    assert house.services.purges.state(None).trees == 0


def test_what_is_too_old_is_forgotten_in_parts(house: Installation) -> None:
    clock, stores = house.store_set.clock, house.store_set.stores
    now = clock.now()
    with stores.writing(None) as work:
        for number in range(90):
            work.idempotency.insert(
                None,
                IdempotencyRecord(scope=f"s{number}", body_hash="h", status=200, headers={}, body=b"", created_at=now),
            )
        for name in ("over", "open"):
            batch = Batch(id=name, action="cancel", status=BatchStatus.RUNNING, total=90, created_at=now)
            work.batches.insert(None, batch, [f"i{number}" for number in range(90)])
        work.batches.set_status(None, "over", BatchStatus.COMPLETED, only_from=[BatchStatus.RUNNING], ended_at=now)
        firings = [
            TimerFiring(definition_name=f"d{number}", scheduled_at=now, status=FiringStatus.STARTED, fired_at=now)
            for number in range(90)
        ]
        work.apply(WriteSet(partition=None, timer_firings=firings))
    clock.advance(91 * DAY)
    house.services.housekeeping.housekeep()
    with stores.reading(None) as work:
        assert work.idempotency.find(None, "s89", now) is None
        assert work.batches.find(None, "over") is None
        assert work.batches.items(None, "over", None, Paging(limit=1)).total == 0
        assert work.batches.items(None, "open", None, Paging(limit=1)).total == 90
        assert work.timer_firings.list(None, "d1").total == 1
    clock.advance(310 * DAY)
    house.services.housekeeping.housekeep()
    with stores.reading(None) as work:
        assert [work.timer_firings.list(None, f"d{number}").total for number in range(90)] == [0] * 90


def test_many_small_batches_go_in_one_run(house: Installation) -> None:
    clock, stores = house.store_set.clock, house.store_set.stores
    now, names = clock.now(), [f"b{number}" for number in range(25)]
    with stores.writing(None) as work:
        for name in names:
            batch = Batch(id=name, action="cancel", status=BatchStatus.RUNNING, total=0, created_at=now)
            work.batches.insert(None, batch, [])
            work.batches.set_status(None, name, BatchStatus.COMPLETED, only_from=[BatchStatus.RUNNING], ended_at=now)
    clock.advance(91 * DAY)
    house.services.housekeeping.housekeep()
    with stores.reading(None) as work:
        assert [name for name in names if work.batches.find(None, name) is not None] == []


def test_a_pace_slows_down_where_transactions_take_long() -> None:
    pace = Pace(1_000, 0.02)
    assert (pace.rows, pace.after(0.015)) == (200, 0.06)
    assert pace.rows == 200
    assert pace.after(0.001) == 0.005
    assert pace.rows == 250
    assert pace.after(0.2) == 0.8
    assert pace.rows == 125
    for _ in range(9):
        pace.after(5.0)
    assert pace.rows == 100
    for _ in range(99):
        pace.after(0.001)
    assert pace.rows == 1_000


def test_a_pace_never_goes_beyond_what_it_may_be() -> None:
    pace = Pace(40, 0.02)
    for seconds in (5.0, 0.001, 5.0):
        pace.after(seconds)
        assert pace.rows == 40
