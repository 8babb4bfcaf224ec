"""Purging: whole ended trees and all that hangs on them (spec 3.20, 8.10)."""

from tests.stores.records import at, bookmark, instance, node, record, start
from webapp.engine.instances.journal import AuditEntry, TaskCopy
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.queries import InstanceQuery
from webapp.engine.ports.stores import WriteSet


def ended(stores, instance_id, seconds, status=InstanceStatus.COMPLETED, partition=None, **values):
    made = instance(instance_id, status=status, ended_at=at(seconds), tenant_id=partition, **values)
    with stores.stores.writing(partition) as work:
        work.apply(_whole(made, partition))


def _whole(made, partition):
    name = made.id
    return WriteSet(
        partition=partition,
        instance=made,
        is_new=True,
        node_instances=[node(f"{name}-n", name, tenant_id=partition)],
        new_bookmarks=[bookmark(f"{name}-b", name, tenant_id=partition)],
        task_records=[record(f"{name}-b", name, tenant_id=partition)],
        task_copies=[TaskCopy(task_id=f"{name}-b", instance_id=name, user_id="cc", created_at=at(0))],
        audit=[AuditEntry(id=f"{name}-a", tenant_id=partition, at=at(0), action="start", instance_id=name)],
    )


def purge(stores, seconds, limit=100, partition=None):
    with stores.stores.writing(partition) as work:
        return work.instances.purge(partition, at(seconds), limit)


def left(stores, partition=None):
    with stores.stores.reading(partition) as work:
        return sorted(one.id for one in work.instances.list(partition, InstanceQuery()).items)


def test_everything_of_an_instance_goes_but_its_audit_trail(stores):
    ended(stores, "old", 10)
    ended(stores, "new", 20)
    assert purge(stores, 10) == 1
    assert left(stores) == ["new"]
    with stores.stores.reading(None) as work:
        assert work.instances.find(None, "old") is None
        assert work.instances.node_instances(None, "old").total == 0
        assert work.bookmarks.by_instance(None, "old") == []
        assert work.task_records.by_instance(None, "old") == []
        assert work.audit.by_instance(None, "old").total == 1
        assert not work.instances.may_read(None, "old", "cc")
        assert work.instances.node_instances(None, "new").total == 1
        assert len(work.bookmarks.by_instance(None, "new")) == 1
        assert work.instances.may_read(None, "new", "cc")


def test_the_oldest_end_first_and_no_more_than_the_limit(stores):
    for name, seconds in (("c", 3), ("a", 1), ("b", 2)):
        ended(stores, name, seconds)
    assert purge(stores, 10, limit=2) == 2
    assert left(stores) == ["c"]
    assert purge(stores, 10, limit=2) == 1
    assert purge(stores, 10, limit=2) == 0


def test_what_runs_or_may_be_retried_stays(stores):
    ended(stores, "faulted", 1, InstanceStatus.FAULTED)
    start(stores.stores, "running")
    ended(stores, "canceled", 1, InstanceStatus.CANCELED)
    ended(stores, "terminated", 1, InstanceStatus.TERMINATED)
    assert purge(stores, 10) == 2
    assert left(stores) == ["faulted", "running"]


def test_a_tree_goes_as_a_whole_or_not_at_all(stores):
    for root, child_end, status in (
        ("whole", 2, InstanceStatus.COMPLETED),
        ("late", 99, InstanceStatus.COMPLETED),
        ("alive", 2, InstanceStatus.FAULTED),
    ):
        ended(stores, root, 1)
        lineage = {"root_instance_id": root, "parent_instance_id": root, "depth": 1}
        ended(stores, f"{root}-child", child_end, status, **lineage)
    assert purge(stores, 10) == 2
    assert left(stores) == ["alive", "alive-child", "late", "late-child"]


def test_partitions_are_purged_apart(stores):
    for partition in (None, "t1", "t2"):
        ended(stores, f"of-{partition}", 1, partition=partition)
    assert purge(stores, 10, partition="t1") == 1
    assert (left(stores), left(stores, "t1"), left(stores, "t2")) == (["of-None"], [], ["of-t2"])
