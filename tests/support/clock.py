"""A clock that only moves when a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Starts at 2026-07-16 08:00 UTC, the moment of the peer scenarios."""

    def __init__(self, start: datetime = datetime(2026, 7, 16, 8, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        """Return the present instant."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)
