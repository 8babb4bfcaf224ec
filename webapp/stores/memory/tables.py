"""Tables in memory: rows as columns and encoded documents, changed only by the commit of a unit of work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from typing import Any

from webapp.engine.errors import READ_ONLY, Unexpected
from webapp.engine.ports.partitions import Fenced
from webapp.engine.ports.stores import DuplicateRecord, Partition
from webapp.stores.rows import Row

Key = tuple[Any, ...]

KEYS: dict[str, tuple[str, ...]] = {
    "definitions": ("id",),
    "instances": ("id",),
    "node_instances": ("id",),
    "bookmarks": ("id",),
    "follow_ups": ("id",),
    "task_records": ("task_id", "round"),
    "task_copies": ("task_id", "user_id"),
    "audit": ("id",),
    "audit_heads": ("tenant_id", "seal_number"),
    "idempotency": ("tenant_id", "scope"),
    "timer_firings": ("tenant_id", "definition_name", "scheduled_at"),
    "outbox": ("id",),
    "notices": ("id",),
    "deliveries": ("id",),
    "delivery_attempts": ("delivery_id", "number"),
    "stored_signals": ("id",),
    "batches": ("id",),
    "batch_items": ("batch_id", "sequence"),
    "purge_marks": ("id",),
    "purge_runs": ("tenant_id",),
}
"""The key columns of each table."""

_BY_INSTANCE = frozenset(
    ["node_instances", "bookmarks", "task_records", "task_copies", "audit", "notices", "deliveries"]
)


def _full_key(key: Key, partition: Partition) -> Key:
    """Return the key over both sets of tables: tenants share one, the platform has its own (spec 8.1)."""
    return (partition is None, *key)


class Database:
    """All committed rows. A row is never changed in place, so a reader may keep what it got."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.gate = threading.Lock()
        self.writer: int | None = None
        self.fenced: frozenset[str] = frozenset()
        """The tenants whose rows are not to be changed; itself changed by who holds the gate."""
        self.tables: dict[str, dict[Key, Row]] = {name: {} for name in KEYS}
        self._by_instance: dict[str, dict[str, set[Key]]] = {name: {} for name in _BY_INSTANCE}

    def of_instance(self, table: str, instance_id: str) -> list[Key]:
        """Return the keys of an instance's rows."""
        return list(self._by_instance[table].get(instance_id, ()))

    def store(self, table: str, key: Key, row: Row | None) -> None:
        """Put or remove a row and keep the index by instance in step."""
        rows = self.tables[table]
        old = rows.get(key)
        if row is not None:
            rows[key] = row
        else:
            rows.pop(key, None)
        if table in _BY_INSTANCE:
            index = self._by_instance[table]
            if old is not None and old["instance_id"] is not None:
                index[old["instance_id"]].discard(key)
            if row is not None and row["instance_id"] is not None:
                index.setdefault(row["instance_id"], set()).add(key)


class Transaction:
    """What one unit of work sees and changes: its own changes over the committed rows."""

    def __init__(self, database: Database, *, writable: bool) -> None:
        self._database = database
        self.writable = writable
        self._changes: dict[str, dict[Key, Row | None]] = {}

    def get(self, table: str, key: Key, partition: Partition) -> Row | None:
        """Return the partition's row with that key, or None."""
        row = self._row(table, _full_key(key, partition))
        return row if row is not None and row["tenant_id"] == partition else None

    def put(self, table: str, row: Row, *, new: bool = False) -> None:
        """Insert or replace a row. :raises DuplicateRecord: another partition's row, or a *new* one's, has the key."""
        self._check_writable()
        key = _full_key(tuple(row[name] for name in KEYS[table]), row["tenant_id"])
        there = self._row(table, key) if new else self._database.tables[table].get(key)
        if there is not None and (new or there["tenant_id"] != row["tenant_id"]):
            raise DuplicateRecord(f"{table} {key}")
        self._changes.setdefault(table, {})[key] = row

    def update(self, table: str, row: Row, **values: Any) -> None:
        """Replace a row by a copy with other values."""
        self.put(table, {**row, **values})

    def remove(self, table: str, key: Key, partition: Partition) -> None:
        """Remove the partition's row, if it is there."""
        self._check_writable()
        if self.get(table, key, partition) is not None:
            self._changes.setdefault(table, {})[_full_key(key, partition)] = None

    def rows(self, table: str, where: Callable[[Row], bool]) -> list[Row]:
        """Return the rows of all partitions that match."""
        with self._database.lock:
            committed = self._database.tables[table]
            changes = self._changes.get(table)
            if not changes:
                return [row for row in committed.values() if where(row)]
            seen = {**committed, **changes}
        return [row for row in seen.values() if row is not None and where(row)]

    def of_instance(self, table: str, partition: Partition, instance_id: str) -> list[Row]:
        """Return the rows of one instance."""
        with self._database.lock:
            keys: Iterable[Key] = self._database.of_instance(table, instance_id)
            changes = self._changes.get(table, {})
            found = (self._row(table, key) for key in {*keys, *changes})
            wanted = (partition, instance_id)
            return [row for row in found if row is not None and (row["tenant_id"], row["instance_id"]) == wanted]

    def savepoint(self) -> MemorySavepoint:
        """Note how things stand."""
        return MemorySavepoint(self, {table: dict(changes) for table, changes in self._changes.items()})

    def restore(self, changes: dict[str, dict[Key, Row | None]]) -> None:
        """Forget what was changed since those were all the changes."""
        self._changes = changes

    def served(self, without: Collection[Partition]) -> Callable[[Row], bool]:
        """Return what tells of a row whether it may be worked on: of none of these partitions, and no fenced one."""
        left_out = {*without, *self._database.fenced}
        return lambda row: row["tenant_id"] not in left_out

    def require_unfenced(self, partition: Partition) -> None:
        """Let no fenced tenant's changes be committed. :raises Fenced: there are some."""
        if self._changes and partition in self._database.fenced:
            raise Fenced(f"tenant {partition}")

    def commit(self) -> None:
        """Make the changes visible to everybody, all at once."""
        with self._database.lock:
            for table, changes in self._changes.items():
                for key, row in changes.items():
                    self._database.store(table, key, row)
        self._changes = {}

    def _row(self, table: str, key: Key) -> Row | None:
        changes = self._changes.get(table, {})
        return changes[key] if key in changes else self._database.tables[table].get(key)

    def _check_writable(self) -> None:
        if not self.writable:
            raise Unexpected("workflow.persistence.read_only", code=READ_ONLY)


class MemorySavepoint:
    """The changes of a transaction as they were."""

    def __init__(self, transaction: Transaction, changes: dict[str, dict[Key, Row | None]]) -> None:
        self._transaction = transaction
        self._changes = changes

    def keep(self) -> None:
        """Let the changes since then stand."""

    def undo(self) -> None:
        """Put the changes back to what they were."""
        self._transaction.restore(self._changes)
