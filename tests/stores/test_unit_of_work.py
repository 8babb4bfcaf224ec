"""The unit of work and the one write of a command (spec 3.22, 8.1, 13)."""

import threading

import pytest

from tests.stores.records import T0, audit, bookmark, follow_up, instance, node, record, save, start, timer
from tests.support.stores import also_apart, on_postgresql
from webapp.engine.errors import READ_ONLY, UNAVAILABLE_CAPACITY, WorkflowError
from webapp.engine.instances.batches import Batch
from webapp.engine.instances.journal import EndReason, TaskCopy, TaskEnd
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.ports.queries import InstanceQuery, TaskQuery
from webapp.engine.ports.stores import DuplicateRecord, RevisionConflict, StoreFailure, WriteSet
from webapp.stores.memory import MemoryStores, unit_of_work


def everything(**values):
    return {
        "instance": instance(),
        "is_new": True,
        "node_instances": [node("i1-n", status=NodeStatus.SUSPENDED)],
        "new_bookmarks": [bookmark("k"), timer("t", 9)],
        "task_records": [record("k")],
        "task_copies": [TaskCopy(task_id="k", instance_id="i1", user_id="cc", created_at=T0)],
        "new_follow_ups": [follow_up("f")],
        "audit": [audit("a1")],
    } | values


def state(stores, partition=None):
    """Return all that is visible of instance i1, for comparison."""
    with stores.stores.reading(partition) as work:
        return (
            work.instances.snapshot(partition, "i1"),
            work.instances.node_instances(partition, "i1").items,
            work.task_records.by_instance(partition, "i1"),
            work.audit.by_instance(partition, "i1").items,
            work.bookmarks.list_tasks(partition, TaskQuery()).items,
            work.instances.may_read(partition, "i1", "cc"),
            work.bookmarks.claim_tokens(),
        )


def test_all_of_a_command_is_stored_together(stores):
    save(stores.stores, **everything())
    snapshot, nodes, records, entries, tasks, copied, _ = state(stores)
    assert snapshot.instance == instance()
    assert [item.id for item in nodes] == ["i1-n"]
    assert [item.id for item in snapshot.bookmarks] == ["k", "t"]
    assert [item.task_id for item in records] == ["k"]
    assert [item.id for item in entries] == ["a1"]
    assert [item.id for item in tasks] == ["k"]
    assert copied
    with stores.stores.writing(None) as work:
        assert work.follow_ups.claim(None, "f", T0, "x", T0) is not None


def test_a_block_that_raises_changes_nothing(stores):
    save(stores.stores, **everything())
    before = state(stores)
    later = WriteSet(
        partition=None,
        instance=instance(revision=2, title="New", status=InstanceStatus.FAULTED, command_id="c2"),
        expected_revision=1,
        columns_changed=True,
        node_instances=[node("i1-n", status=NodeStatus.COMPLETED), node("n2")],
        changed_bookmarks=[bookmark("k", key="bob")],
        deleted_bookmark_ids=["t"],
        task_ends=[TaskEnd(task_id="k", ended_at=T0, end_reason=EndReason.COMPLETED)],
        deleted_follow_up_ids=["f"],
        audit=[audit("a2")],
    )
    with pytest.raises(ZeroDivisionError), stores.stores.writing(None) as work:
        work.apply(later)
        assert work.instances.find(None, "i1").title == "New"  # it sees its own changes
        assert work.bookmarks.find(None, "t") is None
        1 / 0  # noqa: B018 -- any failure of the block
    assert state(stores) == before


def test_a_stale_revision_changes_nothing(stores):
    save(stores.stores, **everything())
    save(stores.stores, instance=instance(revision=2, title="First", command_id="c2"), expected_revision=1)
    before = state(stores)
    late = everything(
        instance=instance(revision=2, title="Late", command_id="c3"),
        is_new=False,
        expected_revision=1,
        deleted_bookmark_ids=["t"],
        audit=[audit("a2")],
    )
    with pytest.raises(RevisionConflict):
        save(stores.stores, **late)
    with pytest.raises(RevisionConflict):
        save(stores.stores, instance=instance("gone", revision=2), expected_revision=1)
    assert state(stores) == before


