"""The audit trail (spec 13, 25)."""

import pytest

from tests.stores.records import at, audit, start
from tests.support.stores import also_apart
from webapp.engine.numbers import JsonDecimal
from webapp.engine.ports.queries import Paging
from webapp.engine.ports.stores import DuplicateRecord


def append(stores, *entries, partition=None):
    with stores.stores.writing(partition) as work:
        work.audit.append(partition, entries)


def test_an_entry_comes_back_as_it_was(stores):
    stored = audit(
        "a",
        sequence=3,
        actor_id="ann",
        on_behalf_of="bob",
        definition_id="d",
        task_id="k",
        node_id="n",
        outcome="approved",
        comment="ok",
        reason="r",
        request_id="q",
        command_id="c",
        before={"x": JsonDecimal("1.0")},
        after={},
    )
    append(stores, stored)
    with stores.stores.reading(None) as work:
        assert work.audit.by_instance(None, "i1").items == [stored]


def test_entries_are_oldest_first(stores):
    append(
        stores,
        audit("c", at=at(2)),
        audit("b", at=at(1), sequence=2),
        audit("a2", at=at(1), sequence=1),
        audit("a1", at=at(1), sequence=1),
        audit("x", instance_id="i2"),
    )
    with stores.stores.reading(None) as work:
        page = work.audit.by_instance(None, "i1")
        window = work.audit.by_instance(None, "i1", Paging(limit=2, offset=1))
    assert ([item.id for item in page.items], page.total) == (["a1", "a2", "b", "c"], 4)
    assert ([item.id for item in window.items], window.total) == (["a2", "b"], 4)


def test_a_definition_has_its_own_entries_not_its_instances(stores):
    append(
        stores,
        audit("publish", definition_id="d", instance_id=None, at=at(2)),
        audit("create", definition_id="d", instance_id=None, at=at(1)),
        audit("start", definition_id="d"),
    )
    with stores.stores.reading(None) as work:
        assert [item.id for item in work.audit.by_definition(None, "d")] == ["create", "publish"]
        assert list(work.audit.by_definition("t1", "d")) == []


def test_nothing_is_ever_replaced(stores):
    append(stores, audit("a"))
    with pytest.raises(DuplicateRecord):
        append(stores, audit("a", action="cancel"))
    with stores.stores.reading(None) as work:
        assert [item.action for item in work.audit.by_instance(None, "i1").items] == ["start"]


@also_apart
def test_partitions_do_not_see_each_other(stores):
    append(stores, audit("p"))
    append(stores, audit("t", tenant_id="t1"), partition="t1")
    with stores.stores.reading("t1") as work:
        assert [item.id for item in work.audit.by_instance("t1", "i1").items] == ["t"]
        assert work.audit.by_instance("t2", "i1").total == 0
    with pytest.raises(ValueError, match="t1"):
        append(stores, audit("x", tenant_id="t1"))


def test_a_command_leaves_its_entry(stores):
    start(stores.stores, audit=[audit("a")])
    with stores.stores.reading(None) as work:
        assert work.audit.by_instance(None, "i1").total == 1
