"""Firings of definitions' timers in memory; ``apply`` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from webapp.engine.instances.journal import TimerFiring
from webapp.engine.ports.queries import Page, Paging
from webapp.engine.ports.stores import WHOLE, Partition
from webapp.stores import journal_rows
from webapp.stores.memory.tables import Transaction
from webapp.stores.rows import Row


class MemoryTimerFirings:
    """The store of firings."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def last_scheduled(self, partition: Partition, name: str) -> datetime | None:
        """Return the latest due time that the name's timer has dealt with, or None."""
        return max((row["scheduled_at"] for row in self._of(partition, name)), default=None)

    def list(self, partition: Partition, name: str, paging: Paging = WHOLE) -> Page[TimerFiring]:
        """Return the name's firings, the latest due time first."""
        found = sorted(self._of(partition, name), key=lambda row: row["scheduled_at"], reverse=True)
        shown = found[paging.offset : paging.offset + paging.limit]
        return Page([journal_rows.timer_firing(row) for row in shown], len(found))

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* firings whose due time is before *before*; return their number."""
        found = self._transaction.rows(
            "timer_firings", lambda row: row["tenant_id"] == partition and row["scheduled_at"] < before
        )
        found = sorted(found, key=lambda row: row["scheduled_at"])[:limit]
        for row in found:
            key = (partition, row["definition_name"], row["scheduled_at"])
            self._transaction.remove("timer_firings", key, partition)
        return len(found)

    def _of(self, partition: Partition, name: str) -> Sequence[Row]:
        return self._transaction.rows(
            "timer_firings", lambda row: row["tenant_id"] == partition and row["definition_name"] == name
        )