def test_a_write_that_was_committed_counts_as_done(stores):
    save(stores.stores, **everything())
    second = {
        "instance": instance(revision=2, title="New", command_id="c2"),
        "expected_revision": 1,
        "audit": [audit("a2")],
        "deleted_bookmark_ids": ["t"],
    }
    save(stores.stores, **second)
    before = state(stores)
    save(stores.stores, **second)
    save(stores.stores, **everything(instance=instance(revision=2, title="New", command_id="c2")))
    assert state(stores) == before


def test_a_start_that_was_committed_counts_as_done(stores):
    save(stores.stores, **everything())
    before = state(stores)
    save(stores.stores, **everything())
    assert state(stores) == before


def test_an_id_is_taken_once(stores):
    save(stores.stores, **everything())
    before = state(stores)
    with pytest.raises(DuplicateRecord):
        thief = instance(command_id="another", title="Thief")
        save(stores.stores, **everything(instance=thief, audit=[audit("a2")]))
    assert state(stores) == before


def test_a_revision_that_does_not_rise_is_a_programming_error(stores):
    start(stores.stores)
    with pytest.raises(ValueError, match="revision"):
        save(stores.stores, instance=instance(revision=1), expected_revision=1)


@also_apart
@pytest.mark.parametrize(
    "foreign",
    [
        {"instance": instance(tenant_id="t2"), "is_new": True},
        {"node_instances": [node("n", tenant_id="t2")]},
        {"new_bookmarks": [bookmark("b", tenant_id="t2")]},
        {"changed_bookmarks": [bookmark("b", tenant_id="t2")]},
        {"task_records": [record("k", tenant_id="t2")]},
        {"new_follow_ups": [follow_up("f", tenant_id="t2")]},
        {"audit": [audit("a", tenant_id="t2")]},
    ],
)
@pytest.mark.parametrize("partition", [None, "t1"])
def test_a_record_of_another_partition_is_a_programming_error(stores, partition, foreign):
    with pytest.raises(ValueError, match="t2"), stores.stores.writing(partition) as work:
        work.apply(WriteSet(partition=partition, **foreign))


@also_apart
@pytest.mark.parametrize("partition", [None, "t1"])
def test_a_batch_of_another_partition_is_a_programming_error_too(stores, partition):
    batch = Batch(id="b", tenant_id="t2", action="cancel", actor_id="ann", total=1, created_at=T0)
    with pytest.raises(ValueError, match="t2"), stores.stores.writing(partition) as work:
        work.batches.insert(partition, batch, ["i"])


def test_the_last_record_with_an_id_wins(stores):
    start(
        stores.stores,
        node_instances=[node("n", node_id="first"), node("n", node_id="last")],
        new_bookmarks=[bookmark("k", key="first")],
        changed_bookmarks=[bookmark("k", key="last")],
        task_records=[record("k", assignee_id="first"), record("k", assignee_id="last")],
        new_follow_ups=[follow_up("f", action="first"), follow_up("f", action="last")],
    )
    snapshot, nodes, records, *_ = state(stores)
    assert [item.node_id for item in nodes] == ["last"]
    assert [item.key for item in snapshot.bookmarks] == ["last"]
    assert [item.assignee_id for item in records] == ["last"]
    with stores.stores.writing(None) as work:
        assert work.follow_ups.claim(None, "f", T0, "x", T0).action == "last"


def test_a_transfer_changes_a_task_in_place(stores):
    save(stores.stores, **everything())
    save(
        stores.stores,
        instance=instance(revision=2, command_id="c2"),
        expected_revision=1,
        changed_bookmarks=[bookmark("k", key="bob", round=2)],
    )
    with stores.stores.reading(None) as work:
        assert work.bookmarks.find(None, "k").key == "bob"
        task = work.bookmarks.list_tasks(None, TaskQuery(mine=("bob",))).items[0]
    assert (task.id, task.instance_title) == ("k", "Leave of Ann")


