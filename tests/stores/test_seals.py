"""Seals of the trail as the stores keep them: numbers once each, heads with them, partitions apart (spec 13)."""

import pytest

from tests.stores.records import at, audit
from webapp.engine.instances.seals import AuditHead, Seal
from webapp.engine.ports.seals import SealLost, Unsealed


def append(stores, *ids, partition=None, **values):
    with stores.stores.writing(partition) as work:
        entries = [
            audit(name, sequence=number, tenant_id=partition, at=at(number), **values)
            for number, name in enumerate(ids, start=1)
        ]
        work.audit.append(partition, entries)


def seal(stores, first, *ids, partition=None):
    """Seal rows with made-up hashes from that number on."""
    seals = [Seal(name, number, f"hash-{number}") for number, name in enumerate(ids, start=first)]
    head = AuditHead(seal_number=seals[-1].number, hash=seals[-1].hash, at=at(60))
    with stores.stores.writing(partition) as work:
        work.seals.seal(partition, seals, head)


def asked(stores, question, partition=None):
    with stores.stores.reading(partition) as work:
        return question(work.seals)


def test_rows_wait_in_their_order_until_they_are_sealed(stores):
    append(stores, "b", "a", "c")
    assert [row.id for row in asked(stores, lambda seals: seals.unsealed(None, 2))] == ["b", "a"]
    assert asked(stores, lambda seals: seals.backlog(None, 2)) == Unsealed(count=2, oldest=at(1))
    seal(stores, 1, "b", "a")
    assert [row.id for row in asked(stores, lambda seals: seals.unsealed(None, 9))] == ["c"]
    assert asked(stores, lambda seals: seals.backlog(None, 9)) == Unsealed(count=1, oldest=at(3))
    seal(stores, 3, "c")
    assert asked(stores, lambda seals: seals.backlog(None, 9)) == Unsealed(count=0, oldest=None)


def test_a_sealed_row_comes_back_with_all_it_holds(stores):
    append(stores, "a", before={"x": 1}, actor_id="ann", comment="ok")
    seal(stores, 1, "a")
    (row,) = asked(stores, lambda seals: seals.sealed(None, 0, 9))
    assert (row.id, row.seal_number, row.hash, row.at) == ("a", 1, "hash-1", at(1))
    assert (row.before, row.after, row.actor_id, row.comment) == ('{"x":1}', None, "ann", "ok")


def test_rows_and_heads_are_read_on_from_a_number(stores):
    append(stores, "a", "b", "c")
    seal(stores, 1, "a", "b")
    seal(stores, 3, "c")
    assert [row.id for row in asked(stores, lambda seals: seals.sealed(None, 1, 1))] == ["b"]
    heads = [AuditHead(seal_number=number, hash=f"hash-{number}", at=at(60)) for number in (2, 3)]
    assert asked(stores, lambda seals: seals.heads(None, 0, 9)) == heads
    assert asked(stores, lambda seals: seals.heads(None, 2, 9)) == heads[1:]
    assert asked(stores, lambda seals: seals.newest_head(None)) == heads[1]


def test_heads_are_forgotten_in_their_own_partition(stores):
    for partition in (None, "t1", "t2"):
        append(stores, *(f"{partition}{number}" for number in range(3)), partition=partition)
        for number in range(3):
            seal(stores, number + 1, f"{partition}{number}", partition=partition)
    with stores.stores.writing("t1") as work:
        assert work.seals.forget_heads("t1", [1, 2, 9]) == 2
        assert work.seals.forget_heads("t1", []) == 0
    left = {
        one: [head.seal_number for head in asked(stores, lambda seals, one=one: seals.heads(one, 0, 9), one)]
        for one in (None, "t1", "t2")
    }
    assert left == {None: [1, 2, 3], "t1": [3], "t2": [1, 2, 3]}


@pytest.mark.parametrize(("first", "ids"), [(1, ("b",)), (2, ("a",)), (2, ("b", "gone"))])
def test_a_number_and_a_row_are_sealed_once(stores, first, ids):
    append(stores, "a", "b")
    seal(stores, 1, "a")
    with pytest.raises(SealLost):
        seal(stores, first, *ids)
    assert [row.id for row in asked(stores, lambda seals: seals.sealed(None, 0, 9))] == ["a"]
    assert len(asked(stores, lambda seals: seals.heads(None, 0, 9))) == 1


def test_each_partition_has_a_chain_of_its_own(stores):
    for partition in (None, "t1", "t2"):
        append(stores, f"of-{partition}", partition=partition)
    assert asked(stores, lambda seals: seals.waiting()) == [None, "t1", "t2"]
    for partition in (None, "t1"):
        seal(stores, 1, f"of-{partition}", partition=partition)
    assert asked(stores, lambda seals: seals.waiting()) == ["t2"]
    assert asked(stores, lambda seals: seals.partitions()) == [None, "t1", "t2"]
    assert [row.id for row in asked(stores, lambda seals: seals.sealed("t1", 0, 9), "t1")] == ["of-t1"]
    assert asked(stores, lambda seals: seals.newest_head("t2"), "t2") is None
    with pytest.raises(SealLost):
        seal(stores, 2, "of-t2", partition="t1")


def test_what_was_rolled_back_is_not_there_to_be_sealed(stores):
    with pytest.raises(ZeroDivisionError), stores.stores.writing(None) as work:
        work.audit.append(None, [audit("a")])
        raise ZeroDivisionError
    assert asked(stores, lambda seals: seals.unsealed(None, 9)) == []
    assert asked(stores, lambda seals: seals.waiting()) == []
