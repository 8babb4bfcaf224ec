"""Long lists are read by indexes that hold their order, whatever the database has learnt of the rows (spec 8.8)."""

import time

import pytest
from sqlalchemy import event, insert, text

from tests.stores.records import at, bookmark, instance, start
from tests.support.stores import POSTGRESQL, sqlite_stores
from webapp.engine.instances.bookmarks import Priority
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.queries import InstanceQuery, Paging, Sort, TaskQuery
from webapp.stores import rows
from webapp.stores.sql import keyword_index
from webapp.stores.sql.keyword_index import take_all_over
from webapp.stores.sql.tables import TENANT_SET

ROWS = 8_000
GROUPS = ("ann", *(f"role:{number}" for number in range(20)))


def paging(*sorts, **window):
    return Paging(sorts=tuple(Sort(sort.removeprefix("-"), sort.startswith("-")) for sort in sorts), **window)


def tasks(**filters):
    return lambda work: work.bookmarks.list_tasks("t", TaskQuery(**filters))


def instances(**filters):
    return lambda work: work.instances.list("t", InstanceQuery(**filters))


RUNNING, ENDED = InstanceStatus.RUNNING, InstanceStatus.COMPLETED
LISTS = {
    "mine": tasks(mine=GROUPS),
    "mine by due date": tasks(mine=GROUPS, paging=paging("-dueAt")),
    "claimable": tasks(claimable=GROUPS),
    "inbox": tasks(mine=GROUPS, claimable=GROUPS),
    "inbox with keyword": tasks(mine=GROUPS, claimable=GROUPS, keyword="琥珀"),
    "inbox with one character": tasks(mine=GROUPS, claimable=GROUPS, keyword="琥"),
    "inbox due soon": tasks(mine=GROUPS, due_before=at(50), paging=paging("dueAt")),
    "one person's": tasks(assignee="role:3", paging=paging("-createdAt")),
    "all": tasks(),
    "all, newest first": tasks(paging=paging("-createdAt")),
    "all by due date": tasks(paging=paging("dueAt")),
    "all by due date, last first": tasks(paging=paging("-dueAt", offset=500)),
    "all by priority": tasks(paging=paging("-priority", "createdAt")),
    "all, far down": tasks(paging=paging(offset=7_000)),
    "all with keyword": tasks(keyword="琥珀"),
    "instances": instances(),
    "instances, far down": instances(paging=paging(offset=7_000)),
    "instances, oldest first": instances(paging=paging("createdAt")),
    "running": instances(statuses=(RUNNING,)),
    "running or ended": instances(statuses=(RUNNING, ENDED)),
    "instances by status": instances(paging=paging("-status")),
    "instances by end": instances(paging=paging("-endedAt")),
    "top level": instances(top_level_only=True),
    "a definition's": instances(definition_name="d7"),
    "a starter's": instances(starter_id="u7"),
    "a starter's with keyword": instances(starter_id="u7", keyword="琥珀"),
    "instances with keyword": instances(keyword="琥珀"),
    "readable": instances(readable_by="u7"),
    "with one of these correlation ids": instances(correlation_ids=("c1", "c2")),
    "counts": lambda work: work.instances.counts("t", InstanceQuery()),
    "counts of a definition": lambda work: work.instances.counts("t", InstanceQuery(definition_name="d7")),
    "number of mine": lambda work: work.bookmarks.count_tasks("t", TaskQuery(mine=GROUPS)),
}