def test_a_write_that_fails_late_changes_nothing(stores):
    save(stores.stores, **everything())
    before = state(stores)
    late = {
        "instance": instance(revision=2, title="New", command_id="c2"),
        "expected_revision": 1,
        "deleted_bookmark_ids": ["t"],
        "audit": [audit("a2"), audit("a1")],
    }
    for _ in range(2):
        with pytest.raises(DuplicateRecord):
            save(stores.stores, **late)
        assert state(stores) == before
    save(stores.stores, **(late | {"audit": [audit("a2")]}))
    assert state(stores)[0].instance.title == "New"


@also_apart
@pytest.mark.parametrize("partition", [None, "t1"])
def test_a_start_that_was_overtaken_before_its_answer_came_is_done(stores, partition):
    # The commit's answer was lost, and a poller ran what was due before the write came again.
    entry = audit("a1", tenant_id=partition)
    save(stores.stores, partition, **everything(audit=[entry]))
    overtaking = instance(revision=2, title="Later", command_id="due")
    save(stores.stores, partition, instance=overtaking, expected_revision=1)
    after = state(stores, partition)
    save(stores.stores, partition, **everything(audit=[entry]))
    assert state(stores, partition) == after
    with pytest.raises(DuplicateRecord):
        save(stores.stores, partition, **everything(audit=[audit("a2", tenant_id=partition)]))


@also_apart
@pytest.mark.parametrize("partition", [None, "t1"])
def test_a_change_that_was_overtaken_before_its_answer_came_is_done(stores, partition):
    start(stores.stores, partition=partition)
    change = {
        "instance": instance(revision=2, title="Mine", command_id="mine"),
        "expected_revision": 1,
        "audit": [audit("a2", tenant_id=partition)],
    }
    save(stores.stores, partition, **change)
    save(stores.stores, partition, instance=instance(revision=3, command_id="other"), expected_revision=2)
    after = state(stores, partition)
    save(stores.stores, partition, **change)
    assert state(stores, partition) == after


@on_postgresql
def test_a_connection_lost_in_the_middle_of_a_write_changes_nothing(stores, break_connection):
    save(stores.stores, **everything())
    before = state(stores)
    with pytest.raises(StoreFailure) as caught, stores.stores.writing(None) as work:
        pid = work._transaction.connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        break_connection(pid)
        work.apply(
            WriteSet(
                partition=None,
                instance=instance(revision=2, title="New", command_id="c2"),
                expected_revision=1,
                audit=[audit("a2")],
            )
        )
    assert caught.value.transient
    assert state(stores) == before


@pytest.mark.parametrize("status", [InstanceStatus.COMPLETED, InstanceStatus.CANCELED, InstanceStatus.TERMINATED])
def test_an_ended_instance_keeps_no_waiting_point(stores, status):
    save(stores.stores, **everything())
    start(stores.stores, "i2", new_bookmarks=[bookmark("other", "i2")])
    save(
        stores.stores,
        instance=instance(revision=2, status=status, ended_at=T0, command_id="c2"),
        expected_revision=1,
        columns_changed=True,
        deleted_bookmark_ids=["k"],
    )
    with stores.stores.reading(None) as work:
        assert list(work.bookmarks.by_instance(None, "i1")) == []
        assert len(work.bookmarks.by_instance(None, "i2")) == 1


def test_a_faulted_instance_keeps_what_waits_for_a_retry(stores):
    save(stores.stores, **everything())
    save(
        stores.stores,
        instance=instance(revision=2, status=InstanceStatus.FAULTED, command_id="c2"),
        expected_revision=1,
        columns_changed=True,
        deleted_bookmark_ids=["k"],
    )
    with stores.stores.reading(None) as work:
        assert [item.id for item in work.bookmarks.by_instance(None, "i1")] == ["t"]


