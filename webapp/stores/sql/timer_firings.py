"""Firings of definitions' timers in SQL; ``apply`` writes them."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import bindparam, func, select

from webapp.engine.instances.journal import TimerFiring
from webapp.engine.ports.queries import Page, Paging
from webapp.engine.ports.stores import WHOLE, Partition
from webapp.stores import journal_rows
from webapp.stores.sql.chunks import delete_some
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant
from webapp.stores.sql.queries import by_key, of_tenant, total_of, window
from webapp.stores.sql.tables import SETS, TableSet


class Statements:
    """The statements over one set of tables, built once."""

    def __init__(self, tables: TableSet) -> None:
        table = tables.timer_firings
        of_name = by_key(table, "definition_name")
        newest = table.c.scheduled_at.desc()
        self.last = select(table.c.scheduled_at).where(*of_name).order_by(newest).limit(1)
        self.list = (
            select(*table.c).where(*of_name).order_by(newest).limit(bindparam("p_limit")).offset(bindparam("p_offset"))
        )
        self.count = select(func.count()).select_from(table).where(*of_name)
        before = bindparam("p_before", type_=Instant())
        old = table.c.scheduled_at < before
        self.purge = delete_some(table, old, of_tenant(table), order=table.c.scheduled_at)


_STATEMENTS = {tables.tenant: Statements(tables) for tables in SETS}


class SqlTimerFirings:
    """The store of firings."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def last_scheduled(self, partition: Partition, name: str) -> datetime | None:
        """Return the latest due time that the name's timer has dealt with, or None."""
        parameters = scope(partition, p_definition_name=name)
        found: datetime | None = self._transaction.read(_of(partition).last, parameters).scalar()
        return found

    def list(self, partition: Partition, name: str, paging: Paging = WHOLE) -> Page[TimerFiring]:
        """Return the name's firings, the latest due time first."""
        parameters = scope(partition, p_definition_name=name)
        found = self._transaction.read(_of(partition).list, {**parameters, **window(paging)}).mappings().all()
        total = total_of(self._transaction, paging, len(found), _of(partition).count, parameters)
        return Page([journal_rows.timer_firing(row) for row in found], total)

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* firings whose due time is before *before*; return their number."""
        parameters = scope(partition, p_before=before, p_limit=limit)
        return self._transaction.write(_of(partition).purge, parameters).rowcount


def _of(partition: Partition) -> Statements:
    return _STATEMENTS[partition is not None]
