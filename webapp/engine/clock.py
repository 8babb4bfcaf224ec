"""The system's clock and ids, and the Protocols by which everything else gets them (spec 14, 1.17)."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

_EPOCH_2020 = datetime(2020, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Tells the time: an aware datetime in UTC."""

    def now(self) -> datetime:
        """Return the present instant."""


class IdSource(Protocol):
    """Makes the ids of new records."""

    def new(self) -> str:
        """Return a new UUID v7 in its 36-character form, greater than all made before by this source."""


class SystemClock:
    """The computer's clock."""

    def now(self) -> datetime:
        """Return the present instant, UTC, in microseconds."""
        return datetime.now(UTC)


class SystemIds:
    """UUID v7 ids, strictly rising inside the process: 48 bits of milliseconds, a 12-bit counter, 62 random bits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def new(self) -> str:
        """Return a new UUID v7."""
        stamp = time.time_ns() // 1_000_000 << 12
        with self._lock:
            self._last = max(self._last + 1, stamp)
            head = self._last
        random = int.from_bytes(os.urandom(8)) & ((1 << 62) - 1)
        value = (head >> 12) << 80 | 0x7 << 76 | (head & 0xFFF) << 64 | 0b10 << 62 | random
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def next_sequence(last: int, now: datetime) -> int:
    """Return the write order number after *last*: eighths of microseconds since 2020, rising in an instance (1.17)."""
    return max(last + 1, (now - _EPOCH_2020) // timedelta(microseconds=1) * 8)
