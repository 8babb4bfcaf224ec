"""The calendars port: which working hours count, asked in a wave and answered from a copy in the process (spec D33).

The copy is at most 5 s old and refreshed before a wave, never in it, as the directory's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from webapp.engine.ports.stores import Partition
from webapp.engine.schedules import WorkCalendar, WorkingTime


class StoredCalendar(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A calendar as it is kept: its revision rises with every write and is its ETag."""

    tenant_id: str | None = None
    revision: int
    updated_at: datetime
    updated_by: str | None = None
    calendar: WorkCalendar


class Calendars(Protocol):
    """What a wave and the validation ask."""

    def find(self, partition: Partition, name: str) -> WorkingTime | None:
        """Return the calendar of that name, or None."""

    def names(self, partition: Partition) -> frozenset[str] | None:
        """Return the names of all calendars of the partition; None when nothing is known of them."""


class CalendarStore(Protocol):
    """Where calendars are kept: in the platform's database, for every partition (spec 8.10)."""

    def all(self) -> Sequence[StoredCalendar]:
        """Return the calendars of all partitions."""

    def list(self, partition: Partition) -> Sequence[StoredCalendar]:
        """Return the partition's calendars by name."""

    def find(self, partition: Partition, name: str) -> StoredCalendar | None:
        """Return the calendar, or None."""

    def insert(self, stored: StoredCalendar) -> None:
        """Insert a calendar. :raises DuplicateRecord: the partition has one of that name."""

    def replace(self, stored: StoredCalendar, expected_revision: int) -> None:
        """Replace a calendar. :raises RevisionConflict: it is gone, or its revision is not the expected one."""

    def delete(self, partition: Partition, name: str, expected_revision: int) -> None:
        """Delete a calendar. :raises RevisionConflict: it is gone, or its revision is not the expected one."""