def test_a_reader_changes_nothing(stores):
    with pytest.raises(WorkflowError) as caught, stores.stores.reading(None) as work:
        work.apply(WriteSet(partition=None, **everything()))
    assert caught.value.code == READ_ONLY
    with stores.stores.reading(None) as work:
        assert work.instances.find(None, "i1") is None


def test_a_second_writer_in_one_thread_is_a_programming_error(stores):
    with (
        stores.stores.writing(None),
        pytest.raises(RuntimeError, match="open in this thread"),
        stores.stores.writing(None),
    ):
        pass


def test_a_reader_does_not_wait_for_a_writer_and_sees_what_is_committed(stores):
    start(stores.stores)
    with stores.stores.writing(None) as work:
        work.apply(
            WriteSet(partition=None, instance=instance(revision=2, title="New", command_id="c2"), expected_revision=1)
        )
        seen = []

        def read():
            with stores.stores.reading(None) as reader:
                seen.append(reader.instances.find(None, "i1").title)
                seen.append(reader.instances.list(None, InstanceQuery()).total)

        thread = threading.Thread(target=read)
        thread.start()
        thread.join(5)
        assert seen == ["Leave of Ann", 1]
    with stores.stores.reading(None) as work:
        assert work.instances.find(None, "i1").title == "New"


def test_of_writers_with_one_revision_one_wins(stores):
    start(stores.stores)
    results = []
    ready = threading.Barrier(8)

    def write(number):
        changed = instance(revision=2, title=f"by {number}", command_id=f"c{number}")
        ready.wait()
        try:
            save(stores.stores, instance=changed, expected_revision=1, audit=[audit(f"x{number}")])
            results.append(number)
        except RevisionConflict:
            pass

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(results) == 1
    with stores.stores.reading(None) as work:
        assert work.instances.find(None, "i1").title == f"by {results[0]}"
        assert [item.id for item in work.audit.by_instance(None, "i1").items] == [f"x{results[0]}"]


def test_many_threads_write_side_by_side(stores):
    failures = []

    def write(number):
        try:
            for step in range(5):
                start(
                    stores.stores,
                    f"i{number}-{step}",
                    new_bookmarks=[bookmark(f"b{number}-{step}", f"i{number}-{step}")],
                )
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    with stores.stores.reading(None) as work:
        assert work.instances.list(None, InstanceQuery()).total == 30
        assert work.bookmarks.count_tasks(None, TaskQuery()) == 30


def test_an_instance_of_another_partition_is_not_overwritten(stores):
    start(stores.stores, "i1", "t1", title="Theirs")
    with pytest.raises((RevisionConflict, DuplicateRecord)):
        save(stores.stores, "t2", instance=instance(revision=2, command_id="c2"), expected_revision=1)
    with pytest.raises((RevisionConflict, DuplicateRecord)):
        save(stores.stores, "t2", instance=instance(command_id="c2"), is_new=True)
    save(stores.stores, "t2", deleted_bookmark_ids=["k"], deleted_follow_up_ids=["f"])
    with stores.stores.reading("t1") as work:
        assert work.instances.find("t1", "i1").title == "Theirs"
        assert work.instances.find("t2", "i1") is None


def test_a_full_memory_store_refuses_new_instances_only():
    stores = MemoryStores(capacity=1)
    start(stores)
    with pytest.raises(WorkflowError) as caught:
        start(stores, "i2")
    assert caught.value.code == UNAVAILABLE_CAPACITY
    save(stores, instance=instance(revision=2, command_id="c2"), expected_revision=1)


def test_a_writer_in_memory_that_does_not_end_is_a_passing_failure(monkeypatch):
    monkeypatch.setattr(unit_of_work, "_WRITER_TIMEOUT_SECONDS", 0.05)
    stores = MemoryStores()
    caught = []

    def write():
        try:
            with stores.writing(None):
                pass
        except StoreFailure as failure:
            caught.append(failure.transient)

    with stores.writing(None):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(5)
    assert caught == [True]
