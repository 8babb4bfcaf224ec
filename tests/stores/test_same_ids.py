"""A row of another partition that has the same id is never touched, whoever comes second (spec 8.1, 8.10)."""

from __future__ import annotations

from tests.stores.records import bookmark, follow_up, node, record, start
from tests.support.stores import StoreSet, on_every_database

NODES = ("n1", "n2")


@on_every_database
def test_a_row_of_another_partition_with_the_same_id_is_never_touched(stores: StoreSet) -> None:
    for tenant, key in (("acme", "ann"), ("zeta", "zoe")):
        own = f"i-{tenant}"
        start(
            stores.stores,
            own,
            tenant,
            # One by one, and several with one statement.
            node_instances=[node(one, own, node_id=f"of {tenant}") for one in NODES],
            new_bookmarks=[bookmark("b", own, key=key)],
            task_records=[record("b", own, assignee_id=key)],
            new_follow_ups=[follow_up("f", payload={"of": tenant})],
        )
    with stores.stores.reading("acme") as work:
        assert [one.node_id for one in work.instances.history("acme", "i-acme")] == ["of acme"] * 2
        found = work.bookmarks.find("acme", "b")
        assert found is not None
        assert (found.key, found.instance_id) == ("ann", "i-acme")
        latest = work.task_records.latest("acme", "b")
        assert latest is not None
        assert (latest.assignee_id, latest.instance_id) == ("ann", "i-acme")
    with stores.stores.reading("zeta") as work:
        assert work.instances.history("zeta", "i-zeta") == []
        assert work.bookmarks.find("zeta", "b") is None
        assert work.task_records.latest("zeta", "b") is None
