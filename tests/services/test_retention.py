"""What housekeeping throws away: stored answers after a day, ended instances when the retention says so (3.20, 11)."""

from __future__ import annotations

import pytest

from tests.stores.records import delivery, notice
from tests.support.engine import ADMIN, Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.ports.notices import DeliveryQuery, NoticeQuery
from webapp.engine.ports.stores import IdempotencyRecord, WriteSet
from webapp.services import ServiceSettings

DELAYED = flow("delayed", [START, node("delay", "Delay", {"DurationSeconds": 10}), END])


def _answer(house: Installation, scope: str, partition: str | None) -> None:
    record = IdempotencyRecord(
        scope=scope, body_hash="h", status=200, headers={}, body=b"", created_at=house.store_set.clock.now()
    )
    with house.store_set.stores.writing(partition) as work:
        work.idempotency.insert(partition, record)


def test_housekeeping_forgets_answers_after_a_day_in_every_partition(house: Installation) -> None:
    house.account("ann", partition="acme")
    clock = house.store_set.clock
    start = clock.now()
    for partition in (None, "acme"):
        _answer(house, "old", partition)
    clock.advance(3600)
    _answer(house, "new", "acme")
    clock.advance(24 * 3600 - 1)
    house.services.housekeeping.housekeep()
    for partition, scope, kept in ((None, "old", False), ("acme", "old", False), ("acme", "new", True)):
        with house.store_set.stores.reading(partition) as work:
            assert (work.idempotency.find(partition, scope, start) is not None) is kept


def test_housekeeping_forgets_notices_after_400_days_and_what_was_sent_after_90(house: Installation) -> None:
    house.account("ann", partition="acme")
    clock = house.store_set.clock
    day, then = 24 * 3600, clock.now()
    for partition in (None, "acme"):
        own = {"tenant_id": partition, "created_at": then}
        sent = [delivery(name, next_attempt_at=then, **own) for name in ("sent", "open")]
        with house.store_set.stores.writing(partition) as work:
            work.apply(WriteSet(partition=partition, notices=[notice("old", **own)], deliveries=sent))
            work.deliveries.drop(partition, ["sent"], then)

    def kept() -> list[tuple[int, int]]:
        house.services.housekeeping.housekeep()
        found = []
        for partition in (None, "acme"):
            with house.store_set.stores.reading(partition) as work:
                told = work.notices.list(partition, "ann", NoticeQuery()).total
                found.append((told, work.deliveries.list(partition, DeliveryQuery()).total))
        return found

    for days, left in ((90, (1, 2)), (310, (1, 1)), (1, (0, 1))):
        clock.advance(days * day)
        assert kept() == [left] * 2


@pytest.mark.parametrize(("days", "kept"), [(0, True), (3, False), (0.5, False)])
def test_settled_deliveries_are_kept_as_long_as_the_setting_says_or_for_ever(
    stores: StoreSet, days: float, kept: bool
) -> None:
    house = install(stores, settings=ServiceSettings(delivery_retention_days=days))
    then = house.store_set.clock.now()
    with stores.stores.writing(None) as work:
        work.deliveries.insert(None, [delivery(name, line=name, next_attempt_at=then) for name in ("done", "open")])
        work.deliveries.drop(None, ["done"], then)

    def left() -> set[str]:
        house.services.housekeeping.housekeep()
        with stores.stores.reading(None) as work:
            return {one.id for one in work.deliveries.list(None, DeliveryQuery()).items}

    stores.clock.advance(days * 24 * 3600 - 1 if days else 100_000 * 24 * 3600)
    assert left() == {"done", "open"}
    stores.clock.advance(2)
    # What is not settled is never forgotten, however old.
    assert left() == ({"done", "open"} if kept else {"open"})


def test_retention_purges_what_ended_long_enough_ago(stores: StoreSet) -> None:
    house = install(stores, settings=ServiceSettings(retention_days=30, purge_rows=12))
    house.publish(DELAYED)
    house.publish(flow("failing", [START, node("x", "Fault"), END]))
    for _ in range(5):
        house.start("delayed")
    failed = house.start("failing")
    house.elapse(10)
    running = house.start("delayed")
    stores.clock.advance(30 * 24 * 3600 - 1)
    assert house.services.housekeeping.housekeep() == 0
    stores.clock.advance(1)
    assert house.services.housekeeping.housekeep() == 5
    assert {one.id for one in house.services.instances.query(ADMIN).items} == {failed.id, running.id}


def test_without_retention_nothing_is_purged(house: Installation) -> None:
    house.publish(DELAYED)
    house.start("delayed")
    house.elapse(10)
    house.store_set.clock.advance(10_000 * 24 * 3600)
    assert house.services.housekeeping.housekeep() == 0
    assert house.services.instances.query(ADMIN).total == 1


def test_retention_takes_faulted_instances_only_when_it_is_told_to(stores: StoreSet) -> None:
    settings = ServiceSettings(retention_days=30, retention_includes_faulted=True)
    house = install(stores, settings=settings)
    house.publish(flow("failing", [START, node("x", "Fault"), END]))
    house.start("failing")
    stores.clock.advance(30 * 24 * 3600)
    assert house.services.housekeeping.housekeep() == 1
