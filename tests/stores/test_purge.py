"""Purging: whole ended trees and all that hangs on them (spec 3.20, 8.10)."""

import itertools

import pytest

from tests.stores.records import at, attempt, bookmark, delivery, instance, node, notice, record, start
from tests.support.stores import also_apart
from webapp.engine.instances.journal import AuditEntry, TaskCopy
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.notifications.model import DeliveryState
from webapp.engine.ports.notices import DeliveryQuery, NoticeQuery
from webapp.engine.ports.purge import PurgeBacklog, Purged, PurgeRun, PurgeTree, PurgeWish, TreeSize
from webapp.engine.ports.queries import InstanceQuery
from webapp.engine.ports.stores import RevisionConflict, WriteSet


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


def purge(stores, seconds, limit=100, partition=None, rows=1_000, **wanted):
    """Pick, take and sweep until nothing is left of what was picked; return the number of instances."""
    wish = PurgeWish(before=at(seconds), **wanted)
    done = pick_and_take(stores, wish, limit, partition, rows)
    while sweep(stores, partition, rows).rows:
        pass
    return done.instances


def pick_and_take(stores, wish, limit=100, partition=None, rows=1_000):
    with stores.stores.reading(partition) as work:
        pick = work.purges.pick(partition, wish, trees=limit, rows=rows)
    return take(stores, pick.trees, wish, partition)


def take(stores, trees, wish, partition=None):
    with stores.stores.writing(partition) as work:
        return work.purges.take(partition, trees, wish, at(1_000))


def shown(pick):
    return {tree.root_id: tree.size.value for tree in pick.trees}


def sweep(stores, partition=None, rows=1_000):
    with stores.stores.writing(partition) as work:
        return work.purges.sweep(partition, rows, at(1_000))


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


@also_apart
def test_partitions_are_purged_apart(stores):
    for partition in (None, "t1", "t2"):
        ended(stores, f"of-{partition}", 1, partition=partition)
    assert purge(stores, 10, partition="t1") == 1
    assert (left(stores), left(stores, "t1"), left(stores, "t2")) == (["of-None"], [], ["of-t2"])


def test_only_trees_of_a_definition(stores):
    ended(stores, "a", 1, definition_name="bill")
    ended(stores, "a-child", 1, definition_name="part", parent_instance_id="a", root_instance_id="a")
    ended(stores, "b", 1, definition_name="order")
    ended(stores, "b-child", 1, definition_name="bill", parent_instance_id="b", root_instance_id="b")
    assert purge(stores, 10, definition_name="bill") == 2
    assert left(stores) == ["b", "b-child"]


def test_only_roots_of_the_statuses_and_faulted_ones_where_they_are_named(stores):
    for name, status in (("done", "COMPLETED"), ("off", "CANCELED"), ("bad", "FAULTED")):
        ended(stores, name, 1, InstanceStatus[status])
        ended(stores, f"{name}-c", 1, InstanceStatus.FAULTED, parent_instance_id=name, root_instance_id=name)
    assert purge(stores, 10) == 0
    assert purge(stores, 10, statuses=(InstanceStatus.CANCELED, InstanceStatus.FAULTED)) == 4
    assert left(stores) == ["done", "done-c"]
    assert purge(stores, 10, statuses=(InstanceStatus.COMPLETED,)) == 0


ALL = PurgeWish(before=at(10))
WITH_FAULTED = PurgeWish(before=at(10), statuses=(InstanceStatus.COMPLETED, InstanceStatus.FAULTED))


def with_nodes(stores, instance_id, number, partition=None):
    with stores.stores.writing(partition) as work:
        nodes = [node(f"{instance_id}-{one}", instance_id, tenant_id=partition) for one in range(number)]
        work.apply(WriteSet(partition=partition, node_instances=nodes))


def picked(stores, wish=ALL, partition=None, **limits):
    with stores.stores.reading(partition) as work:
        return work.purges.pick(partition, wish, **{"trees": 100, "rows": 1_000, **limits})


def nodes_of(stores, instance_id):
    with stores.stores.reading(None) as work:
        return work.instances.node_instances(None, instance_id).total


def test_a_pick_goes_on_from_its_place(stores):
    for name in "abcd":
        ended(stores, name, 1)
    first = picked(stores, trees=3)
    # Itself, a node instance, a task round, its copy and a bookmark.
    assert first.trees == [PurgeTree(name, TreeSize.WHOLE, 5) for name in "abc"]
    second = picked(stores, trees=3, after=first.place)
    assert (list(shown(second)), second.place) == (["d"], None)


def test_a_tree_with_a_living_descendant_is_passed_by(stores):
    ended(stores, "a", 1)
    start(stores.stores, "a-child", parent_instance_id="a", root_instance_id="a")
    ended(stores, "b", 2)
    found = picked(stores)
    assert (list(shown(found)), found.place) == (["b"], None)


