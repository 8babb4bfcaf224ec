"""External tasks in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.ports.external_tasks import LockedTask, TopicLock
from webapp.engine.ports.stores import Partition
from webapp.stores import rows
from webapp.stores.memory.lists import by_time
from webapp.stores.memory.tables import Transaction
from webapp.stores.rows import Row


class MemoryExternalTasks:
    """The store of external tasks."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def any_available(self, partition: Partition, topics: Sequence[str], now: datetime) -> bool:
        """Whether there is something to lock."""
        return bool(self._available(partition, topics, now))

    def lock_available(
        self,
        partition: Partition,
        topics: Sequence[TopicLock],
        now: datetime,
        limit: int,
        worker_id: str,
        token: str,
    ) -> Sequence[LockedTask]:
        """Lock up to *limit* tasks and return them, oldest first."""
        until = {asked.topic: asked.until for asked in topics}
        locked = []
        for row in by_time(self._available(partition, until, now), "created_at")[:limit]:
            own = {**row, "worker_id": worker_id, "lock_token": token, "available_at": until[row["key"]]}
            self._transaction.put("bookmarks", own)
            bookmark = rows.bookmark_from(own["document"], *(own[name] for name in rows.BOOKMARK_OVERLAY))
            locked.append(LockedTask(bookmark=bookmark, definition_name=own["definition_name"] or ""))
        return locked

    def _available(self, partition: Partition, topics: Collection[str], now: datetime) -> list[Row]:
        return self._transaction.rows(
            "bookmarks",
            lambda row: (
                row["tenant_id"] == partition
                and row["kind"] == BookmarkKind.EXTERNAL_TASK.value
                and row["key"] in topics
                and row["instance_status"] == "Running"
                and (row["available_at"] is None or row["available_at"] <= now)
            ),
        )
