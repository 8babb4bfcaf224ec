"""Signals in the stores: who waits, what is started, what is kept (spec 3.17, 3.22, 8.4)."""

import pytest

from tests.stores.records import T0, at, bookmark, definition, instance, save, start
from tests.support.stores import also_apart
from webapp.engine.definitions.model import DefinitionStatus, Node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonDecimal
from webapp.engine.ports.signals import SignalTaken, StoredSignal
from webapp.engine.ports.stores import WriteSet

LATER = at(100)


def wait(bookmark_id, name="paid", instance_id="i1", **values):
    defaults = {"kind": BookmarkKind.SIGNAL, "key": name, "title": None}
    return bookmark(bookmark_id, instance_id, **(defaults | values))


def targets(stores, name="paid", correlation_id=None, until=LATER, limit=10, after=None, partition=None):
    with stores.stores.reading(partition) as work:
        found = work.signals.targets(partition, name, correlation_id, until, limit, after)
        # The count knows no limit.
        assert work.signals.count_targets(partition, name, correlation_id, until, after) >= len(found)
    return [one.bookmark_id for one in found]


def test_the_oldest_wait_comes_first(stores):
    start(
        stores.stores,
        new_bookmarks=[
            wait("late", created_at=at(2)),
            wait("second", created_at=at(1), sequence=2),
            wait("first", created_at=at(1), sequence=1),
        ],
    )
    assert targets(stores) == ["first", "second", "late"]
    assert targets(stores, limit=2) == ["first", "second"]
    assert targets(stores, until=at(1)) == ["first", "second"]


def test_a_list_goes_on_behind_its_last(stores):
    start(stores.stores, new_bookmarks=[wait(f"b{number}", created_at=T0, sequence=1) for number in range(3)])
    start(stores.stores, "i2", new_bookmarks=[wait("c", instance_id="i2", created_at=T0, sequence=2)])
    start(stores.stores, "i3", new_bookmarks=[wait("a", instance_id="i3", created_at=at(1), sequence=1)])
    with stores.stores.reading(None) as work:
        whole = work.signals.targets(None, "paid", None, at(9), 10)
        assert [one.bookmark_id for one in whole] == ["b0", "b1", "b2", "c", "a"]
        for number, last in enumerate(whole):
            rest = work.signals.targets(None, "paid", None, at(9), 10, last)
            assert rest == whole[number + 1 :]
            assert work.signals.count_targets(None, "paid", None, at(9), last) == len(rest)


def test_the_correlation_id_chooses(stores):
    start(
        stores.stores,
        new_bookmarks=[
            wait("any", sequence=1),
            wait("one", correlation_id="ORDER-1", sequence=2),
            wait("two", correlation_id="ORDER-2", sequence=3),
        ],
    )
    # Without one it is for everybody, else for equal ones and for those that accept any.
    assert targets(stores) == ["any", "one", "two"]
    assert targets(stores, correlation_id="ORDER-1") == ["any", "one"]
    assert targets(stores, correlation_id="order-1") == ["any"]


def test_only_the_exact_name_the_kind_and_running_instances_count(stores):
    start(
        stores.stores,
        new_bookmarks=[wait("a"), wait("b", "Paid"), wait("c", kind=BookmarkKind.EXTERNAL_TASK)],
    )
    start(stores.stores, "i2", status=InstanceStatus.SUSPENDED, new_bookmarks=[wait("d", instance_id="i2")])
    assert targets(stores) == ["a"]
    resumed = instance("i2", revision=2, status=InstanceStatus.RUNNING, command_id="resume")
    save(stores.stores, instance=resumed, expected_revision=1, columns_changed=True)
    assert targets(stores) == ["a", "d"]


@also_apart
def test_waits_of_another_partition_are_not_seen(stores):
    start(stores.stores, "i1", "t1", new_bookmarks=[wait("a")])
    assert targets(stores) == []
    assert targets(stores, partition="t2") == []
    assert targets(stores, partition="t1") == ["a"]


def started_by(stores, name, partition=None):
    with stores.stores.reading(partition) as work:
        return [(one.name, one.version) for one in work.signals.starts(partition, name)]


