"""Connections that are borrowed from the pool without SQLAlchemy's around them: what they must not lose by that."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import text

from tests.stores.records import audit, instance
from tests.stores.test_idempotency import answer
from tests.support.stores import StoreSet, on_every_database, on_postgresql, on_servers
from webapp.engine.ports.stores import StoreFailure, UnitOfWork, WriteSet
from webapp.stores.sql import SqlStores

OWN_NUMBER = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT connection_id()"}
"""By what a server names a connection."""


def stores_of(found: StoreSet) -> SqlStores:
    assert isinstance(found.stores, SqlStores)
    return found.stores


def in_use(found: StoreSet) -> int:
    """Return how many connections are out of the pool."""
    assert found.engine is not None
    return found.engine.pool.checkedout()  # type: ignore[attr-defined,no-any-return]  # both pools count


@on_every_database
def test_sqlalchemys_connection_is_in_the_same_transaction(stores: StoreSet) -> None:
    with stores_of(stores).writing(None) as work:
        work.apply(WriteSet(partition=None, instance=instance("i1"), is_new=True))
        connection = work.application()
        assert connection.execute(text("SELECT id FROM platform_instances")).scalars().all() == ["i1"]
    assert in_use(stores) == 0
    with stores_of(stores).reading(None) as work:
        assert work.instances.find(None, "i1") is not None
        assert work.application().execute(text("SELECT count(*) FROM platform_instances")).scalar_one() == 1
    assert in_use(stores) == 0


@on_every_database
@pytest.mark.parametrize("asked", [False, True], ids=["driver", "sqlalchemy"])
def test_what_raises_leaves_nothing_and_no_connection(stores: StoreSet, asked: bool) -> None:
    with pytest.raises(LookupError), stores_of(stores).writing(None) as work:
        work.apply(WriteSet(partition=None, instance=instance("i1"), is_new=True))
        if asked:
            work.application()
        raise LookupError
    with pytest.raises(LookupError), stores_of(stores).reading(None) as work:
        raise LookupError
    assert in_use(stores) == 0
    with stores_of(stores).reading(None) as work:
        assert work.instances.find(None, "i1") is None


@on_servers
@pytest.mark.parametrize("asked", [False, True], ids=["driver", "sqlalchemy"])
def test_a_lost_connection_is_a_passing_failure_and_no_other_call_meets_one(
    stores: StoreSet, break_connection: Callable[[int], None], asked: bool
) -> None:
    found = stores_of(stores)
    # Only the two that are to break: a third from an earlier test would answer in their place.
    found.database.engine.dispose()
    with found.reading(None) as first, found.reading(None) as second:
        pids = [work.application().execute(text(OWN_NUMBER[stores.kind])).scalar_one() for work in (first, second)]
    for pid in pids:
        break_connection(pid)
    with pytest.raises(StoreFailure) as refused, found.reading(None) as work:
        if asked:
            work.application()
        work.instances.find(None, "i1")
    assert refused.value.transient
    for _ in range(2):
        with found.reading(None) as one, found.reading(None) as other:
            assert one.instances.find(None, "i1") is other.instances.find(None, "i1") is None
    assert in_use(stores) == 0


@on_servers
def test_a_reader_that_commits_each_statement_leaves_writers_their_transactions(stores: StoreSet) -> None:
    found = stores_of(stores)
    with found.reading(None) as work:
        work.instances.find(None, "i1")
    with pytest.raises(LookupError), found.writing(None) as work:
        work.apply(WriteSet(partition=None, instance=instance("i1"), is_new=True))
        raise LookupError
    with found.reading(None) as work:
        assert work.instances.find(None, "i1") is None


ASKED: dict[str, Callable[[UnitOfWork], object]] = {
    "sqlalchemy": lambda work: work.application(),
    "read": lambda work: work.instances.find(None, "i2"),
    "write": lambda work: work.idempotency.insert(None, answer()),
    "apply": lambda work: work.apply(WriteSet(partition=None, instance=instance("i2"), is_new=True)),
}


@on_postgresql
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_an_answer_that_was_held_back_is_a_failure_of_the_store_wherever_it_is_asked_for(
    stores: StoreSet, break_connection: Callable[[int], None], ask: Callable[[UnitOfWork], object]
) -> None:
    stores_of(stores).database.engine.dispose()
    with pytest.raises(LookupError), stores_of(stores).writing(None) as work:
        with stores_of(stores).reading(None) as other:
            others = other.application().execute(
                text("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
            )
            pids = set(others.scalars())
            mine = other.application().execute(text("SELECT pg_backend_pid()")).scalar_one()
        work.apply(WriteSet(partition=None, instance=instance("i1"), is_new=True, audit=[audit("a1")]))
        for pid in pids - {mine}:
            break_connection(pid)
        with pytest.raises(StoreFailure) as refused:
            ask(work)
        assert refused.value.transient
        raise LookupError
