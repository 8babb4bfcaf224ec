"""How long an attempt may take, and when the next one comes (spec 10, Outbox and deliveries)."""

from __future__ import annotations

import time
from collections.abc import Callable

from webapp.engine.cancellation import CancellationToken

FIRST_WAIT_SECONDS = 5.0
LONGEST_WAIT_SECONDS = 3600.0
LONGEST_ASKED_SECONDS = 86_400.0
"""How long the other side may ask to be left alone."""

JITTER = 0.25
STOP_SECONDS = 5.0
"""How long an attempt may still take when the process is told to stop."""


def wait_after(tries: int, chance: float, asked: float | None = None) -> float:
    """Return the seconds between a failed attempt, the *tries*-th of its round, and the next one.

    They double from 5 seconds up to an hour; *chance* (0 to 1) spreads what failed together. What the other side asks
    for is waited at least.
    """
    doubled = FIRST_WAIT_SECONDS * float(2 ** min(tries - 1, 20))
    wait = min(doubled, LONGEST_WAIT_SECONDS / (1 + JITTER)) * (1 + JITTER * chance)
    return max(wait, min(asked or 0.0, LONGEST_ASKED_SECONDS))


def is_last(attempts: int, most: int) -> bool:
    """Whether the attempt with this number ends a round: a dead delivery that is retried gets another whole round."""
    return attempts % most == 0


class AttemptTime(CancellationToken):
    """Set when the time for the attempt is over, or a few seconds after the process was told to stop."""

    def __init__(self, seconds: float, stopping: Callable[[], bool]) -> None:
        self._until = time.monotonic() + seconds
        self._stopping = stopping
        self._told = False

    @property
    def is_set(self) -> bool:
        """Whether the attempt must end."""
        now = time.monotonic()
        if not self._told and self._stopping():
            self._told = True
            self._until = min(self._until, now + STOP_SECONDS)
        return now >= self._until
