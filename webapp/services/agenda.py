"""When each separate database is looked into next: at its next known due time, or after 15 seconds (spec 8.10)."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

from webapp.engine.ports.stores import Partition

LOOK_SECONDS = 15


class Agenda:
    """The next look into each database, by what opens it; one that is not known yet is looked into at once."""

    def __init__(self, seconds: float = LOOK_SECONDS) -> None:
        self._interval = timedelta(seconds=seconds)
        self._lock = threading.Lock()
        self._next: dict[str, datetime] = {}

    def is_due(self, entry: str, now: datetime) -> bool:
        """Whether it is time to look."""
        at = self._next.get(entry)
        # A clock that was set back makes nobody wait longer than usual.
        return at is None or not now < at <= now + self._interval

    def begin(self, entry: str, now: datetime) -> None:
        """Say that somebody looks now: the next look is the usual time later, unless something is expected before."""
        with self._lock:
            self._next[entry] = now + self._interval

    def expect(self, entry: Partition, at: datetime | None) -> None:
        """Say that something is due then; of the platform's database, and of no time, nothing is noted."""
        if entry is None or at is None:
            return
        with self._lock:
            known = self._next.get(entry)
            if known is not None and at < known:
                self._next[entry] = at
