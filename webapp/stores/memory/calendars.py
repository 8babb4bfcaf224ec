"""Work calendars in memory; they belong to the platform, whatever the partition."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from webapp.engine.ports.calendars import StoredCalendar
from webapp.engine.ports.stores import DuplicateRecord, Partition, RevisionConflict


class MemoryCalendars:
    """The store of calendars; what it holds is immutable, so it is handed out as it is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stored: dict[tuple[str, str], StoredCalendar] = {}

    def all(self) -> Sequence[StoredCalendar]:
        """Return the calendars of all partitions, by partition and name."""
        with self._lock:
            return [self._stored[key] for key in sorted(self._stored)]

    def list(self, partition: Partition) -> Sequence[StoredCalendar]:
        """Return the partition's calendars by name."""
        return [stored for stored in self.all() if stored.tenant_id == partition]

    def find(self, partition: Partition, name: str) -> StoredCalendar | None:
        """Return the calendar, or None."""
        with self._lock:
            return self._stored.get((partition or "", name))

    def insert(self, stored: StoredCalendar) -> None:
        """Insert a calendar. :raises DuplicateRecord: the partition has one of that name."""
        with self._lock:
            if self._stored.setdefault(_key(stored), stored) is not stored:
                raise DuplicateRecord(f"calendar {stored.calendar.name}")

    def replace(self, stored: StoredCalendar, expected_revision: int) -> None:
        """Replace a calendar. :raises RevisionConflict: it is gone or at another revision."""
        with self._lock:
            self._expect(_key(stored), expected_revision)
            self._stored[_key(stored)] = stored

    def delete(self, partition: Partition, name: str, expected_revision: int) -> None:
        """Delete a calendar. :raises RevisionConflict: it is gone or at another revision."""
        with self._lock:
            self._expect((partition or "", name), expected_revision)
            del self._stored[(partition or "", name)]

    def _expect(self, key: tuple[str, str], revision: int) -> None:
        found = self._stored.get(key)
        if found is None or found.revision != revision:
            raise RevisionConflict(f"calendar {key[1]} is not at revision {revision}")


def _key(stored: StoredCalendar) -> tuple[str, str]:
    return (stored.tenant_id or "", stored.calendar.name)
