"""Events to be sent, in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from webapp.engine.instances.journal import OutboxEntry
from webapp.engine.ports.stores import Partition
from webapp.stores import journal_rows
from webapp.stores.memory.tables import Transaction
from webapp.stores.rows import Row


class MemoryOutbox:
    """The outbox store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def read(self, limit: int, after: OutboxEntry | None = None) -> Sequence[OutboxEntry]:
        """Return the oldest entries of all partitions."""
        last = None if after is None else (after.created_at, after.sequence, after.id)
        found = self._transaction.rows("outbox", lambda row: last is None or _position(row) > last)
        return [journal_rows.outbox_entry(row) for row in sorted(found, key=_position)[:limit]]

    def waiting(self, limit: int, without: Collection[Partition] = ()) -> Sequence[OutboxEntry]:
        """Return the oldest entries that were not handed on."""
        served = self._transaction.served(without)
        found = self._transaction.rows("outbox", lambda row: row["waits_since"] is not None and served(row))
        return [journal_rows.outbox_entry(row) for row in sorted(found, key=_position)[:limit]]

    def depth(self, partition: Partition, most: int) -> int:
        """Return how many wait."""
        found = self._transaction.rows(
            "outbox", lambda row: row["waits_since"] is not None and row["tenant_id"] == partition
        )
        return min(len(found), most)

    def hand_on(self, partition: Partition, entry_ids: Sequence[str]) -> None:
        """Note that entries were handed on."""
        for entry_id in entry_ids:
            row = self._transaction.get("outbox", (entry_id,), partition)
            if row is not None:
                self._transaction.update("outbox", row, waits_since=None)

    def delete(self, partition: Partition, entry_ids: Sequence[str]) -> None:
        """Delete entries."""
        for entry_id in entry_ids:
            self._transaction.remove("outbox", (entry_id,), partition)


def _position(row: Row) -> tuple[datetime, int, str]:
    return row["created_at"], row["sequence"], row["id"]