def test_a_huge_tree_is_gone_at_once_and_swept_in_parts(stores):
    ended(stores, "huge", 1)
    with_nodes(stores, "huge", 30)
    ended(stores, "small", 2)
    pick = picked(stores, rows=20)
    assert shown(pick) == {"huge": "marked", "small": "whole"}
    assert take(stores, pick.trees, ALL).instances == 2
    assert left(stores) == []
    assert nodes_of(stores, "small") == 0
    assert nodes_of(stores, "huge") == 31
    with stores.stores.reading(None) as work:
        assert work.purges.backlog(None, ALL, 9) == PurgeBacklog(trees=0, oldest=None, marked=1)
        assert work.instances.snapshot(None, "huge") is None
    assert sweep(stores, rows=20).rows == 20
    assert 0 < nodes_of(stores, "huge") < 31
    while sweep(stores, rows=20).rows:
        pass
    assert nodes_of(stores, "huge") == 0
    with stores.stores.reading(None) as work:
        assert work.task_records.by_instance(None, "huge") == []
        assert work.purges.backlog(None, ALL, 9).marked == 0
        assert work.audit.by_instance(None, "huge").total == 1


def wide(stores, children, status=InstanceStatus.COMPLETED):
    ended(stores, "root", 1)
    for number in range(children):
        ended(stores, f"c{number}", 1, status, parent_instance_id="root", root_instance_id="root")


def test_a_tree_of_many_instances_loses_its_root_first(stores):
    wide(stores, 8)
    pick = picked(stores, rows=10)
    assert shown(pick) == {"root": "wide"}
    assert take(stores, pick.trees, ALL) == Purged(1, 1)
    assert left(stores) == [f"c{number}" for number in range(8)]
    swept = 0
    for _ in range(30):
        done = sweep(stores, rows=10)
        swept += done.instances
        if not done.rows:
            break
    assert swept == 8
    assert left(stores) == []
    assert [nodes_of(stores, f"c{number}") for number in range(8)] == [0] * 8


def test_no_command_reaches_a_faulted_child_of_a_tree_that_is_being_purged(stores):
    wide(stores, 8, InstanceStatus.FAULTED)
    assert picked(stores, rows=10).trees == []
    pick = picked(stores, WITH_FAULTED, rows=10)
    assert take(stores, pick.trees, WITH_FAULTED).instances == 1
    with stores.stores.writing(None) as work, pytest.raises(RevisionConflict):
        read = work.instances.find(None, "c0")
        read.status, read.revision, read.command_id = InstanceStatus.RUNNING, read.revision + 1, "retry"
        work.apply(WriteSet(partition=None, instance=read, expected_revision=read.revision - 1))
    while sweep(stores, rows=10).rows:
        pass
    assert left(stores) == []


@pytest.mark.parametrize("size", TreeSize)
def test_what_runs_again_between_pick_and_take_stays(stores, size):
    ended(stores, "a", 1, InstanceStatus.FAULTED)
    ended(stores, "b", 2)
    ended(stores, "b-child", 2, InstanceStatus.FAULTED, parent_instance_id="b", root_instance_id="b")
    ended(stores, "c", 3)
    for name in ("a", "b-child"):
        with stores.stores.writing(None) as work:
            one = work.instances.find(None, name)
            one.status, one.ended_at, one.revision = InstanceStatus.RUNNING, None, one.revision + 1
            one.command_id = f"retry-{name}"
            work.apply(WriteSet(partition=None, instance=one, expected_revision=one.revision - 1))
    take(stores, [PurgeTree(name, size, 9) for name in "abc"], WITH_FAULTED)
    assert left(stores) == ["a", "b", "b-child"]


def test_a_backlog_is_counted_up_to_its_limit(stores):
    for name, seconds in (("a", 3), ("b", 1), ("c", 99)):
        ended(stores, name, seconds)
    ended(stores, "bad", 0, InstanceStatus.FAULTED)
    with stores.stores.reading(None) as work:
        assert work.purges.backlog(None, ALL, 9) == PurgeBacklog(trees=2, oldest=at(1), marked=0)
        assert work.purges.backlog(None, ALL, 1).trees == 1
        assert work.purges.backlog(None, WITH_FAULTED, 9) == PurgeBacklog(trees=3, oldest=at(0), marked=0)


@also_apart
def test_marks_and_runs_of_partitions_are_apart(stores):
    for partition in (None, "t1"):
        ended(stores, f"of-{partition}", 1, partition=partition)
        with_nodes(stores, f"of-{partition}", 9, partition)
        take(stores, picked(stores, partition=partition, rows=5).trees, ALL, partition)
    run = PurgeRun(started_at=at(0), moved_at=at(1), ended_before=at(2), instances=3, removed_rows=4)
    with stores.stores.writing("t1") as work:
        work.purges.note("t1", run)
    while sweep(stores, "t1").rows:
        pass
    with stores.stores.reading("t1") as work:
        assert work.purges.backlog("t1", ALL, 9).marked == 0
        assert work.purges.last_run("t1") == run
    with stores.stores.reading(None) as work:
        assert work.purges.backlog(None, ALL, 9).marked == 1
        assert work.purges.last_run(None) is None


