"""The audit trail in SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, func, insert, literal, select

from webapp.engine.instances.journal import AuditEntry
from webapp.engine.ports.queries import Page, Paging
from webapp.engine.ports.stores import WHOLE, Partition
from webapp.stores import journal_rows, rows
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.queries import by_key, total_of, window
from webapp.stores.sql.tables import SETS, TableSet

_SEAL = ("seal_number", "hash")


class Statements:
    """The statements over one set of tables, built once."""

    def __init__(self, tables: TableSet) -> None:
        table = tables.audit
        full = [column for column in table.c if column.name not in _SEAL]
        age = (table.c.at, table.c.sequence, table.c.id)
        of_instance = by_key(table, "instance_id")
        self.append = insert(table)
        self.holds = select(literal(1)).where(*by_key(table))
        self.by_instance = (
            select(*full).where(*of_instance).order_by(*age).limit(bindparam("p_limit")).offset(bindparam("p_offset"))
        )
        self.count = select(func.count()).select_from(table).where(*of_instance)
        self.by_definition = (
            select(*full).where(*by_key(table, "definition_id"), table.c.instance_id.is_(None)).order_by(*age)
        )


_STATEMENTS = {tables.tenant: Statements(tables) for tables in SETS}


class SqlAudit:
    """The audit store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def append(self, partition: Partition, entries: Sequence[AuditEntry]) -> None:
        """Append entries. :raises DuplicateRecord: an id is taken, nothing is ever replaced."""
        rows.check_partition(partition, entries)
        if entries:
            values = [rows.of_table(partition, journal_rows.audit_row(entry)) for entry in entries]
            self._transaction.write(_of(partition).append, values)

    def holds(self, partition: Partition, entry_id: str) -> bool:
        """Whether the entry was appended."""
        return self._transaction.read(_of(partition).holds, scope(partition, p_id=entry_id)).first() is not None

    def by_instance(self, partition: Partition, instance_id: str, paging: Paging = WHOLE) -> Page[AuditEntry]:
        """Return the instance's entries, oldest first."""
        parameters = scope(partition, p_instance_id=instance_id)
        found = self._transaction.read(_of(partition).by_instance, {**parameters, **window(paging)}).mappings().all()
        total = total_of(self._transaction, paging, len(found), _of(partition).count, parameters)
        return Page([journal_rows.audit_entry(row) for row in found], total)

    def by_definition(self, partition: Partition, definition_id: str) -> Sequence[AuditEntry]:
        """Return the entries of the definition itself, not those of its instances, oldest first."""
        parameters = scope(partition, p_definition_id=definition_id)
        found = self._transaction.read(_of(partition).by_definition, parameters).mappings()
        return [journal_rows.audit_entry(row) for row in found]


def _of(partition: Partition) -> Statements:
    return _STATEMENTS[partition is not None]
