"""Stored answers (spec 11, Amendments)."""

from tests.stores.records import T0, at, start
from tests.support.stores import also_apart
from webapp.engine.ports.stores import IdempotencyRecord


def answer(scope="s", seconds=0, body=b'{"id":1}\x00\xff'):
    return IdempotencyRecord(
        scope=scope, body_hash="h", status=201, headers={"Location": "/x"}, body=body, created_at=at(seconds)
    )


def insert(stores, record, partition=None):
    with stores.stores.writing(partition) as work:
        work.idempotency.insert(partition, record)


def find(stores, scope="s", not_before=T0, partition=None):
    with stores.stores.reading(partition) as work:
        return work.idempotency.find(partition, scope, not_before)


def test_an_answer_comes_back_until_it_is_too_old(stores):
    insert(stores, answer())
    assert find(stores) == answer()
    assert find(stores, not_before=at(0.000001)) is None
    assert find(stores, scope="other") is None
    assert find(stores, partition="t1") is None


def test_an_expired_answer_is_replaced(stores):
    insert(stores, answer())
    insert(stores, answer(seconds=9, body=b"new"))
    assert find(stores).body == b"new"


@also_apart
def test_partitions_have_scopes_of_their_own(stores):
    for partition in (None, "t1", "t2"):
        insert(stores, answer(body=str(partition).encode()), partition)
    assert find(stores).body == b"None"
    assert find(stores, partition="t1").body == b"t1"


@also_apart
def test_purge_removes_the_old_of_the_partition(stores):
    insert(stores, answer("old"))
    insert(stores, answer("new", 10))
    insert(stores, answer("old"), "t1")
    with stores.stores.writing(None) as work:
        assert work.idempotency.purge(None, at(10), 9) == 1
    assert find(stores, "old") is None
    assert find(stores, "new") is not None
    assert find(stores, "old", partition="t1") is not None


def test_an_answer_is_stored_with_the_command(stores):
    start(stores.stores, idempotency=answer())
    assert find(stores) == answer()
