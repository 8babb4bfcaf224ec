"""Locking external tasks, identically on every set of stores (spec 6.7, 7, 8.4)."""

import threading

import pytest

from tests.stores.records import at, bookmark, instance, save, start
from tests.support.stores import also_apart
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.external_tasks import LockChange, TopicLock
from webapp.engine.ports.stores import RevisionConflict, WriteSet


def external(task_id, topic="pay", instance_id="i1", **values):
    defaults = {"kind": BookmarkKind.EXTERNAL_TASK, "key": topic, "title": None}
    return bookmark(task_id, instance_id, **(defaults | values))


def lock(stores, *topics, now=0, seconds=60, limit=10, worker="w", token="t1", partition=None):
    asked = [TopicLock(topic=topic, until=at(now + seconds)) for topic in topics]
    with stores.stores.writing(partition) as work:
        found = work.external_tasks.lock_available(partition, asked, at(now), limit, worker, token)
    return [one.bookmark.id for one in found]


def row(stores, task_id, partition=None):
    with stores.stores.reading(partition) as work:
        found = work.bookmarks.find(partition, task_id)
    return found.worker_id, found.lock_token, found.available_at


def test_the_oldest_are_locked_and_come_back_whole(stores):
    payload = {"variables": {"amount": 5}}
    start(
        stores.stores,
        new_bookmarks=[
            external("late", created_at=at(2), sequence=1),
            external("second", created_at=at(1), sequence=2),
            external("first", created_at=at(1), sequence=1, payload=payload, correlation_id="C"),
        ],
    )
    with stores.stores.writing(None) as work:
        asked = [TopicLock(topic="pay", until=at(70))]
        found = work.external_tasks.lock_available(None, asked, at(10), 2, "w", "t1")
    assert [one.bookmark.id for one in found] == ["first", "second"]
    first = found[0]
    assert first.definition_name == "leave"
    assert (first.bookmark.payload, first.bookmark.correlation_id) == (payload, "C")
    assert (first.bookmark.worker_id, first.bookmark.lock_token, first.bookmark.available_at) == ("w", "t1", at(70))
    assert row(stores, "second") == ("w", "t1", at(70))
    assert row(stores, "late") == (None, None, None)


def test_a_lock_makes_no_revision(stores):
    start(stores.stores, new_bookmarks=[external("a")])
    assert lock(stores, "pay") == ["a"]
    with stores.stores.reading(None) as work:
        assert work.instances.find(None, "i1").revision == 1


def test_a_locked_one_is_free_again_when_its_time_is_over(stores):
    start(stores.stores, new_bookmarks=[external("a"), external("b", available_at=at(30))])
    assert lock(stores, "pay", now=0, seconds=60) == ["a"]
    assert lock(stores, "pay", now=29) == []
    assert lock(stores, "pay", now=30, seconds=60, worker="v", token="t2") == ["b"]
    # The boundary itself counts: available when availableAt <= now.
    assert lock(stores, "pay", now=60, worker="v", token="t3") == ["a"]
    assert row(stores, "a") == ("v", "t3", at(120))


def test_only_the_topic_the_kind_and_running_instances_count(stores):
    start(
        stores.stores,
        new_bookmarks=[external("a", topic="Pay"), external("s", kind=BookmarkKind.SIGNAL), external("b")],
    )
    start(stores.stores, "i2", status=InstanceStatus.SUSPENDED, new_bookmarks=[external("c", instance_id="i2")])
    assert lock(stores, "pay") == ["b"]
    # The instance runs again: its rows follow it.
    resumed = instance("i2", revision=2, status=InstanceStatus.RUNNING, command_id="resume")
    save(stores.stores, instance=resumed, expected_revision=1, columns_changed=True)
    assert lock(stores, "pay") == ["c"]


def test_several_topics_share_the_limit_by_age_and_keep_their_own_times(stores):
    start(
        stores.stores,
        new_bookmarks=[
            external("p1", "pay", created_at=at(1)),
            external("p2", "pay", created_at=at(3)),
            external("s1", "ship", created_at=at(2)),
            external("s2", "ship", created_at=at(4)),
        ],
    )
    asked = [TopicLock(topic="pay", until=at(60)), TopicLock(topic="ship", until=at(99))]
    with stores.stores.writing(None) as work:
        found = work.external_tasks.lock_available(None, asked, at(9), 3, "w", "t")
    assert [(one.bookmark.id, one.bookmark.available_at) for one in found] == [
        ("p1", at(60)),
        ("s1", at(99)),
        ("p2", at(60)),
    ]
    assert row(stores, "s2") == (None, None, None)


