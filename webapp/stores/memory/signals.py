"""Signals in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.ports.queries import MAX_LIMIT, DefinitionSummary
from webapp.engine.ports.signals import SignalTarget, StoredSignal
from webapp.engine.ports.stores import Partition
from webapp.stores import rows, signal_rows
from webapp.stores.memory.lists import by_time
from webapp.stores.memory.tables import Transaction
from webapp.stores.rows import Row

_TABLE = "stored_signals"


class MemorySignals:
    """The store of signals."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def targets(
        self,
        partition: Partition,
        name: str,
        correlation_id: str | None,
        until: datetime,
        limit: int,
        after: SignalTarget | None = None,
    ) -> Sequence[SignalTarget]:
        """Return the bookmarks that wait for the signal, the oldest first."""
        return self._targets(partition, name, correlation_id, until, after)[:limit]

    def count_targets(
        self,
        partition: Partition,
        name: str,
        correlation_id: str | None,
        until: datetime,
        after: SignalTarget | None = None,
    ) -> int:
        """Return how many wait for the signal."""
        return len(self._targets(partition, name, correlation_id, until, after))

    def starts(self, partition: Partition, name: str) -> Sequence[DefinitionSummary]:
        """Return the definitions that the signal starts, by name."""
        published = self._transaction.rows(
            "definitions", lambda row: row["tenant_id"] == partition and row["status"] == "Published"
        )
        newest: dict[str, Row] = {}
        for row in published:
            other = newest.get(row["name"])
            if other is None or row["version"] > other["version"]:
                newest[row["name"]] = row
        found = [row for row in newest.values() if row["start_signal"] == name]
        return [rows.definition_summary(row) for row in sorted(found, key=lambda row: row["name"])]

    def keep(self, partition: Partition, signal: StoredSignal) -> None:
        """Store a signal for later."""
        rows.check_partition(partition, [signal])
        if self._transaction.get(_TABLE, (signal.id,), partition) is None:
            self._transaction.put(_TABLE, signal_rows.stored_signal_row(signal))

    def find(self, partition: Partition, signal_id: str) -> StoredSignal | None:
        """Return a kept signal, or None."""
        row = self._transaction.get(_TABLE, (signal_id,), partition)
        return None if row is None else signal_rows.stored_signal(row)

    def kept(self, partition: Partition, names: Sequence[str], now: datetime) -> Sequence[StoredSignal]:
        """Return the kept signals of these names, the oldest first."""
        found = self._transaction.rows(
            _TABLE,
            lambda row: row["tenant_id"] == partition and row["name"] in names and row["expires_at"] > now,
        )
        found.sort(key=lambda row: (row["created_at"], row["id"]))
        return [signal_rows.stored_signal(row) for row in found[:MAX_LIMIT]]

    def discard(self, partition: Partition, signal_id: str) -> bool:
        """Delete a kept signal; False: it was gone."""
        there = self._transaction.get(_TABLE, (signal_id,), partition) is not None
        self._transaction.remove(_TABLE, (signal_id,), partition)
        return there

    def purge(self, partition: Partition, now: datetime, limit: int) -> int:
        """Delete at most *limit* kept signals whose time is over."""
        over = self._transaction.rows(_TABLE, lambda row: row["tenant_id"] == partition and row["expires_at"] <= now)
        over = sorted(over, key=lambda row: row["expires_at"])[:limit]
        for row in over:
            self._transaction.remove(_TABLE, (row["id"],), partition)
        return len(over)

    def _targets(
        self,
        partition: Partition,
        name: str,
        correlation_id: str | None,
        until: datetime,
        after: SignalTarget | None,
    ) -> list[SignalTarget]:
        last = None if after is None else (after.created_at, after.sequence, after.bookmark_id)
        found = self._transaction.rows(
            "bookmarks",
            lambda row: (
                row["tenant_id"] == partition
                and row["kind"] == BookmarkKind.SIGNAL.value
                and row["key"] == name
                and row["instance_status"] == "Running"
                and row["created_at"] <= until
                and (correlation_id is None or row["correlation_id"] in (None, correlation_id))
                and (last is None or (row["created_at"], row["sequence"], row["id"]) > last)
            ),
        )
        return [signal_rows.target(row) for row in by_time(found, "created_at")]
