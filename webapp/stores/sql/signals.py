"""Signals in SQL: who waits for one, which definitions it starts, signals kept for later."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, and_, bindparam, delete, func, or_, select

from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.ports.queries import MAX_LIMIT, DefinitionSummary
from webapp.engine.ports.signals import SignalTarget, StoredSignal
from webapp.engine.ports.stores import Partition
from webapp.stores import rows, signal_rows
from webapp.stores.sql.chunks import delete_some
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.definitions import SUMMARY
from webapp.stores.sql.dialects import Instant, upsert
from webapp.stores.sql.queries import TASK, by_key, of_tenant
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET, TableSet


class Statements:
    """The statements over one set of tables in one dialect, built once."""

    def __init__(self, dialect: str, tables: TableSet) -> None:
        table = tables.stored_signals
        age = (table.c.created_at, table.c.id)
        in_time = table.c.expires_at > bindparam("p_now", type_=Instant())
        self.keep = upsert(dialect, table, replace=False)
        self.find = select(table).where(*by_key(table))
        self.kept = (
            select(table)
            .where(table.c.name.in_(bindparam("p_names", expanding=True)), in_time, of_tenant(table))
            .order_by(*age)
            .limit(MAX_LIMIT)
        )
        self.discard = delete(table).where(*by_key(table))
        over = table.c.expires_at <= bindparam("p_now", type_=Instant())
        self.purge = delete_some(table, over, of_tenant(table), order=table.c.expires_at)
        self.starts = _starts(tables.definitions)


@lru_cache(maxsize=8)
def statements(dialect: str, tenant: bool) -> Statements:
    """Return the statements for a dialect and a set of tables."""
    return Statements(dialect, TENANT_SET if tenant else PLATFORM_SET)


class SqlSignals:
    """The store of signals."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def _of(self, partition: Partition) -> Statements:
        return statements(self._transaction.dialect, partition is not None)

    def targets(
        self,
        partition: Partition,
        name: str,
        correlation_id: str | None,
        until: datetime,
        limit: int,
        after: SignalTarget | None = None,
    ) -> Sequence[SignalTarget]:
        """Return the bookmarks that wait for the signal, the oldest first."""
        page, _ = _targets(partition is not None, correlation_id is not None, after is not None)
        parameters = _parameters(partition, name, correlation_id, until, after)
        found = self._transaction.read(page, {**parameters, "p_limit": limit}).mappings()
        return [signal_rows.target(row) for row in found]

    def count_targets(
        self,
        partition: Partition,
        name: str,
        correlation_id: str | None,
        until: datetime,
        after: SignalTarget | None = None,
    ) -> int:
        """Return how many wait for the signal."""
        _, count = _targets(partition is not None, correlation_id is not None, after is not None)
        parameters = _parameters(partition, name, correlation_id, until, after)
        total: int = self._transaction.read(count, parameters).scalar_one()
        return total

    def starts(self, partition: Partition, name: str) -> Sequence[DefinitionSummary]:
        """Return the definitions that the signal starts, by name."""
        found = self._transaction.read(self._of(partition).starts, scope(partition, p_signal=name)).mappings()
        return [rows.definition_summary(row) for row in found]

    def keep(self, partition: Partition, signal: StoredSignal) -> None:
        """Store a signal for later."""
        rows.check_partition(partition, [signal])
        row = rows.of_table(partition, signal_rows.stored_signal_row(signal))
        self._transaction.write(self._of(partition).keep, row)

    def find(self, partition: Partition, signal_id: str) -> StoredSignal | None:
        """Return a kept signal, or None."""
        parameters = scope(partition, p_id=signal_id)
        row = self._transaction.read(self._of(partition).find, parameters).mappings().first()
        return None if row is None else signal_rows.stored_signal(row)

    def kept(self, partition: Partition, names: Sequence[str], now: datetime) -> Sequence[StoredSignal]:
        """Return the kept signals of these names, the oldest first."""
        parameters = scope(partition, p_names=list(names), p_now=now)
        found = self._transaction.read(self._of(partition).kept, parameters).mappings()
        return [signal_rows.stored_signal(row) for row in found]

    def discard(self, partition: Partition, signal_id: str) -> bool:
        """Delete a kept signal; False: it was gone."""
        return self._transaction.write_counted(self._of(partition).discard, scope(partition, p_id=signal_id)) > 0

    def purge(self, partition: Partition, now: datetime, limit: int) -> int:
        """Delete at most *limit* kept signals whose time is over."""
        parameters = scope(partition, p_now=now, p_limit=limit)
        return self._transaction.write(self._of(partition).purge, parameters).rowcount


@lru_cache(maxsize=16)
def _targets(tenant: bool, correlated: bool, behind: bool) -> tuple[Select[*tuple[Any, ...]], Select[*tuple[Any, ...]]]:
    """Return a page of those that wait, and their number, by the index of kind and key."""
    table = (TENANT_SET if tenant else PLATFORM_SET).bookmarks
    conditions = [
        *by_key(table, "key"),
        table.c.kind == BookmarkKind.SIGNAL.value,
        table.c.kind != TASK,
        table.c.instance_status == "Running",
        table.c.created_at <= bindparam("p_until", type_=Instant()),
    ]
    if correlated:
        own = bindparam("p_correlation_id", type_=table.c.correlation_id.type)
        conditions.append(or_(table.c.correlation_id.is_(None), table.c.correlation_id == own))
    if behind:
        conditions.append(_behind(table))
    shown = (table.c.instance_id, table.c.created_at, table.c.sequence, table.c.id)
    page = (
        select(*shown)
        .where(*conditions)
        .order_by(table.c.created_at, table.c.sequence, table.c.id)
        .limit(bindparam("p_limit"))
    )
    return page, select(func.count()).select_from(table).where(*conditions)


def _behind(table: Table) -> ColumnElement[bool]:
    created_at, sequence, bookmark_id = table.c.created_at, table.c.sequence, table.c.id
    last = bindparam("p_after", type_=Instant())
    number = bindparam("p_after_sequence", type_=sequence.type)
    same_number = and_(sequence == number, bookmark_id > bindparam("p_after_id", type_=bookmark_id.type))
    return or_(created_at > last, and_(created_at == last, or_(sequence > number, same_number)))


def _parameters(
    partition: Partition, name: str, correlation_id: str | None, until: datetime, after: SignalTarget | None
) -> dict[str, Any]:
    parameters = scope(partition, p_key=name, p_until=until)
    if correlation_id is not None:
        parameters["p_correlation_id"] = correlation_id
    if after is not None:
        parameters |= {
            "p_after": after.created_at,
            "p_after_sequence": after.sequence,
            "p_after_id": after.bookmark_id,
        }
    return parameters


def _starts(table: Table) -> Select[*tuple[Any, ...]]:
    newer = table.alias("newer")
    newest = (
        select(func.max(newer.c.version))
        .where(newer.c.name == table.c.name, newer.c.status == "Published", of_tenant(newer))
        .scalar_subquery()
    )
    return (
        select(*(table.c[name] for name in SUMMARY))
        .where(
            table.c.start_signal == bindparam("p_signal", type_=table.c.start_signal.type),
            table.c.status == "Published",
            table.c.version == newest,
            of_tenant(table),
        )
        .order_by(table.c.name)
    )
