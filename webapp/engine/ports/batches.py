"""The part of the store port that keeps batches; what ``ports/stores.py`` says of every store holds here too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from webapp.engine.instances.batches import Batch, BatchItem, BatchItemEnd, BatchItemStatus, BatchStatus
from webapp.engine.ports.queries import Page, Paging


class BatchStore(Protocol):
    """Batches and their items (spec 11)."""

    def insert(self, partition: str | None, batch: Batch, instance_ids: Sequence[str]) -> None:
        """Insert a batch with an item for each instance, numbered from 1 in this order."""

    def find(self, partition: str | None, batch_id: str) -> Batch | None:
        """Return the batch, or None."""

    def list(self, partition: str | None, paging: Paging) -> Page[Batch]:
        """Return a page of batches: createdAt descending, then id descending."""

    def items(
        self, partition: str | None, batch_id: str, status: BatchItemStatus | None, paging: Paging
    ) -> Page[BatchItem]:
        """Return a page of a batch's items by their number; *status*: only those."""

    def pending(self, partition: str | None, batch_id: str, after: int, limit: int) -> Sequence[BatchItem]:
        """Return up to *limit* pending items whose number is above *after*, by their number."""

    def running(self, limit: int) -> Sequence[Batch]:
        """Return up to *limit* running batches of all partitions of this database: createdAt, then id."""

    def set_status(
        self,
        partition: str | None,
        batch_id: str,
        status: BatchStatus,
        *,
        only_from: Sequence[BatchStatus],
        ended_at: datetime | None = None,
    ) -> bool:
        """Change the status if it is one of *only_from*; tell whether it was."""

    def end_items(self, partition: str | None, ends: Sequence[BatchItemEnd]) -> None:
        """End items that are pending and count them; one that has ended already stays as it is."""

    def purge(self, partition: str | None, before: datetime, limit: int) -> int:
        """Delete at most *limit* rows of batches that ended before *before*, items first; return their number."""
