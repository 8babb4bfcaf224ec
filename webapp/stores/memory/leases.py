"""Leases in memory; two instances over one table stand for two processes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime, timedelta

from webapp.engine.clock import Clock, IdSource, SystemIds
from webapp.stores.leasing import LeaseRow, RowLeases
from webapp.stores.processes import ProcessIdentity, this_process


class MemoryLeaseRows:
    """A table of leases whose expiry follows the given clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rows: dict[str, tuple[LeaseRow, datetime]] = {}

    def take(self, name: str, row: LeaseRow, seconds: float) -> bool:
        """Insert the row, or take over an expired one."""
        with self._lock:
            found = self._rows.get(name)
            if found is not None and found[1] > self._clock.now():
                return False
            self._rows[name] = (row, self._until(seconds))
            return True

    def take_many(self, names: Sequence[str], row: LeaseRow, seconds: float) -> list[str]:
        """Do as ``take`` does for each name."""
        return [name for name in names if self.take(name, row, seconds)]

    def read(self, name: str) -> LeaseRow | None:
        """Return the row, or None."""
        found = self._rows.get(name)
        return None if found is None else found[0]

    def take_over(self, name: str, row: LeaseRow, old_stamp: str, seconds: float) -> bool:
        """Replace the row that has the old stamp."""
        return self._replace(name, row, old_stamp, seconds)

    def renew(self, name: str, stamp: str, seconds: float) -> bool:
        """Move the expiry of the row with that stamp."""
        return self._replace(name, None, stamp, seconds)

    def drop(self, name: str, stamp: str) -> None:
        """Delete the row with that stamp."""
        with self._lock:
            found = self._rows.get(name)
            if found is not None and found[0].stamp == stamp:
                del self._rows[name]

    def drop_many(self, names: Sequence[str], stamp: str) -> None:
        """Delete the rows of these names that have that stamp."""
        for name in names:
            self.drop(name, stamp)

    def beat(self, name: str, row: LeaseRow, seconds: float) -> None:
        """Insert or replace a row that only says that somebody is alive."""
        with self._lock:
            self._rows[name] = (row, self._until(seconds))

    def holders(self, prefix: str) -> Sequence[str]:
        """Return who holds the unexpired rows whose names begin so."""
        now = self._clock.now()
        with self._lock:
            return [row.holder for name, (row, until) in self._rows.items() if name.startswith(prefix) and until > now]

    def sweep(self, seconds: float) -> int:
        """Delete the rows that have been over for so long."""
        before = self._until(-seconds)
        with self._lock:
            over = [name for name, (_, until) in self._rows.items() if until <= before]
            for name in over:
                del self._rows[name]
            return len(over)

    def _replace(self, name: str, row: LeaseRow | None, stamp: str, seconds: float) -> bool:
        with self._lock:
            found = self._rows.get(name)
            if found is None or found[0].stamp != stamp:
                return False
            self._rows[name] = (row or found[0], self._until(seconds))
            return True

    def _until(self, seconds: float) -> datetime:
        return self._clock.now() + timedelta(seconds=seconds)


class MemoryLeases(RowLeases):
    """Leases of this process, or of several that share *rows*."""

    def __init__(
        self,
        clock: Clock,
        *,
        rows: MemoryLeaseRows | None = None,
        ids: IdSource | None = None,
        holder_id: str = "memory",
        lease_seconds: float = 60,
        lock_timeout_seconds: float = 10,
        identity: ProcessIdentity | None = None,
    ) -> None:
        super().__init__(
            rows or MemoryLeaseRows(clock),
            ids=ids or SystemIds(),
            identity=identity or this_process(),
            holder_id=holder_id,
            lease_seconds=lease_seconds,
            lock_timeout_seconds=lock_timeout_seconds,
        )
