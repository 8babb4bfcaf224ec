"""How many statements a command and a list cost (issue: Speed and size; spec 8.10)."""

from contextlib import contextmanager

import pytest
from sqlalchemy import event

from tests.stores.records import (
    T0,
    at,
    attempt,
    audit,
    bookmark,
    delivery,
    instance,
    node,
    notice,
    record,
    save,
    start,
    timer,
)
from tests.support.stores import on_every_database
from webapp.engine.instances.bookmarks import Lane
from webapp.engine.instances.journal import EndReason, TaskEnd
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.notifications.model import DeliveryState
from webapp.engine.ports.queries import InstanceQuery, Paging, TaskQuery
from webapp.engine.ports.stores import WriteSet

pytestmark = on_every_database

CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "PRAGMA")


@pytest.fixture
def statements(stores):
    """Counts the statements of a block, by their first word."""

    @contextmanager
    def counting():
        seen = []

        def note(connection, cursor, statement, parameters, context, executemany):
            if not statement.startswith(CONTROL):
                seen.append(statement)

        event.listen(stores.engine, "before_cursor_execute", note)
        try:
            yield seen
        finally:
            event.remove(stores.engine, "before_cursor_execute", note)

    return counting


def without_fence(seen, partition):
    """Return the statements of a transaction but for the last of a tenant's, which asks for its fence."""
    if partition is None:
        return seen
    assert " fences " in f"{seen[-1]} ".replace("\n", " "), seen
    return seen[:-1]


@pytest.mark.parametrize("partition", [None, "t1"])
def test_ten_nodes_straight_through_are_three_writes(stores, statements, partition):
    nodes = [node(f"n{number}", status=NodeStatus.COMPLETED) for number in range(10)]
    write_set = {
        "instance": instance(status=InstanceStatus.COMPLETED, ended_at=T0),
        "is_new": True,
        "columns_changed": True,
        "node_instances": nodes,
    }
    entry = audit("a", tenant_id=partition)
    with statements() as seen:
        save(stores.stores, partition, **write_set, audit=[entry])
    assert [statement.split()[0] for statement in without_fence(seen, partition)] == ["INSERT"] * 3


def completion(next_task):
    values = {
        "instance": instance(
            revision=2,
            command_id="c2",
            status=InstanceStatus.RUNNING if next_task else InstanceStatus.COMPLETED,
        ),
        "expected_revision": 1,
        "columns_changed": not next_task,
        "node_instances": [node("i1-n", status=NodeStatus.COMPLETED), node("end")],
        "deleted_bookmark_ids": ["k"],
        "task_ends": [TaskEnd(task_id="k", ended_at=T0, end_reason=EndReason.COMPLETED)],
        "audit": [audit("a2")],
    }
    if next_task:
        values |= {"new_bookmarks": [bookmark("k2")], "task_records": [record("k2")]}
    return values


@pytest.mark.parametrize(("next_task", "writes"), [(False, 5), (True, 7)])
def test_completing_a_task_is_one_read_and_five_writes(stores, statements, next_task, writes):
    start(
        stores.stores,
        node_instances=[node("i1-n", status=NodeStatus.SUSPENDED)],
        new_bookmarks=[bookmark("k")],
        task_records=[record("k")],
    )
    with statements() as seen, stores.stores.reading(None) as work:
        work.instances.snapshot(None, "i1")
    assert len(seen) == 1
    with statements() as seen:
        save(stores.stores, **completion(next_task))
    assert len(seen) == writes


def test_a_kind_of_row_is_one_statement_whatever_their_number(stores, statements):
    many = range(50)
    start(stores.stores, new_bookmarks=[bookmark(f"old{number}") for number in many])
    with statements() as seen:
        save(
            stores.stores,
            instance=instance(revision=2, command_id="c2"),
            expected_revision=1,
            node_instances=[node(f"n{number}") for number in many],
            new_bookmarks=[bookmark(f"new{number}") for number in many],
            deleted_bookmark_ids=[f"old{number}" for number in many],
            task_records=[record(f"new{number}") for number in many],
            task_ends=[TaskEnd(task_id=f"old{number}", ended_at=T0, end_reason=EndReason.SIBLING) for number in many],
            audit=[audit(f"a{number}") for number in many],
        )
    assert len(seen) == 7


