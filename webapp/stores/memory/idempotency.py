"""Stored answers in memory."""

from __future__ import annotations

from datetime import datetime

import msgspec

from webapp.engine.ports.stores import IdempotencyRecord, Partition
from webapp.stores.memory.tables import Transaction


class MemoryIdempotency:
    """The store of answers to commands with an Idempotency-Key."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def find(self, partition: Partition, scope: str, not_before: datetime) -> IdempotencyRecord | None:
        """Return the stored answer if it is not older than *not_before*."""
        row = self._transaction.get("idempotency", (partition, scope), partition)
        if row is None or row["record"].created_at < not_before:
            return None
        record: IdempotencyRecord = row["record"]
        return msgspec.structs.replace(record, headers=dict(record.headers))

    def insert(self, partition: Partition, record: IdempotencyRecord) -> None:
        """Store an answer, replacing one of the same scope."""
        kept = msgspec.structs.replace(record, headers=dict(record.headers))
        self._transaction.put("idempotency", {"tenant_id": partition, "scope": record.scope, "record": kept})

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* records older than *before*."""
        found = self._transaction.rows(
            "idempotency", lambda row: row["tenant_id"] == partition and row["record"].created_at < before
        )
        found = sorted(found, key=lambda row: row["record"].created_at)[:limit]
        for row in found:
            self._transaction.remove("idempotency", (partition, row["scope"]), partition)
        return len(found)
