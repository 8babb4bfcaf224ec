"""Several commands read and written at once, as a poller's batch does (spec 8.10)."""

import pytest
from sqlalchemy import event

from tests.stores.records import T0, audit, bookmark, follow_up, instance, node, record, start, timer
from tests.stores.test_statements import CONTROL
from tests.support.stores import on_databases
from webapp.engine.instances.journal import EndReason, TaskEnd
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.ports.stores import RevisionConflict, WriteSet

PARTITIONS = pytest.mark.parametrize("partition", [None, "t1"])


def begin(stores, partition, *names):
    """Store instances that wait, each for a timer and a person."""
    for name in names:
        start(
            stores.stores,
            name,
            partition,
            node_instances=[
                node(f"{name}-n", name, status=NodeStatus.SUSPENDED),
                node(f"{name}-old", name, status=NodeStatus.COMPLETED),
            ],
            new_bookmarks=[timer(f"{name}-t", 5, name), bookmark(f"{name}-k", name)],
            task_records=[record(f"{name}-k", name)],
        )


def fired(partition, name, **values):
    """Return what the wave of an instance's timer stores: another timer in its place."""
    return WriteSet(
        partition=partition,
        **{
            "instance": instance(name, tenant_id=partition, revision=2, command_id=f"due-{name}"),
            "expected_revision": 1,
            "node_instances": [node(f"{name}-n", name, tenant_id=partition, status=NodeStatus.COMPLETED)],
            "new_bookmarks": [timer(f"{name}-t2", 9, name, tenant_id=partition)],
            "deleted_bookmark_ids": [f"{name}-t"],
            "audit": [audit(f"{name}-a", instance_id=name, tenant_id=partition)],
        }
        | values,
    )


def ended(partition, name):
    """Return what ends an instance."""
    done = instance(
        name, tenant_id=partition, revision=2, command_id=f"due-{name}", status=InstanceStatus.COMPLETED, ended_at=T0
    )
    ends = [TaskEnd(task_id=f"{name}-k", ended_at=T0, end_reason=EndReason.CANCELED)]
    owed = [follow_up(f"{name}-f", tenant_id=partition)]
    return fired(
        partition, name, instance=done, columns_changed=True, new_bookmarks=[], task_ends=ends, new_follow_ups=owed
    )


def apply(stores, *sets):
    with stores.stores.writing(sets[0].partition) as work:
        work.apply_all(sets)


def snapshot(stores, partition, name):
    with stores.stores.reading(partition) as work:
        return work.instances.snapshot(partition, name)


@PARTITIONS
def test_many_snapshots_are_what_each_is_alone(stores, partition):
    begin(stores, partition, "i1", "i2", "i3")
    begin(stores, "t9" if partition is None else None, "i4")
    start(
        stores.stores,
        "i5",
        partition,
        status=InstanceStatus.FAULTED,
        fault_node_instance_id="i5-n",
        node_instances=[
            node("i5-n", "i5", status=NodeStatus.FAULTED),
            node("i5-old", "i5", status=NodeStatus.COMPLETED),
        ],
    )
    with stores.stores.reading(partition) as work:
        found = work.instances.snapshots(partition, ["i3", "i1", "i4", "i5", "nothing"])
        assert sorted(found) == ["i1", "i3", "i5"]
        for name, each in found.items():
            assert each == work.instances.snapshot(partition, name)
        assert [one.id for one in found["i1"].node_instances] == ["i1-n"]
        assert [one.id for one in found["i5"].node_instances] == ["i5-n"]
        assert {one.id for one in found["i3"].bookmarks} == {"i3-t", "i3-k"}
        assert work.instances.snapshots(partition, []) == {}


