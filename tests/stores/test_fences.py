"""Fences: what a database refuses for a tenant that does not lie in it any more, whoever asks (spec 8.10)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pytest

from tests.stores.records import T0, at, audit, bookmark, delivery, follow_up, instance, record, save, timer
from tests.support.stores import StoreSet, on_every_database, on_postgresql, on_servers
from webapp.engine.instances.bookmarks import Lane
from webapp.engine.instances.journal import OutboxEntry
from webapp.engine.ports.partitions import Fenced
from webapp.engine.ports.stores import Partition, StoreFailure
from webapp.stores.routing import FencedStores
from webapp.stores.sql import SqlStores
from webapp.stores.sql.database import Database
from webapp.stores.sql.fences import SqlFences


@contextmanager
def fenced(stores: StoreSet, tenant: str = "t1") -> Iterator[None]:
    fences = cast(FencedStores, stores.stores).fences
    fences.close(tenant)
    yield
    fences.open(tenant)


def elsewhere(stores: StoreSet) -> SqlFences:
    """Return the fences as another process has them, one that waits a second only."""
    assert stores.engine is not None
    return SqlFences(Database(stores.engine), wait_seconds=1)


def note(stores: StoreSet, partition: Partition, entry: str) -> None:
    with stores.stores.writing(partition) as work:
        work.audit.append(partition, [audit(entry, tenant_id=partition)])


def holds(stores: StoreSet, partition: Partition, entry: str) -> bool:
    with stores.stores.reading(partition) as work:
        return work.audit.holds(partition, entry)


def test_behind_a_fence_nothing_of_the_tenant_is_written_and_all_of_it_is_read(stores: StoreSet) -> None:
    note(stores, "t1", "before")
    with fenced(stores):
        cast(FencedStores, stores.stores).fences.close("t1")
        with pytest.raises(Fenced) as caught:
            note(stores, "t1", "late")
        assert not caught.value.transient
        for other in (None, "t2"):
            note(stores, other, f"of {other}")
            assert holds(stores, other, f"of {other}")
        assert holds(stores, "t1", "before")
        assert not holds(stores, "t1", "late")
        with stores.stores.writing("t1") as work:
            assert work.instances.find("t1", "x") is None
    note(stores, "t1", "after")
    assert holds(stores, "t1", "after")


def test_a_command_that_comes_late_leaves_nothing_at_all(stores: StoreSet) -> None:
    save(stores.stores, "t1", instance=instance(), is_new=True, audit=[audit("a1", tenant_id="t1")])
    later = instance(revision=2, title="Decided", command_id="decide-i1")
    with fenced(stores):
        with pytest.raises(Fenced):
            save(
                stores.stores,
                "t1",
                instance=later,
                expected_revision=1,
                new_bookmarks=[bookmark("b1")],
                task_records=[record("b1")],
                audit=[audit("a2", tenant_id="t1")],
                new_follow_ups=[follow_up("f1", tenant_id="t1")],
            )
        with pytest.raises(Fenced):
            save(stores.stores, "t1", instance=instance("i2"), is_new=True, audit=[audit("a3", tenant_id="t1")])
        with stores.stores.reading("t1") as work:
            found = work.instances.find("t1", "i1")
            assert found is not None and (found.revision, found.title) == (1, "Leave of Ann")
            assert work.instances.find("t1", "i2") is None
            assert work.bookmarks.find("t1", "b1") is None
            assert not work.audit.holds("t1", "a2")
    # Nothing was left over on the connection either: the same command is done as soon as it may be.
    save(stores.stores, "t1", instance=later, expected_revision=1, audit=[audit("a2", tenant_id="t1")])
    assert holds(stores, "t1", "a2")


def test_nothing_behind_a_fence_is_claimed(stores: StoreSet) -> None:
    for tenant in ("t1", "t2"):
        entry = OutboxEntry(id=f"o-{tenant}", tenant_id=tenant, topic="workflow.started", created_at=T0, data={})
        save(
            stores.stores,
            tenant,
            instance=instance(f"i-{tenant}"),
            is_new=True,
            new_bookmarks=[timer(f"b-{tenant}", 1, f"i-{tenant}")],
            new_follow_ups=[follow_up(f"f-{tenant}", tenant_id=tenant)],
            deliveries=[delivery(f"d-{tenant}", next_attempt_at=at(1))],
            outbox=[entry],
        )
    lanes = [Lane.POLLER]
    with fenced(stores):
        with stores.stores.writing(None) as work:
            for without in ((), ("t3",)):
                assert [one.id for one in work.outbox.waiting(9, without)] == ["o-t2"]
            assert [one.id for one in work.bookmarks.claim_due(at(9), 9, "p:1", at(60), lanes)] == ["b-t2"]
            assert [one.id for one in work.follow_ups.claim_due(at(9), 9, "p:1", at(60))] == ["f-t2"]
            assert [one.id for one in work.deliveries.claim_due(at(9), 9, "p:1", at(60))] == ["d-t2"]
        with stores.stores.reading(None) as work:
            # What is left is the fenced tenant's alone: there is nothing to do, and nothing to wait for.
            assert not work.bookmarks.any_due(at(9), lanes)
            assert work.bookmarks.next_due(lanes) is None
            assert not work.follow_ups.any_due(at(9))
            assert work.follow_ups.next_due() is None
            assert not work.deliveries.any_due(at(9))
            assert work.deliveries.next_due() is None
    with stores.stores.writing(None) as work:
        assert [one.id for one in work.bookmarks.claim_due(at(9), 9, "p:1", at(60), lanes)] == ["b-t1"]
        assert [one.id for one in work.deliveries.claim_due(at(9), 9, "p:1", at(60))] == ["d-t1"]


@on_servers
def test_a_transaction_that_was_under_way_when_the_fence_went_up_is_not_committed(stores: StoreSet) -> None:
    own = cast(SqlStores, stores.stores)
    with pytest.raises(Fenced), own.writing("t1") as work:
        work.audit.append("t1", [audit("early", tenant_id="t1")])
        elsewhere(stores).close("t1")
    assert not holds(stores, "t1", "early")


@on_servers
def test_a_fence_waits_for_who_has_asked_and_not_committed_yet(stores: StoreSet) -> None:
    own, hasty = cast(SqlStores, stores.stores), elsewhere(stores)
    with own.database.writing() as transaction:
        transaction.require_unfenced("t1")
        with pytest.raises(StoreFailure) as caught:
            hasty.close("t1")
        assert caught.value.transient
    note(stores, "t1", "there is no fence")
    hasty.close("t1")
    with pytest.raises(Fenced):
        note(stores, "t1", "there is one")


@on_postgresql
def test_a_dump_keeps_no_fence_waiting(stores: StoreSet) -> None:
    """``pg_dump`` holds what it reads for hours; MariaDB's lets go of each table when it has read it."""
    assert stores.engine is not None
    with stores.engine.connect() as dump:
        dump.exec_driver_sql("LOCK TABLE fences IN ACCESS SHARE MODE")
        elsewhere(stores).close("t1")
    with pytest.raises(Fenced):
        note(stores, "t1", "there is one")


@on_every_database
def test_who_asks_first_meets_the_fence_before_anything_is_written(stores: StoreSet) -> None:
    """As a call in a host's transaction does, whose commit is the host's; what the host wrote stays whole."""
    own = cast(SqlStores, stores.stores)
    with fenced(stores), own.database.writing() as transaction:
        with pytest.raises(Fenced):
            transaction.require_unfenced("t1")
        transaction.require_unfenced("t2")
        transaction.require_unfenced("t2")