@pytest.mark.parametrize("partition", [None, "t1"])
@pytest.mark.parametrize("number", [1, 5])
def test_notices_are_one_statement_of_a_command_and_deliveries_another(stores, statements, partition, number):
    told = {
        "notices": [notice(f"n{one}") for one in range(number)],
        "deliveries": [delivery(f"d{one}") for one in range(number)],
    }
    with statements() as seen:
        save(stores.stores, partition, instance=instance(), is_new=True, node_instances=[node("n")], **told)
    prefix = "" if partition else "platform_"
    wanted = [f"{prefix}{name}" for name in ("instances", "node_instances", "notices", "deliveries")]
    written = without_fence(seen, partition)
    assert [statement.split()[:3:2] for statement in written] == [["INSERT", name] for name in wanted]


def test_claiming_deliveries_is_a_read_and_a_write_of_each_set(stores, statements):
    save(stores.stores, "t1", deliveries=[delivery(f"d{number}") for number in range(9)])
    with statements() as seen, stores.stores.writing(None) as work:
        found = work.deliveries.claim_due(T0, 9, "t", at(60))
    # Those that are due, which of them wait in a line, those of the platform.
    assert [statement.split()[0] for statement in seen] == ["SELECT", "SELECT", "SELECT", "UPDATE"]
    found[0].state = DeliveryState.SENT
    with statements() as seen, stores.stores.writing("t1") as work:
        assert work.deliveries.settle("t1", found[0], attempt(found[0].id), "t")
    # With the next of its line, to which it hands over.
    assert [statement.split()[0] for statement in without_fence(seen, "t1")] == ["UPDATE", "INSERT", "SELECT"]
    with statements() as seen, stores.stores.writing(None) as work:
        work.deliveries.claim_due(T0, 9, "t", at(60))
    assert [statement.split()[0] for statement in seen] == ["SELECT", "SELECT"]


def test_a_list_is_rows_and_total_and_reads_no_document(stores, statements):
    start(stores.stores, new_bookmarks=[bookmark(f"k{number}") for number in range(5)])
    query = TaskQuery(mine=("ann",), keyword="leave", paging=Paging(limit=2))
    with statements() as seen, stores.stores.reading(None) as work:
        work.bookmarks.list_tasks(None, query)
        work.instances.list(None, InstanceQuery(keyword="leave", paging=Paging(limit=1)))
    # With a keyword each row tells the total: what was found once is counted and cut. SQLite asks first whether the
    # word is a rare one.
    assert len(seen) == (3 if stores.kind == "sqlite" else 2)
    assert not any("document" in statement for statement in seen)
    with statements() as seen, stores.stores.reading(None) as work:
        work.instances.counts(None, InstanceQuery())
    assert len(seen) == 1


def test_a_page_that_is_not_full_tells_the_total_itself(stores, statements):
    start(stores.stores, new_bookmarks=[bookmark(f"k{number}") for number in range(5)])
    for offset, limit, total, cost in ((0, 6, 5, 1), (3, 3, 5, 1), (0, 5, 5, 2), (5, 5, 5, 2), (9, 5, 5, 2)):
        query = TaskQuery(paging=Paging(offset=offset, limit=limit))
        with statements() as seen, stores.stores.reading(None) as work:
            assert work.bookmarks.list_tasks(None, query).total == total
        assert len(seen) == cost
    with statements() as seen, stores.stores.reading(None) as work:
        assert work.bookmarks.list_tasks(None, TaskQuery(mine=("nobody",))).total == 0
    assert len(seen) == 1


def test_claiming_when_nothing_is_due_writes_nothing(stores, statements):
    start(stores.stores, new_bookmarks=[timer("t", 60)])
    with statements() as seen, stores.stores.writing(None) as work:
        work.bookmarks.claim_due(at(1), 100, "t", at(60), list(Lane))
    assert not any(statement.startswith(("UPDATE", "INSERT", "DELETE")) for statement in seen)


def test_a_wave_does_not_read_a_long_history(stores):
    done = [node(f"n{number}", status=NodeStatus.COMPLETED) for number in range(3000)]
    start(stores.stores, node_instances=done, new_bookmarks=[bookmark("k")])
    with stores.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, node_instances=[node("i1-n", status=NodeStatus.SUSPENDED)]))
    with stores.stores.reading(None) as work:
        assert [item.id for item in work.instances.snapshot(None, "i1").node_instances] == ["i1-n"]