def test_what_may_be_locked_is_seen_without_writing(stores):
    start(stores.stores, new_bookmarks=[external("a")])
    with stores.stores.reading(None) as work:
        assert work.external_tasks.any_available(None, ["x", "pay"], at(0))
        assert not work.external_tasks.any_available(None, ["x"], at(0))
    lock(stores, "pay", now=0, seconds=60)
    with stores.stores.reading(None) as work:
        assert not work.external_tasks.any_available(None, ["pay"], at(59))
        assert work.external_tasks.any_available(None, ["pay"], at(60))


@also_apart
def test_nothing_of_another_partition_is_locked(stores):
    start(stores.stores, "i1", "t1", new_bookmarks=[external("a")])
    assert lock(stores, "pay", partition="t2") == []
    assert lock(stores, "pay") == []
    assert lock(stores, "pay", partition="t1") == ["a"]


def test_a_wave_that_read_before_the_fetch_does_not_undo_the_lock(stores):
    start(stores.stores, new_bookmarks=[external("a")])
    with stores.stores.reading(None) as work:
        snapshot = work.instances.snapshot(None, "i1")
    assert lock(stores, "pay", seconds=60) == ["a"]
    # The wave moved the bookmark to another node (a migration): the row is written anew.
    (stale,) = snapshot.bookmarks
    stale.node_id = "moved"
    written = instance(revision=2, command_id="migrate")
    save(stores.stores, instance=written, expected_revision=1, changed_bookmarks=[stale])
    assert row(stores, "a") == ("w", "t1", at(60))
    with stores.stores.reading(None) as work:
        assert work.bookmarks.find(None, "a").node_id == "moved"


def test_a_fetch_after_a_wave_keeps_what_the_wave_wrote(stores):
    start(stores.stores, new_bookmarks=[external("a", payload={"retries": 3})])
    changed = external("a", payload={"retries": 2})
    save(
        stores.stores,
        instance=instance(revision=2, command_id="fail"),
        expected_revision=1,
        changed_bookmarks=[changed],
    )
    assert lock(stores, "pay") == ["a"]
    with stores.stores.reading(None) as work:
        (found,) = work.instances.snapshot(None, "i1").bookmarks
    assert (found.payload, found.worker_id) == ({"retries": 2}, "w")


def test_a_lock_is_changed_only_while_it_is_the_one_that_was_read(stores):
    start(stores.stores, new_bookmarks=[external("a")])
    lock(stores, "pay", now=0, seconds=60, token="old")
    extended = LockChange(bookmark_id="a", expected_token="old", worker_id="w", lock_token="old", available_at=at(90))
    save(stores.stores, lock_changes=[extended])
    assert row(stores, "a") == ("w", "old", at(90))
    lock(stores, "pay", now=90, worker="v", token="new")
    given_back = LockChange(bookmark_id="a", expected_token="old", worker_id=None, lock_token=None, available_at=None)
    failed = instance(revision=2, command_id="fail")
    with pytest.raises(RevisionConflict), stores.stores.writing(None) as work:
        work.apply(
            WriteSet(
                partition=None,
                instance=failed,
                expected_revision=1,
                changed_bookmarks=[external("a", payload={"retries": 1})],
                lock_changes=[given_back],
            )
        )
    assert row(stores, "a") == ("v", "new", at(150))
    with stores.stores.reading(None) as work:
        # Nothing of the late write is there.
        assert work.instances.find(None, "i1").revision == 1
        assert work.bookmarks.find(None, "a").payload == {}


def test_many_workers_at_once_never_lock_one_task_twice(stores):
    start(stores.stores, new_bookmarks=[external(f"a{number:03}", sequence=number) for number in range(120)])
    taken, mistakes = [], []

    def work(name):
        try:
            while True:
                found = lock(stores, "pay", worker=name, token=name, limit=7)
                if not found:
                    return
                taken.extend((one, name) for one in found)
        except Exception as error:
            mistakes.append(error)

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert mistakes == []
    # A fetch passes over what another is just locking, so all may stop before the last rows: none is lost by it.
    while more := lock(stores, "pay", worker="last", token="last"):
        taken.extend((one, "last") for one in more)
    assert sorted(one for one, _ in taken) == [f"a{number:03}" for number in range(120)]
    for one, name in taken:
        assert row(stores, one)[:2] == (name, name)
