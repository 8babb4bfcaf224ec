"""What a process keeps a copy of, so that nothing has to be read in a wave (spec 25)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from webapp.engine.clock import Clock
from webapp.engine.ports.stores import StoreFailure

T = TypeVar("T")


class _Held(NamedTuple, Generic[T]):
    """What was read, when, and what marks the time since something was forgotten."""

    read_at: datetime
    mark: object
    value: T


class ProcessCopy(Generic[T]):
    """Something that was read as a whole and is replaced as a whole, so that readers need no lock.

    *read* returns it; *failed* is told when that did not work, and whether there is an older copy to go on with.
    """

    def __init__(
        self, read: Callable[[], T], clock: Clock, seconds: float, failed: Callable[[StoreFailure, bool], None]
    ) -> None:
        self._read = read
        self._clock = clock
        self._age = timedelta(seconds=seconds)
        self._failed = failed
        self._lock = threading.Lock()
        self._held: _Held[T] | None = None
        self._mark = object()

    @property
    def value(self) -> T | None:
        """What was read last, though it may be forgotten since: who is in a wave goes on with it. None: nothing was."""
        held = self._held
        return None if held is None else held.value

    def refresh(self) -> None:
        """Read again if the copy is older than the seconds; a failure keeps the copy that is there."""
        if self._is_fresh():
            return
        with self._lock:
            if self._is_fresh():
                return
            # Noted first: what is forgotten while it is read may be read too early.
            mark = self._mark
            try:
                found = self._read()
            except StoreFailure as failure:
                self._failed(failure, self._held is not None)
                return
            self._held = _Held(self._clock.now(), mark, found)

    def forget(self) -> None:
        """Make the next refresh read again: something was changed in this process."""
        self._mark = object()

    def _is_fresh(self) -> bool:
        held = self._held
        if held is None or held.mark is not self._mark:
            return False
        # A copy of the future was read before the clock was put back.
        return timedelta() <= self._clock.now() - held.read_at <= self._age
