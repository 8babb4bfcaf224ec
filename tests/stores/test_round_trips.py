"""How often a command waits for a server's answer: what need not be looked at travels together (spec 8.10)."""

import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event

from tests.stores.records import at, audit, bookmark, delivery, instance, node, notice, save, start
from tests.support.stores import on_postgresql
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.stores import DuplicateRecord, StoreFailure, WriteSet

pytestmark = on_postgresql


@contextmanager
def trips(engine):
    """Count the server's answers "ready for the next", as the driver's library sees them."""
    with tempfile.NamedTemporaryFile("r") as trace:
        traced = []

        def begin(connection, entry, proxy):
            if connection not in traced:
                traced.append(connection)
                connection.pgconn.trace(trace.fileno())

        event.listen(engine, "checkout", begin)
        found = []
        try:
            yield found
        finally:
            event.remove(engine, "checkout", begin)
            for connection in traced:
                connection.pgconn.untrace()
            # Opened anew: the library's handle has moved this one's place.
            found += [line for line in Path(trace.name).read_text().splitlines() if "ReadyForQuery" in line]


def begun(**values):
    return WriteSet(
        partition=None,
        instance=instance(status=InstanceStatus.RUNNING),
        is_new=True,
        node_instances=[node("n1"), node("n2")],
        new_bookmarks=[bookmark("k")],
        audit=[audit("a")],
        **values,
    )


def test_a_command_is_written_in_two_trips(stores):
    start(stores.stores, "warm")
    with trips(stores.engine) as seen, stores.stores.writing(None) as work:
        work.apply(begun())
    # BEGIN with the instance's row, whose count decides; all else with COMMIT.
    assert len(seen) == 2, seen
    with stores.stores.reading(None) as work:
        assert {one.id for one in work.instances.snapshot(None, "i1").bookmarks} == {"k"}


def test_a_tenants_fence_is_asked_for_in_the_trip_of_the_commit(stores):
    # Of the connections that earlier tests have left one that rested for long would be asked whether it lives.
    stores.engine.dispose()
    save(stores.stores, "t1", instance=instance("warm"), is_new=True)
    changed = {"instance": instance("warm", revision=2, command_id="c2"), "expected_revision": 1}
    with trips(stores.engine) as seen:
        save(stores.stores, "t1", **changed, new_bookmarks=[bookmark("k", "warm", tenant_id="t1")])
    assert len(seen) == 2, seen
    # What waits for each of its answers has the commit's trip anyway.
    with trips(stores.engine) as seen, stores.stores.writing("t1") as work:
        work.bookmarks.push_back("t1", "k", at(9), 1)
    assert len(seen) == 3, seen
    with trips(stores.engine) as seen, stores.stores.writing(None) as work:
        work.bookmarks.push_back(None, "k", at(9), 1)
    assert len(seen) == 3, seen


def test_whom_a_command_tells_costs_no_trip(stores):
    start(stores.stores, "warm", notices=[notice("w")], deliveries=[delivery("w")])
    told = {"notices": [notice("a"), notice("b")], "deliveries": [delivery("a"), delivery("b")]}
    with trips(stores.engine) as seen, stores.stores.writing(None) as work:
        work.apply(begun(**told))
    assert len(seen) == 2, seen
    with stores.stores.reading(None) as work:
        assert (work.notices.unread(None, "ann"), work.deliveries.find(None, "b")) == (3, delivery("b"))


def test_what_is_asked_afterwards_is_answered_first(stores):
    with stores.stores.writing(None) as work:
        work.apply(begun())
        assert work.instances.find(None, "i1").id == "i1"
        assert [entry.id for entry in work.audit.by_instance(None, "i1").items] == ["a"]
        work.apply(WriteSet(partition=None, instance=instance(revision=2, command_id="c2"), expected_revision=1))
    with stores.stores.reading(None) as work:
        assert work.instances.find(None, "i1").revision == 2


def test_a_write_without_an_instance_is_committed_too(stores):
    with stores.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, audit=[audit("lone")]))
    with stores.stores.reading(None) as work:
        assert work.audit.holds(None, "lone")


def test_what_the_last_statements_refuse_undoes_all(stores):
    with stores.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, audit=[audit("a")]))
    with pytest.raises(DuplicateRecord), stores.stores.writing(None) as work:
        work.apply(begun())
    with stores.stores.reading(None) as work:
        assert work.instances.find(None, "i1") is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda work: work.seals.newest_head(None),
        lambda work: work.audit.append(None, [audit("b")]),
        lambda work: work.application(),
    ],
    ids=["read", "write", "sqlalchemy"],
)
def test_what_is_asked_afterwards_is_told_of_the_refusal_as_what_it_is(stores, ask):
    with stores.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, audit=[audit("a")]))
    with pytest.raises(DuplicateRecord), stores.stores.writing(None) as work:
        work.apply(begun())
        ask(work)


def test_the_connection_is_as_good_as_new_after_a_refusal(stores):
    with stores.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, audit=[audit("a")]))
    for _ in range(3):
        with pytest.raises((DuplicateRecord, StoreFailure)), stores.stores.writing(None) as work:
            work.apply(begun())
    with stores.stores.writing(None) as work:
        write_set = begun()
        write_set.audit = [audit("b")]
        work.apply(write_set)
    with stores.stores.reading(None) as work:
        assert work.audit.holds(None, "b")


def test_a_block_that_fails_after_its_write_leaves_nothing(stores):
    with pytest.raises(ZeroDivisionError), stores.stores.writing(None) as work:
        work.apply(begun())
        1 / 0  # noqa: B018 -- any failure of the block
    with stores.stores.reading(None) as work:
        assert work.instances.find(None, "i1") is None
