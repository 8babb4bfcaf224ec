"""Purging in SQL: whole ended trees with everything that hangs on them, the audit trail excepted (spec 3.20, 8.10)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import BindParameter, Delete, Select, bindparam, delete, or_, select

from webapp.engine.ports.stores import Partition
from webapp.stores.rows import PURGEABLE
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant
from webapp.stores.sql.queries import of_tenant
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET, TableSet

CHUNK = 1_000


class Statements:
    """The statements over one set of tables, built once."""

    def __init__(self, tables: TableSet) -> None:
        table = tables.instances
        before = bindparam("p_before", type_=Instant())
        # Only children are looked through: there are few, and an index holds them alone.
        is_child = table.c.parent_instance_id.is_not(None)
        living = select(table.c.root_instance_id).where(
            is_child, or_(table.c.status.not_in(PURGEABLE), table.c.ended_at > before), of_tenant(table)
        )
        self.roots: Select[Any] = (
            select(table.c.id)
            .where(
                table.c.ended_at <= before,
                table.c.status.in_(PURGEABLE),
                table.c.parent_instance_id.is_(None),
                table.c.id.not_in(living),
                of_tenant(table),
            )
            .order_by(table.c.ended_at, table.c.sequence, table.c.id)
            .limit(bindparam("p_limit"))
        )
        ids: BindParameter[Any] = bindparam("p_ids", expanding=True)
        self.children: Select[Any] = select(table.c.id).where(
            is_child, table.c.root_instance_id.in_(ids), of_tenant(table)
        )
        of_instances = (tables.node_instances, tables.bookmarks, tables.task_copies, tables.task_records)
        self.deletes: tuple[Delete, ...] = (
            *(delete(one).where(one.c.instance_id.in_(ids), of_tenant(one)) for one in of_instances),
            delete(table).where(table.c.id.in_(ids), of_tenant(table)),
        )


@lru_cache(maxsize=2)
def _statements(tenant: bool) -> Statements:
    return Statements(TENANT_SET if tenant else PLATFORM_SET)


def purge(transaction: Transaction, partition: Partition, before: datetime, limit: int) -> int:
    """Delete up to *limit* ended trees; return the number of instances."""
    statements = _statements(partition is not None)
    parameters = scope(partition, p_before=before, p_limit=limit)
    roots: Sequence[str] = transaction.read(statements.roots, parameters).scalars().all()
    purged = 0
    for start in range(0, len(roots), CHUNK):
        purged += _purge_trees(transaction, statements, partition, roots[start : start + CHUNK])
    return purged


def _purge_trees(transaction: Transaction, statements: Statements, partition: Partition, roots: Sequence[str]) -> int:
    found = transaction.read(statements.children, scope(partition, p_ids=list(roots))).scalars().all()
    ids = [*roots, *found]
    for start in range(0, len(ids), CHUNK):
        for statement in statements.deletes:
            transaction.write(statement, scope(partition, p_ids=ids[start : start + CHUNK]))
    return len(ids)
