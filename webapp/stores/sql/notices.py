"""Notices in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Update, bindparam, func, literal, select, update

from webapp.engine.notifications.model import Notice
from webapp.engine.ports.notices import NoticeQuery
from webapp.engine.ports.queries import Page
from webapp.engine.ports.stores import Partition
from webapp.stores import notice_rows
from webapp.stores.ordering import NEWEST_FIRST
from webapp.stores.sql.chunks import delete_some
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant, upsert, upsert_many
from webapp.stores.sql.listing import Listing, read_page, walking
from webapp.stores.sql.queries import by_key, columns, of_tenant
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET, TableSet

_MODEL = (*notice_rows.NOTICE_OVERLAY, "document")


class Statements:
    """The statements over one set of tables in one dialect, built once."""

    def __init__(self, dialect: str, tables: TableSet) -> None:
        table = self._table = tables.notices
        self.save = upsert(dialect, table, replace=False)
        self.save_many = upsert_many(dialect, table, replace=False)
        self.find = select(*columns(table, *_MODEL)).where(*by_key(table))
        unread = (*by_key(table, "inbox_of"), table.c.read_at.is_(None))
        some = select(literal(1).label("one")).select_from(table).where(*unread).limit(bindparam("p_limit")).subquery()
        self.count_unread = select(func.count()).select_from(some)
        self.mark = update(table).where(*unread).values(read_at=bindparam("p_at", type_=Instant()))
        self.mark_some = self.mark.where(table.c.id.in_(bindparam("p_ids", expanding=True)))
        self.mark_until = self.mark.where(table.c.created_at <= bindparam("p_until", type_=Instant()))
        self.mark_task = self.mark.where(table.c.task_id == bindparam("p_task_id"))
        self.use_link = (
            update(table)
            .where(*by_key(table), table.c.link_used_at.is_(None))
            .values(link_used_at=bindparam("p_at", type_=Instant()))
        )
        old = table.c.created_at < bindparam("p_before", type_=Instant())
        self.purge = delete_some(table, old, of_tenant(table), order=table.c.created_at)


@lru_cache(maxsize=8)
def statements(dialect: str, tenant: bool) -> Statements:
    """Return the statements for a dialect and a set of tables."""
    return Statements(dialect, TENANT_SET if tenant else PLATFORM_SET)


@lru_cache(maxsize=16)
def _listing(tenant: bool, unread: bool, by_type: bool, by_instance: bool) -> Listing:
    table = (TENANT_SET if tenant else PLATFORM_SET).notices
    conditions = [*by_key(table, "inbox_of")]
    if unread:
        conditions.append(table.c.read_at.is_(None))
    if by_type:
        conditions.append(table.c.type == bindparam("p_type"))
    if by_instance:
        conditions.append(table.c.instance_id == bindparam("p_instance_id"))
    return walking(table, columns(table, *_MODEL), conditions, NEWEST_FIRST)


class SqlNotices:
    """The store of notices."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def find(self, partition: Partition, notice_id: str) -> Notice | None:
        """Return the notice, or None."""
        found = self._transaction.mappings(self._of(partition).find, scope(partition, p_id=notice_id))
        return notice_rows.notice(found[0]) if found else None

    def list(self, partition: Partition, recipient_id: str, query: NoticeQuery) -> Page[Notice]:
        """Return a page of the recipient's notices and the total."""
        asked = {"p_type": query.type, "p_instance_id": query.instance_id}
        given = {name: str(value) for name, value in asked.items() if value is not None}
        listing = _listing(partition is not None, query.unread, query.type is not None, query.instance_id is not None)
        parameters = scope(partition, p_inbox_of=recipient_id, **given)
        found, total = read_page(self._transaction, listing, query.paging, parameters)
        return Page([notice_rows.notice(row) for row in found], total)

    def latest(self, partition: Partition, recipient_id: str, most: int) -> Sequence[Notice]:
        """Return the newest unread ones, at most *most*."""
        listing = _listing(partition is not None, unread=True, by_type=False, by_instance=False)
        asked = scope(partition, p_inbox_of=recipient_id, p_limit=most)
        return [notice_rows.notice(row) for row in self._transaction.mappings(listing.first, asked)]

    def unread(self, partition: Partition, recipient_id: str, most: int = 100) -> int:
        """Return how many the recipient has not read, at most *most*."""
        asked = scope(partition, p_inbox_of=recipient_id, p_limit=most)
        total: int = self._transaction.rows(self._of(partition).count_unread, asked)[0][0]
        return total

    def mark_read(self, partition: Partition, recipient_id: str, notice_ids: Sequence[str], at: datetime) -> int:
        """Mark the recipient's notices as read."""
        if not notice_ids:
            return 0
        return self._mark(self._of(partition).mark_some, partition, recipient_id, at, p_ids=list(notice_ids))

    def mark_all_read(self, partition: Partition, recipient_id: str, until: datetime, at: datetime) -> int:
        """Mark what was told until then as read."""
        return self._mark(self._of(partition).mark_until, partition, recipient_id, at, p_until=until)

    def mark_task_read(self, partition: Partition, recipient_id: str, task_id: str, at: datetime) -> int:
        """Mark the notices of a task as read."""
        return self._mark(self._of(partition).mark_task, partition, recipient_id, at, p_task_id=task_id)

    def use_link(self, partition: Partition, notice_id: str, at: datetime) -> bool:
        """Note that the notice's link was used; False when it was before."""
        asked = scope(partition, p_id=notice_id, p_at=at)
        return bool(self._transaction.write_counted(self._of(partition).use_link, asked))

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* notices older than *before*, the oldest first."""
        asked = scope(partition, p_before=before, p_limit=limit)
        return self._transaction.write(self._of(partition).purge, asked).rowcount

    def _mark(self, statement: Update, partition: Partition, recipient_id: str, at: datetime, **asked: Any) -> int:
        parameters = scope(partition, p_inbox_of=recipient_id, p_at=at, **asked)
        return self._transaction.write(statement, parameters).rowcount

    def _of(self, partition: Partition) -> Statements:
        return statements(self._transaction.dialect, partition is not None)
