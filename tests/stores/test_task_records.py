"""The task record store (spec 1.17, 25)."""

import pytest

from tests.stores.records import at, record, save, start
from tests.support.stores import also_apart
from webapp.engine.instances.bookmarks import Priority
from webapp.engine.instances.journal import EndReason, TaskEnd
from webapp.engine.ports.queries import Paging


def end(task_id, seconds, reason=EndReason.COMPLETED, **values):
    return TaskEnd(task_id=task_id, ended_at=at(seconds), end_reason=reason, **values)


def test_a_round_comes_back_as_it_was(stores):
    stored = record(
        "k",
        round=2,
        sequence=5,
        starter_id="eve",
        actor_id="ann",
        on_behalf_of="bob",
        as_operator=True,
        outcome="approved",
        comment="fine",
        priority=Priority.LOW,
        task_due_at=at(9),
        opened_at=at(1),
        ended_at=at(2),
        end_reason=EndReason.COMPLETED,
    )
    start(stores.stores, task_records=[stored])
    with stores.stores.reading(None) as work:
        assert work.task_records.latest(None, "k") == stored
        assert work.task_records.latest(None, "none") is None
        assert work.task_records.latest("t1", "k") is None


def test_an_end_closes_the_round_that_is_open(stores):
    start(stores.stores, task_records=[record("k"), record("other")])
    save(stores.stores, task_ends=[end("k", 5, EndReason.TRANSFERRED, actor_id="ann", comment="away")])
    save(stores.stores, task_records=[record("k", round=2, assignee_id="bob", created_at=at(5))])
    save(stores.stores, task_ends=[end("k", 9, round=2, actor_id="bob", outcome="approved", on_behalf_of="eve")])
    save(stores.stores, task_ends=[end("k", 99, EndReason.CANCELED, round=2), end("none", 1)])
    with stores.stores.reading(None) as work:
        first, second = (item for item in work.task_records.by_instance(None, "i1") if item.task_id == "k")
        assert work.task_records.latest(None, "other").ended_at is None
        assert work.task_records.latest(None, "k") == second
    assert (first.end_reason, first.ended_at, first.actor_id, first.comment) == (
        EndReason.TRANSFERRED,
        at(5),
        "ann",
        "away",
    )
    assert (second.end_reason, second.ended_at, second.outcome, second.on_behalf_of) == (
        EndReason.COMPLETED,
        at(9),
        "approved",
        "eve",
    )


def test_a_task_may_begin_and_end_in_one_write(stores):
    start(stores.stores, task_records=[record("k")], task_ends=[end("k", 1, EndReason.SIBLING)])
    with stores.stores.reading(None) as work:
        assert work.task_records.latest(None, "k").end_reason is EndReason.SIBLING


def test_rounds_of_an_instance_are_oldest_first(stores):
    start(
        stores.stores,
        task_records=[
            record("c", created_at=at(2)),
            record("b", created_at=at(1), sequence=2),
            record("a", created_at=at(1), sequence=1, round=2),
            record("a", created_at=at(1), sequence=1),
        ],
    )
    start(stores.stores, "i2", task_records=[record("x", "i2")])
    with stores.stores.reading(None) as work:
        found = [(item.task_id, item.round) for item in work.task_records.by_instance(None, "i1")]
        assert list(work.task_records.by_instance("t1", "i1")) == []
    assert found == [("a", 1), ("a", 2), ("b", 1), ("c", 1)]


def done(stores, keyword=None, paging=None, partition=None, account="ann"):
    with stores.stores.reading(partition) as work:
        page = work.task_records.done_by(partition, account, keyword, paging or Paging())
    return [item.id for item in page.items], page.total


def test_done_by_me_is_what_i_completed_newest_first(stores):
    records = [record(f"k{number}", instance_title=f"Trip {number}%") for number in range(4)]
    start(stores.stores, task_records=records)
    save(
        stores.stores,
        task_ends=[
            end("k0", 1, actor_id="ann", outcome="approved"),
            end("k1", 3, actor_id="ann"),
            end("k2", 2, actor_id="bob"),
            end("k3", 4, EndReason.TRANSFERRED, actor_id="ann"),
        ],
    )
    assert done(stores) == (["k1", "k0"], 2)
    assert done(stores, keyword="TRIP 0%") == (["k0"], 1)
    assert done(stores, keyword="_") == ([], 0)
    assert done(stores, paging=Paging(limit=1, offset=1)) == (["k0"], 2)
    assert done(stores, partition="t1") == ([], 0)
    with stores.stores.reading(None) as work:
        item = work.task_records.done_by(None, "ann", None, Paging()).items[1]
    assert (item.outcome, item.ended_at, item.end_reason, item.round) == ("approved", at(1), EndReason.COMPLETED, 1)


@pytest.mark.parametrize("keyword", ["approve", "trip", "leave", "po-7"])
def test_the_keyword_finds_task_instance_definition_and_correlation_id(stores, keyword):
    start(stores.stores, task_records=[record("k", instance_title="Trip", correlation_id="PO-7")])
    save(stores.stores, task_ends=[end("k", 1, actor_id="ann")])
    assert done(stores, keyword=keyword) == (["k"], 1)


@also_apart
def test_records_of_another_partition_are_not_changed(stores):
    start(stores.stores, "a", "t1", task_records=[record("k", "a")])
    save(stores.stores, "t2", task_ends=[end("k", 1)])
    with stores.stores.reading("t1") as work:
        assert work.task_records.latest("t1", "k").ended_at is None
