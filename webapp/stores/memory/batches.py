"""Batches in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from webapp.engine.instances.batches import Batch, BatchItem, BatchItemEnd, BatchItemStatus, BatchStatus
from webapp.engine.numbers import encode
from webapp.engine.ports.queries import Page, Paging
from webapp.engine.ports.stores import Partition
from webapp.stores import batch_rows
from webapp.stores.memory.tables import Transaction
from webapp.stores.rows import check_partition


class MemoryBatches:
    """The batch store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def insert(self, partition: Partition, batch: Batch, instance_ids: Sequence[str]) -> None:
        """Insert a batch with its items."""
        check_partition(partition, [batch])
        self._transaction.put("batches", batch_rows.batch_row(batch), new=True)
        for sequence, instance_id in enumerate(instance_ids, start=1):
            item = BatchItem(batch_id=batch.id, sequence=sequence, instance_id=instance_id)
            self._transaction.put("batch_items", batch_rows.item_row(item, partition), new=True)

    def find(self, partition: Partition, batch_id: str) -> Batch | None:
        """Return the batch, or None."""
        row = self._transaction.get("batches", (batch_id,), partition)
        return None if row is None else batch_rows.batch(row)

    def list(self, partition: Partition, paging: Paging) -> Page[Batch]:
        """Return a page of batches, newest first."""
        rows = self._transaction.rows("batches", lambda row: row["tenant_id"] == partition)
        rows.sort(key=lambda row: (row["created_at"], row["id"]), reverse=True)
        shown = rows[paging.offset : paging.offset + paging.limit]
        return Page([batch_rows.batch(row) for row in shown], len(rows))

    def items(
        self, partition: Partition, batch_id: str, status: BatchItemStatus | None, paging: Paging
    ) -> Page[BatchItem]:
        """Return a page of a batch's items in their order."""
        rows = self._transaction.rows(
            "batch_items",
            lambda row: (
                (row["tenant_id"], row["batch_id"]) == (partition, batch_id) and status in (None, row["status"])
            ),
        )
        rows.sort(key=lambda row: row["sequence"])
        shown = rows[paging.offset : paging.offset + paging.limit]
        return Page([batch_rows.item(row) for row in shown], len(rows))

    def pending(self, partition: Partition, batch_id: str, after: int, limit: int) -> Sequence[BatchItem]:
        """Return pending items after that number, in their order."""
        found = self.items(partition, batch_id, BatchItemStatus.PENDING, Paging(limit=1_000_000)).items
        return [item for item in found if item.sequence > after][:limit]

    def running(self, limit: int) -> Sequence[Batch]:
        """Return running batches of all partitions, oldest first."""
        rows = self._transaction.rows("batches", lambda row: row["status"] == BatchStatus.RUNNING.value)
        rows.sort(key=lambda row: (row["created_at"], row["id"]))
        return [batch_rows.batch(row) for row in rows[:limit]]

    def set_status(
        self,
        partition: Partition,
        batch_id: str,
        status: BatchStatus,
        *,
        only_from: Sequence[BatchStatus],
        ended_at: datetime | None = None,
    ) -> bool:
        """Change the status if it is one of *only_from*; tell whether it was."""
        row = self._transaction.get("batches", (batch_id,), partition)
        if row is None or row["status"] not in only_from:
            return False
        self._transaction.update("batches", row, status=status.value, ended_at=ended_at)
        return True

    def end_items(self, partition: Partition, ends: Iterable[BatchItemEnd]) -> None:
        """End pending items and count them."""
        for end in ends:
            row = self._transaction.get("batch_items", (end.batch_id, end.sequence), partition)
            batch = self._transaction.get("batches", (end.batch_id,), partition)
            if row is None or batch is None or row["status"] != BatchItemStatus.PENDING.value:
                continue
            problem = None if end.problem is None else encode(end.problem).decode()
            self._transaction.update(
                "batch_items", row, status=end.status.value, ended_at=end.ended_at, problem=problem
            )
            counted = "failed" if end.status is BatchItemStatus.FAILED else "done"
            self._transaction.update("batches", batch, **{counted: batch[counted] + 1})

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* rows of batches that ended before *before*, items first."""
        over = self._transaction.rows(
            "batches",
            lambda row: row["tenant_id"] == partition and row["ended_at"] is not None and row["ended_at"] < before,
        )
        ids = {row["id"] for row in over}
        items = self._transaction.rows(
            "batch_items", lambda row: row["tenant_id"] == partition and row["batch_id"] in ids
        )
        for item in items[:limit]:
            self._transaction.remove("batch_items", (item["batch_id"], item["sequence"]), partition)
        if len(items) >= limit:
            return limit
        for batch_id in ids:
            self._transaction.remove("batches", (batch_id,), partition)
        return len(items) + len(ids)
