"""Events that wait to be sent: read in the order they were told, with a bound (spec 9.1, 8.10)."""

from tests.stores.records import at
from webapp.engine.instances.journal import OutboxEntry
from webapp.engine.ports.stores import WriteSet


def entry(number, *, seconds=0, sequence=1, partition=None):
    return OutboxEntry(
        id=f"e{number}",
        tenant_id=partition,
        sequence=sequence,
        topic="workflow.custom",
        instance_id="i1",
        created_at=at(seconds),
        data={"number": number},
    )


def store(stores, *entries):
    for partition in {one.tenant_id for one in entries}:
        own = [one for one in entries if one.tenant_id == partition]
        with stores.stores.writing(partition) as work:
            work.apply(WriteSet(partition=partition, outbox=own))


def ids(stores, limit=10, after=None):
    with stores.stores.reading(None) as work:
        return [one.id for one in work.outbox.read(limit, after)]


def test_entries_of_all_partitions_come_by_time_then_number_then_id(stores):
    store(
        stores,
        entry(1, seconds=2),
        entry(2, seconds=1, sequence=9),
        entry(3, seconds=1, sequence=8, partition="t1"),
        entry(4, seconds=1, sequence=9, partition="t2"),
    )
    assert ids(stores) == ["e3", "e2", "e4", "e1"]
    assert ids(stores, limit=2) == ["e3", "e2"]


def test_reading_goes_on_behind_the_last_one_read(stores):
    entries = [entry(number, seconds=number // 3, sequence=number) for number in range(1, 8)]
    store(stores, *entries)
    with stores.stores.reading(None) as work:
        first = work.outbox.read(3)
        rest = work.outbox.read(10, first[-1])
    assert [one.id for one in (*first, *rest)] == [f"e{number}" for number in range(1, 8)]
    assert [*first, *rest] == entries


def test_an_entry_that_was_sent_is_deleted_in_its_own_partition_only(stores):
    store(stores, entry(1), entry(2, partition="t1"))
    with stores.stores.writing("t2") as work:
        work.outbox.delete("t2", ["e1", "e2"])
    assert ids(stores) == ["e1", "e2"]
    for partition in (None, "t1"):
        with stores.stores.writing(partition) as work:
            work.outbox.delete(partition, ["e1", "e2"])
            work.outbox.delete(partition, [])
    assert ids(stores) == []


def waiting(stores, limit=10, without=()):
    with stores.stores.reading(None) as work:
        return [one.id for one in work.outbox.waiting(limit, without)]


def test_entries_wait_until_they_are_handed_on_and_may_stay_then(stores):
    store(stores, entry(1, seconds=3), entry(2, seconds=2, partition="t1"), entry(3, seconds=1), entry(4, seconds=1))
    assert waiting(stores) == ["e3", "e4", "e2", "e1"]
    assert waiting(stores, limit=3) == ["e3", "e4", "e2"]
    assert waiting(stores, without=["t1"]) == ["e3", "e4", "e1"]
    assert waiting(stores, without=[None]) == ["e2"]
    with stores.stores.writing("t1") as work:
        work.outbox.hand_on("t1", ["e1", "e2"])
    with stores.stores.writing(None) as work:
        work.outbox.hand_on(None, ["e3"])
        work.outbox.delete(None, ["e4"])
    assert waiting(stores) == ["e1"]
    assert ids(stores) == ["e3", "e2", "e1"]


def test_what_waits_is_counted_up_to_a_limit(stores):
    store(stores, *(entry(number) for number in range(1, 5)), entry(5, partition="t1"))
    with stores.stores.writing(None) as work:
        work.outbox.hand_on(None, ["e1"])
    with stores.stores.reading(None) as work:
        assert work.outbox.depth(None, 10) == 3
        assert work.outbox.depth(None, 2) == 2
        assert work.outbox.depth("t1", 10) == 1
        assert work.outbox.depth("t2", 10) == 0
