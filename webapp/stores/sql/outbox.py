"""Events to be sent, in SQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Delete,
    Select,
    Table,
    Text,
    Update,
    and_,
    bindparam,
    delete,
    func,
    literal,
    or_,
    select,
    union_all,
    update,
)

from webapp.engine.instances.journal import OutboxEntry
from webapp.engine.ports.stores import Partition
from webapp.stores import journal_rows
from webapp.stores.sql.claims import of_served, tenants_of
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant
from webapp.stores.sql.queries import of_tenant
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET


class Statements:
    """The statements, built once: reading is over both sets of tables, deleting over one."""

    def __init__(self) -> None:
        self.first = self._read(behind=False)
        self.next = self._read(behind=True)
        self.delete = {tenant: _delete(tables.outbox) for tenant, tables in _SETS.items()}
        self.hand_on = {tenant: _hand_on(tables.outbox) for tenant, tables in _SETS.items()}
        self.depth = {tenant: _depth(tables.outbox) for tenant, tables in _SETS.items()}

    def _read(self, *, behind: bool) -> Select[*tuple[object, ...]]:
        # Each half is cut by itself, so that either is read off its index.
        halves = [_half(tables.outbox, behind=behind).subquery() for tables in _SETS.values()]
        both = union_all(*(select(half) for half in halves)).subquery()
        order = (both.c.created_at, both.c.sequence, both.c.id)
        return select(both).order_by(*order).limit(bindparam("p_limit"))


_SETS = {True: TENANT_SET, False: PLATFORM_SET}


@lru_cache(maxsize=8)
def _waiting(platform: bool, some_without: bool) -> Select[*tuple[object, ...]]:
    """Return the statement that reads the oldest entries that were not handed on."""
    halves = []
    for tables in (TENANT_SET, PLATFORM_SET) if platform else (TENANT_SET,):
        table = tables.outbox
        others = of_served(tables, table, some_without=some_without)
        order = (table.c.waits_since, table.c.sequence, table.c.id)
        found = select(*_columns(table)).where(table.c.waits_since.is_not(None), *others)
        halves.append(found.order_by(*order).limit(bindparam("p_limit")).subquery())
    both = union_all(*(select(half) for half in halves)).subquery()
    return select(both).order_by(both.c.created_at, both.c.sequence, both.c.id).limit(bindparam("p_limit"))


def _columns(table: Table) -> list[ColumnElement[Any]]:
    tenant = table.c.tenant_id if "tenant_id" in table.c else literal(None, Text()).label("tenant_id")
    return [tenant, *(table.c[name] for name in ("id", "sequence", "topic", "instance_id", "created_at", "document"))]


def _half(table: Table, *, behind: bool) -> Select[*tuple[object, ...]]:
    order = (table.c.created_at, table.c.sequence, table.c.id)
    found = select(*_columns(table)).order_by(*order).limit(bindparam("p_limit"))
    if not behind:
        return found
    at = bindparam("p_at", type_=Instant())
    number, key = bindparam("p_sequence", type_=BigInteger()), bindparam("p_id", type_=Text())
    same_time = and_(
        table.c.created_at == at,
        or_(table.c.sequence > number, and_(table.c.sequence == number, table.c.id > key)),
    )
    return found.where(table.c.created_at >= at, or_(table.c.created_at > at, same_time))


def _delete(table: Table) -> Delete:
    return delete(table).where(table.c.id.in_(bindparam("p_ids", expanding=True)), of_tenant(table))


def _hand_on(table: Table) -> Update:
    chosen = table.c.id.in_(bindparam("p_ids", expanding=True))
    return update(table).where(chosen, of_tenant(table)).values(waits_since=None)


def _depth(table: Table) -> Select[*tuple[int]]:
    waiting = select(literal(1)).where(table.c.waits_since.is_not(None), of_tenant(table))
    return select(func.count()).select_from(waiting.limit(bindparam("p_most")).subquery())


@lru_cache(maxsize=1)
def statements() -> Statements:
    """Return the statements."""
    return Statements()


class SqlOutbox:
    """The outbox store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def read(self, limit: int, after: OutboxEntry | None = None) -> Sequence[OutboxEntry]:
        """Return the oldest entries of all partitions."""
        parameters: dict[str, object] = {"p_limit": limit}
        if after is not None:
            parameters |= {"p_at": after.created_at, "p_sequence": after.sequence, "p_id": after.id}
        statement = statements().first if after is None else statements().next
        return [journal_rows.outbox_entry(row) for row in self._transaction.read(statement, parameters).mappings()]

    def waiting(self, limit: int, without: Collection[Partition] = ()) -> Sequence[OutboxEntry]:
        """Return the oldest entries that were not handed on."""
        tenants = tenants_of(without)
        parameters: dict[str, object] = {"p_limit": limit, **({"p_without": tenants} if tenants else {})}
        statement = _waiting(None not in without, bool(tenants))
        return [journal_rows.outbox_entry(row) for row in self._transaction.read(statement, parameters).mappings()]

    def depth(self, partition: Partition, most: int) -> int:
        """Return how many wait."""
        statement = statements().depth[partition is not None]
        return int(self._transaction.read(statement, scope(partition, p_most=most)).scalar() or 0)

    def hand_on(self, partition: Partition, entry_ids: Sequence[str]) -> None:
        """Note that entries were handed on."""
        if entry_ids:
            statement = statements().hand_on[partition is not None]
            self._transaction.write(statement, scope(partition, p_ids=list(entry_ids)))

    def delete(self, partition: Partition, entry_ids: Sequence[str]) -> None:
        """Delete entries."""
        if entry_ids:
            statement = statements().delete[partition is not None]
            self._transaction.write(statement, scope(partition, p_ids=list(entry_ids)))
