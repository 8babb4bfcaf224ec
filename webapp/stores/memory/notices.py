"""Notices in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

from webapp.engine.notifications.model import Notice
from webapp.engine.ports.notices import NoticeQuery
from webapp.engine.ports.queries import Page
from webapp.engine.ports.stores import DuplicateRecord, Partition
from webapp.stores import notice_rows
from webapp.stores.memory.lists import ordered, page
from webapp.stores.memory.tables import Transaction
from webapp.stores.ordering import NEWEST_FIRST
from webapp.stores.rows import Row


def insert_once(transaction: Transaction, table: str, row: Row) -> None:
    """Insert a row; one with its key, whosever it is, stays as it is."""
    with suppress(DuplicateRecord):
        transaction.put(table, row, new=True)


class MemoryNotices:
    """The store of notices."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def find(self, partition: Partition, notice_id: str) -> Notice | None:
        """Return the notice, or None."""
        row = self._transaction.get("notices", (notice_id,), partition)
        return None if row is None else notice_rows.notice(row)

    def list(self, partition: Partition, recipient_id: str, query: NoticeQuery) -> Page[Notice]:
        """Return a page of the recipient's notices and the total."""
        found = self._of(
            partition,
            recipient_id,
            lambda row: (
                not (query.unread and row["read_at"] is not None)
                and query.type in (None, row["type"])
                and query.instance_id in (None, row["instance_id"])
            ),
        )
        return page(ordered(found, NEWEST_FIRST), query.paging, notice_rows.notice)

    def latest(self, partition: Partition, recipient_id: str, most: int) -> Sequence[Notice]:
        """Return the newest unread ones, at most *most*."""
        found = self._unread(partition, recipient_id, lambda row: True)
        return [notice_rows.notice(row) for row in ordered(found, NEWEST_FIRST)[:most]]

    def unread(self, partition: Partition, recipient_id: str, most: int = 100) -> int:
        """Return how many the recipient has not read, at most *most*."""
        return min(most, len(self._unread(partition, recipient_id, lambda row: True)))

    def mark_read(self, partition: Partition, recipient_id: str, notice_ids: Sequence[str], at: datetime) -> int:
        """Mark the recipient's notices as read."""
        return self._mark(self._unread(partition, recipient_id, lambda row: row["id"] in notice_ids), at)

    def mark_all_read(self, partition: Partition, recipient_id: str, until: datetime, at: datetime) -> int:
        """Mark what was told until then as read."""
        return self._mark(self._unread(partition, recipient_id, lambda row: row["created_at"] <= until), at)

    def mark_task_read(self, partition: Partition, recipient_id: str, task_id: str, at: datetime) -> int:
        """Mark the notices of a task as read."""
        return self._mark(self._unread(partition, recipient_id, lambda row: row["task_id"] == task_id), at)

    def use_link(self, partition: Partition, notice_id: str, at: datetime) -> bool:
        """Note that the notice's link was used; False when it was before."""
        row = self._transaction.get("notices", (notice_id,), partition)
        if row is None or row["link_used_at"] is not None:
            return False
        self._transaction.update("notices", row, link_used_at=at)
        return True

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* notices older than *before*, the oldest first."""
        old = self._transaction.rows(
            "notices", lambda row: row["tenant_id"] == partition and row["created_at"] < before
        )
        for row in (gone := sorted(old, key=lambda row: row["created_at"])[:limit]):
            self._transaction.remove("notices", (row["id"],), partition)
        return len(gone)

    def _of(self, partition: Partition, recipient_id: str, where: Callable[[Row], bool]) -> Sequence[Row]:
        wanted = (partition, recipient_id)
        return self._transaction.rows(
            "notices", lambda row: (row["tenant_id"], row["inbox_of"]) == wanted and where(row)
        )

    def _unread(self, partition: Partition, recipient_id: str, where: Callable[[Row], bool]) -> Sequence[Row]:
        return self._of(partition, recipient_id, lambda row: row["read_at"] is None and where(row))

    def _mark(self, found: Sequence[Row], at: datetime) -> int:
        for row in found:
            self._transaction.update("notices", row, read_at=at)
        return len(found)
