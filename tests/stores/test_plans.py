"""SQLite goes by the index that was made for a query, in an empty database already (spec 8.8)."""

import pytest
from sqlalchemy import event

from tests.stores.records import at
from tests.support.stores import sqlite_stores
from webapp.engine.instances.bookmarks import Lane
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.external_tasks import TopicLock
from webapp.engine.ports.queries import InstanceQuery, TaskQuery

RUNNING = (InstanceStatus.RUNNING,)
CASES = {
    "mine": (lambda work: work.bookmarks.list_tasks("t", TaskQuery(mine=("ann",))), "bookmarks_inbox"),
    "mine and others'": (
        lambda work: work.bookmarks.list_tasks(
            "t", TaskQuery(mine=("ann",), stands_in=(("bob", ()), ("eve", ("leave", "expense"))))
        ),
        "bookmarks_inbox",
    ),
    "claimable": (
        lambda work: work.bookmarks.list_tasks("t", TaskQuery(claimable=("ann", "role:hr"))),
        "bookmarks_inbox",
    ),
    "due": (
        lambda work: work.bookmarks.claim_due(at(0), 9, "x", at(60), list(Lane)),
        "bookmarks_due_at",
    ),
    "any due": (lambda work: work.bookmarks.any_due(at(0), list(Lane)), "bookmarks_due_at"),
    "tokens": (lambda work: work.bookmarks.claim_tokens(), "bookmarks_claim_token"),
    "newest": (lambda work: work.instances.list("t", InstanceQuery()), "ix_instances_newest"),
    "status": (
        lambda work: work.instances.list("t", InstanceQuery(statuses=RUNNING)),
        "ix_instances_status",
    ),
    "starter": (
        lambda work: work.instances.list("t", InstanceQuery(starter_id="ann")),
        "instances_tenant_id_starter_id_created_at",
    ),
    "readable": (
        lambda work: work.instances.list("t", InstanceQuery(readable_by="ann")),
        "SEARCH instances USING INDEX sqlite_autoindex_instances_1 (id=?)",
    ),
    "unfinished": (lambda work: work.instances.find_unfinished("t", "C"), "instances_tenant_id_correlation_id"),
    "children": (lambda work: work.instances.children("t", "p"), "instances_tenant_id_parent_instance_id"),
    "wave": (lambda work: work.instances.snapshot("t", "i"), "node_instances_instance_id_status"),
    "waves": (lambda work: work.instances.snapshots("t", ["i", "j"]), "node_instances_instance_id_status"),
    "external tasks": (
        lambda work: work.external_tasks.any_available("t", ["pay", "ship"], at(0)),
        "bookmarks_key_kind_created_at",
    ),
    "locking": (
        lambda work: work.external_tasks.lock_available("t", [TopicLock(topic="pay", until=at(9))], at(0), 9, "w", "x"),
        "bookmarks_key_kind_created_at",
    ),
    "locking several topics": (
        lambda work: work.external_tasks.lock_available(
            "t", [TopicLock(topic=name, until=at(9)) for name in ("pay", "ship")], at(0), 9, "w", "x"
        ),
        "bookmarks_key_kind_created_at",
    ),
    "signal": (
        lambda work: work.signals.targets("t", "paid", "C", at(0), 100),
        "bookmarks_key_kind_created_at",
    ),
    "kept signals": (lambda work: work.signals.kept("t", ["paid"], at(0)), "stored_signals_name_created_at"),
    "counts": (
        lambda work: work.instances.counts("t", InstanceQuery()),
        "COVERING INDEX ix_instances_",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_query_goes_by_its_index(migrated_sqlite, tmp_path, case):
    query, index = CASES[case]
    with sqlite_stores(migrated_sqlite, tmp_path) as found:
        seen = []

        def note(connection, cursor, statement, parameters, context, executemany):
            if statement.startswith(("SELECT", "WITH")):
                seen.append((statement, parameters))

        event.listen(found.engine, "before_cursor_execute", note)
        with found.stores.writing("t") as work:
            query(work)
        event.remove(found.engine, "before_cursor_execute", note)
        statement, parameters = seen[0]
        with found.engine.connect() as connection:
            plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    assert any(index in step for step in plan), "\n".join(plan)
