"""Seals of the audit trail in memory."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.engine.instances.seals import AuditHead, Seal, TrailRow
from webapp.engine.ports.seals import SealLost, Unsealed
from webapp.engine.ports.stores import DuplicateRecord, Partition
from webapp.stores.memory.tables import Transaction
from webapp.stores.rows import Row, pick


class MemorySeals:
    """Numbers, hashes and heads of the trail."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def waiting(self) -> Sequence[Partition]:
        """Return the partitions that have unsealed rows."""
        found = {row["tenant_id"] for row in self._transaction.rows("audit", lambda row: row["seal_number"] is None)}
        return sorted(found, key=_platform_first)

    def unsealed(self, partition: Partition, limit: int) -> Sequence[TrailRow]:
        """Return committed, unsealed rows: sequence ascending, then id."""
        return [pick(TrailRow, row) for row in self._unsealed(partition)[:limit]]

    def backlog(self, partition: Partition, most: int) -> Unsealed:
        """Return how many rows are unsealed, counted up to *most*, and since when the oldest."""
        found = self._unsealed(partition)
        return Unsealed(count=min(most, len(found)), oldest=found[0]["at"] if found else None)

    def newest_head(self, partition: Partition) -> AuditHead | None:
        """Return how far the chain has come."""
        found = self._numbered("audit_heads", partition, 0)
        return _head(found[-1]) if found else None

    def seal(self, partition: Partition, seals: Sequence[Seal], head: AuditHead) -> None:
        """Store seals and the head that they lead to. :raises SealLost: they were stored or lost meanwhile."""
        taken = {row["seal_number"] for row in self._numbered("audit", partition, seals[0].number - 1)}
        for one in seals:
            row = self._transaction.get("audit", (one.id,), partition)
            if row is None or row["seal_number"] is not None or one.number in taken:
                raise SealLost(f"row {one.id} cannot be sealed as {one.number}")
            self._transaction.update("audit", row, seal_number=one.number, hash=one.hash)
        values = {"tenant_id": partition, "seal_number": head.seal_number, "hash": head.hash, "at": head.at}
        try:
            self._transaction.put("audit_heads", values, new=True)
        except DuplicateRecord as error:
            raise SealLost(str(error)) from error

    def sealed(self, partition: Partition, after: int, limit: int) -> Sequence[TrailRow]:
        """Return rows with numbers above *after*, by number."""
        return [pick(TrailRow, row) for row in self._numbered("audit", partition, after)[:limit]]

    def heads(self, partition: Partition, after: int, limit: int) -> Sequence[AuditHead]:
        """Return heads with numbers above *after*, by number."""
        return [_head(row) for row in self._numbered("audit_heads", partition, after)[:limit]]

    def forget_heads(self, partition: Partition, numbers: Sequence[int]) -> int:
        """Delete heads by their numbers."""
        there = [one for one in numbers if self._transaction.get("audit_heads", (partition, one), partition)]
        for one in there:
            self._transaction.remove("audit_heads", (partition, one), partition)
        return len(there)

    def partitions(self) -> Sequence[Partition]:
        """Return the partitions that have rows in the trail or heads, the platform first."""
        found = {
            row["tenant_id"]
            for table in ("audit", "audit_heads")
            for row in self._transaction.rows(table, lambda _: True)
        }
        return sorted(found, key=_platform_first)

    def _unsealed(self, partition: Partition) -> list[Row]:
        found = self._transaction.rows(
            "audit", lambda row: row["tenant_id"] == partition and row["seal_number"] is None
        )
        return sorted(found, key=lambda row: (row["sequence"], row["id"]))

    def _numbered(self, table: str, partition: Partition, after: int) -> list[Row]:
        found = self._transaction.rows(
            table, lambda row: row["tenant_id"] == partition and (row["seal_number"] or 0) > after
        )
        return sorted(found, key=lambda row: row["seal_number"])


def _head(row: Row) -> AuditHead:
    return AuditHead(seal_number=row["seal_number"], hash=row["hash"], at=row["at"])


def _platform_first(partition: Partition) -> str:
    return partition or ""