def test_of_each_name_the_latest_published_version_is_started(stores):
    def version(number, status, signal, name="orders", partition=None):
        made = definition(
            f"{name}-{number}",
            name=name,
            version=number,
            status=status,
            tenant_id=partition,
            nodes=[Node(id="start", activity_type="Start", properties=signal)],
        )
        with stores.stores.writing(partition) as work:
            work.definitions.insert(partition, made)

    published, draft, disabled = DefinitionStatus.PUBLISHED, DefinitionStatus.DRAFT, DefinitionStatus.DISABLED
    version(1, published, {"SignalName": "order"})
    version(2, published, {"SignalName": "order"})
    version(3, draft, {"SignalName": "order"})
    version(1, published, {"signalName": "order"}, "archive")
    # Its latest published version does not name the signal any more.
    version(1, published, {"SignalName": "order"}, "bills")
    version(2, published, {}, "bills")
    # Its latest version is out of use, so the one before it counts.
    version(1, published, {"SignalName": "order"}, "claims")
    version(2, disabled, {"SignalName": "other"}, "claims")
    version(1, published, {"SignalName": "order"}, "foreign", "t1")
    assert started_by(stores, "order") == [("archive", 1), ("claims", 1), ("orders", 2)]
    assert started_by(stores, "Order") == []
    assert started_by(stores, "order", "t1") == [("foreign", 1)]


def kept(signal_id, name="paid", created=0, expires=60, **values):
    return StoredSignal(id=signal_id, name=name, created_at=at(created), expires_at=at(expires), **values)


def keep(stores, *signals, partition=None):
    with stores.stores.writing(partition) as work:
        for signal in signals:
            work.signals.keep(partition, signal)


def names(stores, *wanted, now=10, partition=None):
    with stores.stores.reading(partition) as work:
        return [one.id for one in work.signals.kept(partition, wanted, at(now))]


def test_a_kept_signal_comes_back_as_it_was(stores):
    signal = kept("s", correlation_id="C", payload={"amount": JsonDecimal("9.90")}, tenant_id="t1")
    keep(stores, signal, partition="t1")
    keep(stores, signal, partition="t1")
    with stores.stores.reading("t1") as work:
        assert work.signals.find("t1", "s") == signal
        assert work.signals.find("t1", "none") is None
        assert work.signals.find("t2", "s") is None
        assert work.signals.find(None, "s") is None


def test_kept_signals_are_found_by_name_and_time_the_oldest_first(stores):
    keep(stores, kept("b", created=2), kept("a", created=1), kept("c", "sent"), kept("over", expires=10))
    assert names(stores, "paid") == ["a", "b"]
    assert names(stores, "paid", "sent") == ["c", "a", "b"]
    assert names(stores, "Paid") == []
    assert names(stores, "paid", now=9) == ["over", "a", "b"]
    assert names(stores, "paid", now=60) == []


def test_a_kept_signal_is_discarded_once(stores):
    keep(stores, kept("s"))
    with stores.stores.writing(None) as work:
        assert work.signals.discard(None, "s")
        assert not work.signals.discard(None, "s")


def test_what_is_over_is_purged(stores):
    keep(stores, kept("over", expires=10), kept("good", expires=11))
    keep(stores, kept("other", expires=1, tenant_id="t1"), partition="t1")
    with stores.stores.writing(None) as work:
        assert work.signals.purge(None, at(10), 9) == 1
    assert names(stores, "paid") == ["good"]
    with stores.stores.reading("t1") as work:
        assert work.signals.find("t1", "other") is not None


def test_who_takes_a_kept_signal_deletes_it_with_what_it_writes(stores):
    start(stores.stores)
    keep(stores, kept("s"))

    def take(revision, command_id):
        written = instance(revision=revision, command_id=command_id)
        with stores.stores.writing(None) as work:
            work.apply(
                WriteSet(partition=None, instance=written, expected_revision=revision - 1, taken_signal_ids=["s"])
            )

    take(2, "first")
    assert names(stores, "paid") == []
    with pytest.raises(SignalTaken):
        take(3, "second")
    with stores.stores.reading(None) as work:
        assert work.instances.find(None, "i1").revision == 2
    # The first one again, because its commit's answer was lost: it was written, and that is all.
    take(2, "first")
