"""The audit trail in memory."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.engine.instances.journal import AuditEntry
from webapp.engine.ports.queries import Page, Paging
from webapp.engine.ports.stores import WHOLE, DuplicateRecord, Partition
from webapp.stores import journal_rows, rows
from webapp.stores.memory.lists import by_time, page
from webapp.stores.memory.tables import Transaction


class MemoryAudit:
    """The audit store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def append(self, partition: Partition, entries: Sequence[AuditEntry]) -> None:
        """Append entries. :raises DuplicateRecord: an id is taken, nothing is ever replaced."""
        rows.check_partition(partition, entries)
        for entry in entries:
            if self._transaction.get("audit", (entry.id,), partition) is not None:
                raise DuplicateRecord(f"audit entry {entry.id}")
            self._transaction.put("audit", journal_rows.audit_row(entry))

    def holds(self, partition: Partition, entry_id: str) -> bool:
        """Whether the entry was appended."""
        return self._transaction.get("audit", (entry_id,), partition) is not None

    def by_instance(self, partition: Partition, instance_id: str, paging: Paging = WHOLE) -> Page[AuditEntry]:
        """Return the instance's entries, oldest first."""
        found = self._transaction.of_instance("audit", partition, instance_id)
        return page(by_time(found, "at"), paging, journal_rows.audit_entry)

    def by_definition(self, partition: Partition, definition_id: str) -> Sequence[AuditEntry]:
        """Return the entries of the definition itself, not those of its instances, oldest first."""
        found = self._transaction.rows(
            "audit",
            lambda row: (
                row["tenant_id"] == partition and row["definition_id"] == definition_id and row["instance_id"] is None
            ),
        )
        return [journal_rows.audit_entry(row) for row in by_time(found, "at")]
