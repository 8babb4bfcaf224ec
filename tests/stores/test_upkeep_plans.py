"""No statement of housekeeping or sealing walks over a whole table, on either database (spec 8.10)."""

import re

import pytest
from sqlalchemy import event

from tests.stores.records import at, audit
from tests.stores.test_purge import ended, with_nodes
from tests.support.stores import on_planned
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.instances.seals import AuditHead, Seal
from webapp.engine.ports.purge import PurgeRun, PurgeTree, PurgeWish, TreeSize

WISH = PurgeWish(before=at(10), statuses=(InstanceStatus.COMPLETED, InstanceStatus.FAULTED))
RUN = PurgeRun(started_at=at(0), moved_at=at(1), ended_before=at(2))
TREES = [PurgeTree("a", TreeSize.WHOLE, 9), PurgeTree("b", TreeSize.MARKED, 9), PurgeTree("w", TreeSize.WIDE, 2)]
HEAD = AuditHead(seal_number=2, hash="h", at=at(9))


def lookups(work):
    found = work.purges.pick("t", WISH, trees=100, rows=1_000)
    work.purges.pick("t", PurgeWish(before=at(10), definition_name="leave"), trees=100, rows=1_000, after=found.place)
    work.purges.backlog("t", WISH, 1_000)
    work.purges.last_run("t")


def takes(work):
    work.purges.take("t", TREES, WISH, at(20))
    work.purges.note("t", RUN)


def sweeps(work):
    takes(work)
    while work.purges.sweep("t", 3, at(20)).rows:
        pass


def ages(work):
    work.idempotency.purge("t", at(5), 9)
    work.timer_firings.purge("t", at(5), 9)
    work.signals.purge("t", at(5), 9)
    work.batches.purge("t", at(5), 9)


def seals(work):
    work.seals.waiting()
    work.seals.unsealed("t", 100)
    work.seals.backlog("t", 1_000)
    work.seals.newest_head("t")
    work.seals.seal("t", [Seal("x", 1, "g"), Seal("y", 2, "h")], HEAD)
    work.seals.sealed("t", 0, 100)
    work.seals.heads("t", 0, 100)


CASES = {"lookups": lookups, "takes": takes, "sweeps": sweeps, "ages": ages, "seals": seals}


@pytest.fixture
def filled(stores):
    for name in ("a", "b", "w"):
        ended(stores, name, 1, partition="t")
        with_nodes(stores, name, 5, "t")
        for status in (InstanceStatus.COMPLETED, InstanceStatus.FAULTED):
            lineage = {"parent_instance_id": name, "root_instance_id": name}
            ended(stores, f"{name}-{status}", 1, status, "t", **lineage)
    with stores.stores.writing("t") as work:
        work.audit.append("t", [audit(name, tenant_id="t", sequence=1) for name in "xy"])
    return stores


def explained(stores, statement, parameters):
    """Return the plan's steps. PostgreSQL may read a table as a whole only where it has no other way."""
    with stores.engine.connect() as connection:
        if stores.kind == "sqlite":
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            return [row[-1] for row in rows]
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        return list(connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).scalars())


def walks(kind, steps):
    """Return the steps that read the whole of a table, or the whole of an index that holds all of a table's rows."""
    if kind == "postgresql":
        return [step for step in steps if "Seq Scan" in step]
    # The index of unsealed rows holds none but these; what is in brackets or has a name of ours is no table.
    whole = [step for step in steps if re.match(r"SCAN (platform_)?[a-z_]+($| USING)", step)]
    return [step for step in whole if "audit_sequence" not in step.replace("tenant_id_", "") and "found" not in step]


def statements_of(stores, act):
    """Do it in a unit of work, and return its statements with their parameters."""
    seen = []

    def note(connection, cursor, statement, parameters, context, executemany):
        if re.match(r"\s*(SELECT|WITH|UPDATE|DELETE|INSERT)", statement):
            seen.append((statement, parameters[0] if executemany else parameters))

    event.listen(stores.engine, "before_cursor_execute", note)
    with stores.stores.writing("t") as work:
        act(work)
    event.remove(stores.engine, "before_cursor_execute", note)
    assert seen
    return seen


@on_planned
@pytest.mark.parametrize("case", CASES)
def test_no_statement_reads_a_whole_table(filled, case):
    seen = statements_of(filled, CASES[case])
    bad = {
        statement: steps
        for statement, values in seen
        if walks(filled.kind, steps := explained(filled, statement, values))
    }
    assert bad == {}