def test_a_run_is_kept_as_it_last_was(stores):
    first = PurgeRun(started_at=at(0), moved_at=at(1), ended_before=at(2), instances=3, removed_rows=4)
    last = PurgeRun(started_at=at(0), moved_at=at(5), ended_at=at(6), ended_before=at(2), instances=9, removed_rows=12)
    for run in (first, last):
        with stores.stores.writing(None) as work:
            work.purges.note(None, run)
    with stores.stores.reading(None) as work:
        assert work.purges.last_run(None) == last


def with_notices(stores, instance_id, *states, partition=None):
    """Store a notice of an instance, and a delivery of it in each state with an attempt where one was made."""
    own = {"instance_id": instance_id, "tenant_id": partition}
    names = {state: f"{instance_id}-{state.value}" for state in states}
    sent = [delivery(names[state], **own) for state in states]
    with stores.stores.writing(partition) as work:
        work.apply(WriteSet(partition=partition, notices=[notice(f"{instance_id}-notice", **own)], deliveries=sent))
        tried = [one for one in states if one in (DeliveryState.SENT, DeliveryState.DEAD)]
        claimed = {one.id: one for one in work.deliveries.claim_due(at(0), 99, "x", at(60))}
        for state in tried:
            one = claimed[names[state]]
            one.state, one.ended_at = state, at(1)
            assert work.deliveries.settle(partition, one, attempt(one.id), "x")
        work.deliveries.give_back("x", list(claimed))


def told(stores, *instance_ids, partition=None):
    """Return the ids of the notices and deliveries of instances that are left, and of those with attempts."""
    with stores.stores.reading(partition) as work:
        found = [one.id for name in instance_ids for one in _told(work, partition, name)]
        return found, [one for one in found if work.deliveries.attempts(partition, one)]


def _told(work, partition, name):
    yield from work.notices.list(partition, "ann", NoticeQuery(instance_id=name)).items
    yield from work.deliveries.list(partition, DeliveryQuery(instance_id=name)).items


OPEN_AND_OVER = (DeliveryState.PENDING, DeliveryState.DEAD, DeliveryState.SENT)


@pytest.mark.parametrize(("nodes", "rows", "size"), [(0, 1_000, "whole"), (30, 20, "marked")])
def test_notices_go_with_their_instance_and_deliveries_once_they_are_settled(stores, nodes, rows, size):
    for name, partition in (("old", None), ("new", None), ("theirs", "t1")):
        ended(stores, name, 99 if name == "new" else 1, partition=partition)
        with_notices(stores, name, *OPEN_AND_OVER, partition=partition)
    with_nodes(stores, "old", nodes)
    assert shown(picked(stores, rows=rows)) == {"old": size}
    assert purge(stores, 10, rows=rows) == 1
    assert told(stores, "old") == (["old-pending", "old-dead"], ["old-dead"])
    assert [len(one) for one in told(stores, "new")] == [4, 2]
    assert [len(one) for one in told(stores, "theirs", partition="t1")] == [4, 2]
    with stores.stores.writing(None) as work:
        assert work.deliveries.drop(None, ["old-pending", "old-dead"], at(20)) == 2
        # Their instance is gone: by now they go by age alone.
        assert work.deliveries.purge(None, at(21), 99) == 3
    assert told(stores, "old") == ([], [])


def test_notices_and_settled_deliveries_count_as_rows_of_their_tree(stores):
    ended(stores, "a", 1)
    ended(stores, "child", 1, parent_instance_id="a", root_instance_id="a")
    with_notices(stores, "a", *OPEN_AND_OVER)
    with_notices(stores, "child", DeliveryState.SENT)
    # Five rows each, with a notice each, and a delivery each that is sent.
    assert picked(stores).trees == [PurgeTree("a", TreeSize.WHOLE, 14)]
    assert pick_and_take(stores, ALL) == Purged(2, 14)


def test_what_was_sent_of_a_marked_instance_is_swept_in_parts(stores):
    ended(stores, "huge", 1)
    with stores.stores.writing(None) as work:
        sent = [delivery(f"d{number:02}", instance_id="huge") for number in range(30)]
        work.apply(WriteSet(partition=None, deliveries=sent))
        for one in work.deliveries.claim_due(at(0), 99, "x", at(60)):
            one.state, one.ended_at = DeliveryState.SENT, at(1)
            work.deliveries.settle(None, one, attempt(one.id), "x")
    pick = picked(stores, rows=20)
    assert shown(pick) == {"huge": "marked"}
    take(stores, pick.trees, ALL)
    left_over = [len(told(stores, "huge")[0])]
    while sweep(stores, rows=10).rows:
        left_over.append(len(told(stores, "huge")[0]))
    assert left_over[0] == 30
    assert left_over[-1] == 0
    assert all(before - after <= 10 for before, after in itertools.pairwise(left_over))
    assert told(stores, "huge") == ([], [])