@PARTITIONS
def test_several_commands_store_what_each_would_alone(stores, partition):
    begin(stores, partition, "i1", "i2", "i3", "i4")
    for one in (fired(partition, "i1"), ended(partition, "i2")):
        with stores.stores.writing(partition) as work:
            work.apply(one)
    apply(stores, fired(partition, "i3"), ended(partition, "i4"))
    with stores.stores.reading(partition) as work:
        for alone, together in (("i1", "i3"), ("i2", "i4")):
            renamed = repr(work.instances.snapshot(partition, alone)).replace(alone, together)
            assert repr(work.instances.snapshot(partition, together)) == renamed
            assert [one.id for one in work.audit.by_instance(partition, together).items] == [f"{together}-a"]
        (record_of_i4,) = work.task_records.by_instance(partition, "i4")
        assert record_of_i4.end_reason is EndReason.CANCELED
        assert {one.id for one in work.instances.snapshot(partition, "i3").bookmarks} == {"i3-t2", "i3-k"}
        assert work.instances.snapshot(partition, "i4").bookmarks == []
    with stores.stores.writing(partition) as work:
        assert work.follow_ups.claim(partition, "i4-f", T0, "x", T0) is not None


def test_one_that_lost_to_another_writer_undoes_all(stores):
    begin(stores, None, "i1", "i2", "i3")
    with stores.stores.writing(None) as work:
        work.apply(fired(None, "i2"))
    before = [snapshot(stores, None, name) for name in ("i1", "i2", "i3")]
    late = instance("i2", revision=2, command_id="late")
    with pytest.raises(RevisionConflict):
        apply(stores, fired(None, "i1"), fired(None, "i2", instance=late, audit=[]), fired(None, "i3"))
    assert [snapshot(stores, None, name) for name in ("i1", "i2", "i3")] == before


@PARTITIONS
def test_what_was_committed_already_is_not_written_again(stores, partition):
    begin(stores, partition, "i1", "i2")
    sets = fired(partition, "i1"), fired(partition, "i2")
    apply(stores, *sets)
    apply(stores, *sets)
    # Another command has changed the first since then: the trail still tells of the batch.
    newer = instance("i1", tenant_id=partition, revision=3, command_id="newer")
    with stores.stores.writing(partition) as work:
        work.apply(WriteSet(partition=partition, instance=newer, expected_revision=2))
    apply(stores, *sets)
    assert snapshot(stores, partition, "i1").instance.revision == 3
    with stores.stores.reading(partition) as work:
        assert [one.id for one in work.audit.by_instance(partition, "i2").items] == ["i2-a"]


def test_an_instance_of_another_partition_is_never_changed(stores):
    begin(stores, "t1", "i1", "i2")
    with pytest.raises(RevisionConflict):
        apply(stores, fired("t2", "i1"), fired("t2", "i2"))
    assert snapshot(stores, "t1", "i1").instance.revision == 1


def test_new_instances_and_changed_ones_may_come_together(stores):
    begin(stores, None, "i1", "i2")
    new = WriteSet(partition=None, instance=instance("i9"), is_new=True, node_instances=[node("i9-n", "i9")])
    apply(stores, fired(None, "i1"), new, fired(None, "i2"), WriteSet(partition=None, audit=[audit("lone")]))
    assert snapshot(stores, None, "i9").instance.revision == 1
    assert snapshot(stores, None, "i2").instance.revision == 2


def test_nothing_at_all_may_be_written(stores):
    with stores.stores.writing(None) as work:
        work.apply_all([])


def test_two_of_one_instance_or_of_two_partitions_are_refused(stores):
    begin(stores, None, "i1")
    for sets in ((fired(None, "i1"), fired(None, "i1")), (fired(None, "i1"), fired("t1", "i2"))):
        with pytest.raises(ValueError, match="write sets"), stores.stores.writing(None) as work:
            work.apply_all(sets)


@on_databases
def test_each_kind_of_row_is_one_statement_for_all_commands(stores):
    names = [f"i{number}" for number in range(20)]
    begin(stores, None, *names)
    seen = []

    def note(connection, cursor, statement, parameters, context, executemany):
        if not statement.startswith(CONTROL):
            seen.append(statement)

    event.listen(stores.engine, "before_cursor_execute", note)
    try:
        with stores.stores.reading(None) as work:
            work.instances.snapshots(None, names)
        assert len(seen) == 1
        seen.clear()
        apply(stores, *(fired(None, name) for name in names[:10]), *(ended(None, name) for name in names[10:]))
        # Instances, nodes, bookmarks deleted by instance and by id, bookmarks added, rounds, follow-ups, the trail.
        # MariaDB's driver updates several rows by as many statements.
        assert len(seen) == 8 + (len(names) - 1 if stores.kind == "mariadb" else 0)
    finally:
        event.remove(stores.engine, "before_cursor_execute", note)