def fill(engine):
    """Store instances with a task each in the fewest statements, and let PostgreSQL learn what they are like."""
    owners, waiting = [], []
    long = {"text": "x" * 1_000}
    for number in range(ROWS):
        owner = instance(
            f"i{number}",
            tenant_id="t",
            sequence=number,
            title=f"采购 {number}{' 琥珀' if number % 2_000 == 7 else ''}",
            definition_name=f"d{number % 40}",
            correlation_id=f"c{number}",
            starter_id=f"u{number % 100}",
            status=RUNNING if number % 2 else ENDED,
            ended_at=None if number % 2 else at(number),
            created_at=at(number),
            variables=long,
        )
        task = bookmark(
            f"k{number}",
            owner.id,
            tenant_id="t",
            sequence=number,
            key=f"role:{number % 200}" if number % 2 else f"u{number % 100}",
            created_at=at(number),
            task_due_at=at(number) if number % 3 else None,
            priority=list(Priority)[number % 4],
            payload=long,
        )
        owners.append(rows.instance_row(owner))
        waiting.append(rows.bookmark_row(task, rows.instance_columns(owner) | {"instance_status": "Running"}))
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            # Tests before this one have emptied the tables row by row: their indexes are still as long as they were.
            connection.exec_driver_sql("TRUNCATE instances, bookmarks")
        connection.execute(insert(TENANT_SET.instances), owners)
        connection.execute(insert(TENANT_SET.bookmarks), waiting)
        if engine.dialect.name == "sqlite":
            take_all_over(connection)
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for table in ("instances", "bookmarks"):
                vacuum(connection, table)


def vacuum(connection, table):
    """Have a table's indexes be enough by themselves: not before no other session sees an older state of it."""
    seen = text("SELECT relallvisible >= relpages FROM pg_class WHERE oid = CAST(:name AS regclass)")
    for _ in range(100):
        connection.exec_driver_sql(f"VACUUM (ANALYZE) {table}")
        if connection.execute(seen, {"name": table}).scalar_one():
            return
        time.sleep(0.1)
    raise AssertionError(f"somebody still sees an older state of {table}")


def plans(stores, query):
    """Return what the database says of how it runs each statement of a query."""
    seen = []

    def note(connection, cursor, statement, parameters, context, executemany):
        if statement.startswith(("SELECT", "WITH")):
            seen.append((statement, parameters))

    event.listen(stores.engine, "before_cursor_execute", note)
    with stores.stores.reading("t") as work:
        query(work)
    event.remove(stores.engine, "before_cursor_execute", note)
    explain = "EXPLAIN QUERY PLAN" if stores.kind == "sqlite" else "EXPLAIN"
    with stores.engine.connect() as connection:
        return [
            [row[-1].strip() for row in connection.exec_driver_sql(f"{explain} {statement}", parameters)]
            for statement, parameters in seen
        ]


@pytest.mark.parametrize("stores", ["sqlite", POSTGRESQL], indirect=True)
def test_no_list_goes_through_all_rows(stores):
    fill(stores.engine)
    scan = "SCAN" if stores.kind == "sqlite" else "Seq Scan on"
    through_all = {f"{scan} {table}" for table in ("bookmarks", "instances")}
    found = {name: plans(stores, query) for name, query in LISTS.items()}
    slow = {
        name: plan
        for name, each in found.items()
        for plan in each
        if any(" ".join(step.removeprefix("->").split()[: len(scan.split()) + 1]) in through_all for step in plan)
    }
    assert slow == {}
    words = "bookmarks_words_index" if stores.kind == "sqlite" else "ix_bookmarks_words"
    assert words in str(found["all with keyword"])
    assert "bookmarks_inbox" in str(found["inbox with keyword"])
    assert words not in str(found["inbox with keyword"])


def test_a_common_word_is_looked_for_without_the_index(migrated_sqlite, tmp_path, monkeypatch):
    monkeypatch.setattr(keyword_index, "COMMON", 3)
    with sqlite_stores(migrated_sqlite, tmp_path) as stores:
        for number in range(4):
            start(stores.stores, f"i{number}", "t", title="采购" if number else "采购 琥珀")
        with stores.engine.begin() as connection:
            take_all_over(connection)
        for keyword, indexed, number in (("采购", False, 4), ("琥珀", True, 1)):
            query = instances(keyword=keyword)
            assert ("instances_words_index" in str(plans(stores, query)[1])) is indexed
            with stores.stores.reading("t") as work:
                assert query(work).total == number
