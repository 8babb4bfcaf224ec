"""Waiting for what a commit may bring: a few seats, woken by this process, else by time (spec 11, Amendments).

Nobody holds a connection or a transaction while waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class WaitingRoom:
    """Seats for calls that wait for something named by a key; ``announce`` wakes those who wait for one of the keys."""

    def __init__(self, seats: int, poll_seconds: float = 1.0) -> None:
        self._seats = seats
        self._poll_seconds = poll_seconds
        self._changed = threading.Condition()
        self._taken = 0
        self._numbers: dict[str, int] = {}
        self._number = 0
        self._closed = False

    @property
    def taken(self) -> int:
        """How many seats are taken."""
        return self._taken

    @contextmanager
    def seat(self) -> Iterator[bool]:
        """Take a seat while the block runs; False: none is free."""
        with self._changed:
            got = self._taken < self._seats and not self._closed
            self._taken += got
        try:
            yield got
        finally:
            with self._changed:
                self._taken -= got
                if not self._taken:
                    self._numbers.clear()

    def announce(self, keys: Collection[str]) -> None:
        """Tell that something has come under these keys."""
        with self._changed:
            if not self._taken:
                return
            self._number += 1
            self._numbers.update(dict.fromkeys(keys, self._number))
            self._changed.notify_all()

    def close(self) -> None:
        """Let everybody go, for good: the process ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def until(self, keys: Collection[str], look: Callable[[], T | None], seconds: float) -> T | None:
        """Return what *look* finds: at once, or after an announcement, or by looking again now and then; None: nothing.

        To be called from a seat. An announcement between looking and waiting is not missed.
        """
        deadline = time.monotonic() + seconds
        while True:
            with self._changed:
                heard = self._number
            found = look()
            left = deadline - time.monotonic()
            if found is not None or left <= 0 or self._closed:
                return found
            self._wait(keys, heard, min(left, self._poll_seconds))

    def _wait(self, keys: Collection[str], heard: int, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._latest(keys) > heard, seconds)

    def _latest(self, keys: Collection[str]) -> int:
        return max((self._numbers.get(key, 0) for key in keys), default=0)
