"""Seals of the audit trail in SQL: the rows that wait by a partial index, a chain by its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Delete,
    Select,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    type_coerce,
    update,
)

from webapp.engine.instances.seals import AuditHead, Seal, TrailRow
from webapp.engine.ports.seals import SealLost, Unsealed
from webapp.engine.ports.stores import DuplicateRecord, Partition
from webapp.stores.rows import of_table, pick
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import ReadableInstant
from webapp.stores.sql.queries import of_tenant
from webapp.stores.sql.tables import PLATFORM_SET, SETS, TENANT_SET, TableSet

LOOK = 10_000
"""How many unsealed rows are looked through for their partitions."""


class Statements:
    """The statements over one set of tables, built once."""

    def __init__(self, tables: TableSet) -> None:
        table, head = tables.audit, tables.audit_heads
        waits, own = table.c.seal_number.is_(None), of_tenant(table)
        limit: BindParameter[int] = bindparam("p_limit")
        after: BindParameter[int] = bindparam("p_after")
        self.unsealed = select(*table.c).where(waits, own).order_by(table.c.sequence, table.c.id).limit(limit)
        some = select(literal(1)).where(waits, own).limit(limit).subquery()
        self.count: Select[Any] = select(func.count()).select_from(some)
        self.oldest = select(_at(table)).where(waits, own).order_by(table.c.sequence, table.c.id).limit(1)
        shown = (head.c.seal_number, head.c.hash, _at(head))
        self.newest = select(*shown).where(of_tenant(head)).order_by(head.c.seal_number.desc()).limit(1)
        self.heads = (
            select(*shown).where(head.c.seal_number > after, of_tenant(head)).order_by(head.c.seal_number).limit(limit)
        )
        self.sealed = (
            select(*(_at(table) if column is table.c.at else column for column in table.c))
            .where(table.c.seal_number > after, own)
            .order_by(table.c.seal_number)
            .limit(limit)
        )
        self.seal = (
            update(table)
            .where(table.c.id == bindparam("p_id"), table.c.seal_number.is_(None), own)
            .values(seal_number=bindparam("p_number"), hash=bindparam("p_hash"))
        )
        between = table.c.seal_number.between(bindparam("p_first"), bindparam("p_last"))
        self.done: Select[Any] = select(func.count()).select_from(table).where(between, own)
        self.insert_head = insert(head)
        numbers: BindParameter[Any] = bindparam("p_numbers", expanding=True)
        self.forget_heads: Delete = delete(head).where(head.c.seal_number.in_(numbers), of_tenant(head))
        self.waiting = _partitions(tables, waiting=True)
        self.next_audited, self.next_headed = (_next_tenant(one) for one in (table, head))
        self.any_audit = select(literal(1)).select_from(table).limit(1)
        self.any_head = select(literal(1)).select_from(head).limit(1)


def _at(table: Table) -> ColumnElement[datetime]:
    return type_coerce(table.c.at, ReadableInstant()).label("at")


def _partitions(tables: TableSet, *, waiting: bool) -> Select[Any]:
    """Return the query of the tenants among the first unsealed rows; of the platform, whether there is any."""
    table = tables.audit
    first = table.c.tenant_id if tables.tenant else literal(1).label("tenant_id")
    some = select(first).select_from(table).where(table.c.seal_number.is_(None)).limit(LOOK).subquery()
    return select(some.c.tenant_id).distinct().order_by(some.c.tenant_id)


def _next_tenant(table: Any) -> Select[Any] | None:
    """Return the query of the tenant after another one: an index is hopped through, never read whole."""
    if "tenant_id" not in table.c:
        return None
    tenant = table.c.tenant_id
    return select(tenant).where(tenant > bindparam("p_behind")).order_by(tenant).limit(1)


@lru_cache(maxsize=2)
def _of(tenant: bool) -> Statements:
    return Statements(TENANT_SET if tenant else PLATFORM_SET)


class SqlSeals:
    """Numbers, hashes and heads of the trail."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def waiting(self) -> Sequence[Partition]:
        """Return the partitions that have unsealed rows, as far as 10,000 rows tell."""
        return [
            row[0] if tables.tenant else None
            for tables in reversed(SETS)
            for row in self._transaction.rows(_of(tables.tenant).waiting, {})
        ]

    def unsealed(self, partition: Partition, limit: int) -> Sequence[TrailRow]:
        """Return committed, unsealed rows: sequence ascending, then id."""
        parameters = scope(partition, p_limit=limit)
        found = self._transaction.read(_of(partition is not None).unsealed, parameters).mappings()
        return [pick(TrailRow, row) for row in found]

    def backlog(self, partition: Partition, most: int) -> Unsealed:
        """Return how many rows are unsealed, counted up to *most*, and since when the oldest."""
        own = _of(partition is not None)
        count = self._transaction.rows(own.count, scope(partition, p_limit=most))[0][0]
        oldest = self._transaction.rows(own.oldest, scope(partition))
        return Unsealed(count=count, oldest=oldest[0][0] if oldest else None)

    def newest_head(self, partition: Partition) -> AuditHead | None:
        """Return how far the chain has come."""
        found = self._transaction.mappings(_of(partition is not None).newest, scope(partition))
        return AuditHead(**found[0]) if found else None

    def seal(self, partition: Partition, seals: Sequence[Seal], head: AuditHead) -> None:
        """Store seals and the head that they lead to. :raises SealLost: they were stored or lost meanwhile."""
        own = _of(partition is not None)
        values = [scope(partition, p_id=one.id, p_number=one.number, p_hash=one.hash) for one in seals]
        row = {"tenant_id": partition, "seal_number": head.seal_number, "hash": head.hash, "at": head.at}
        try:
            self._transaction.write(own.insert_head, of_table(partition, row))
            self._transaction.write(own.seal, values)
        except DuplicateRecord as error:
            raise SealLost(str(error)) from error
        reached = scope(partition, p_first=seals[0].number, p_last=seals[-1].number)
        if self._transaction.rows(own.done, reached)[0][0] != len(seals):
            raise SealLost(f"not all of {len(seals)} rows up to {head.seal_number} could be sealed")

    def sealed(self, partition: Partition, after: int, limit: int) -> Sequence[TrailRow]:
        """Return rows with numbers above *after*, by number."""
        parameters = scope(partition, p_after=after, p_limit=limit)
        found = self._transaction.read(_of(partition is not None).sealed, parameters).mappings()
        return [pick(TrailRow, row) for row in found]

    def heads(self, partition: Partition, after: int, limit: int) -> Sequence[AuditHead]:
        """Return heads with numbers above *after*, by number."""
        parameters = scope(partition, p_after=after, p_limit=limit)
        return [AuditHead(**row) for row in self._transaction.mappings(_of(partition is not None).heads, parameters)]

    def forget_heads(self, partition: Partition, numbers: Sequence[int]) -> int:
        """Delete heads by their numbers."""
        if not numbers:
            return 0
        statement = _of(partition is not None).forget_heads
        return self._transaction.write(statement, scope(partition, p_numbers=list(numbers))).rowcount

    def partitions(self) -> Sequence[Partition]:
        """Return the partitions that have rows in the trail or heads, the platform first."""
        own = _of(False)
        platform = self._transaction.rows(own.any_audit, {}) or self._transaction.rows(own.any_head, {})
        found: set[str] = set()
        for query in (_of(True).next_audited, _of(True).next_headed):
            behind = ""
            while query is not None and (row := self._transaction.rows(query, {"p_behind": behind})):
                behind = row[0][0]
                found.add(behind)
        return [*([None] if platform else []), *sorted(found)]
