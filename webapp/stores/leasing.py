"""The lease protocol over any table of leases: queue, acquire loop, takeover, renewal, release (spec 8.6, 8.10)."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

import msgspec

from webapp.engine.clock import IdSource
from webapp.engine.errors import LockTimeout
from webapp.engine.ports.locks import LeaseHeld
from webapp.engine.ports.refusals import store_unavailable
from webapp.engine.ports.stores import StoreFailure
from webapp.stores.processes import ProcessIdentity
from webapp.stores.queues import FairQueues

_log = logging.getLogger("waypost.leases")
_jitter = random.SystemRandom()

T = TypeVar("T")

FIRST_WAIT_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 0.5
LONGEST_HOLD_SECONDS = 15 * 60
RELEASE_ATTEMPTS = 3


class LeaseRow(msgspec.Struct, frozen=True):
    """A lease as it stands: who holds it, and the stamp that guards a takeover."""

    holder: str
    stamp: str


class LeaseRows(Protocol):
    """The table of leases; each method is a transaction of its own, at once visible to every other process.

    Spans are in seconds, by the table's own clock.
    """

    def take(self, name: str, row: LeaseRow, seconds: float) -> bool:
        """Insert the row, or take over an expired one; False: a live one is there."""

    def take_many(self, names: Sequence[str], row: LeaseRow, seconds: float) -> Collection[str]:
        """Do as ``take`` does for each name, all with the same row; return the names that it was done for."""

    def read(self, name: str) -> LeaseRow | None:
        """Return the row, or None."""

    def take_over(self, name: str, row: LeaseRow, old_stamp: str, seconds: float) -> bool:
        """Replace the row that has the old stamp, expired or not; False: it changed."""

    def renew(self, name: str, stamp: str, seconds: float) -> bool:
        """Move the expiry of the row with that stamp; False: it is another's by now."""

    def drop(self, name: str, stamp: str) -> None:
        """Delete the row with that stamp, if it is still there."""

    def drop_many(self, names: Sequence[str], stamp: str) -> None:
        """Delete the rows of these names that have that stamp."""

    def beat(self, name: str, row: LeaseRow, seconds: float) -> None:
        """Insert or replace a row that only says that somebody is alive."""

    def holders(self, prefix: str) -> Sequence[str]:
        """Return who holds the rows that are not expired and whose names begin so."""

    def sweep(self, seconds: float) -> int:
        """Delete the rows that have been over for so long; return their number."""


class _Held(msgspec.Struct):
    """A lease of this process: its stamp, and since when it is renewed."""

    stamp: str
    since: float


class RowLeases:
    """Leases over a table; the port's implementation for both sets of stores."""

    def __init__(
        self,
        rows: LeaseRows,
        *,
        ids: IdSource,
        identity: ProcessIdentity,
        holder_id: str = "",
        lease_seconds: float = 60,
        lock_timeout_seconds: float = 10,
        longest_hold_seconds: float = LONGEST_HOLD_SECONDS,
    ) -> None:
        self._rows = rows
        self._ids = ids
        self._identity = identity
        self._prefix = f"{holder_id}/{identity.text}/"
        self._lease_seconds = lease_seconds
        self._lock_timeout = lock_timeout_seconds
        self._queues = FairQueues()
        self._mine = threading.local()
        # Stamps of leases that could not be released: nobody holds them, so this process need not wait for their end.
        self._abandoned: dict[str, str] = {}
        self._renewal = _Renewal(rows, lease_seconds, longest_hold_seconds)

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold the lease while the block runs. :raises LockTimeout: it was not to be had in time."""
        with self._held(name, self._lock_timeout, self._acquire):
            yield

    @contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """Hold the lease if it is free at once. :raises LeaseHeld: it is not."""
        try:
            with self._held(name, 0, self._acquire_once):
                yield
        except _Busy:
            raise LeaseHeld(name) from None

    @contextmanager
    def attempt_many(self, names: Sequence[str]) -> Iterator[Collection[str]]:
        """Hold those of the leases that are free at once, and tell which these are."""
        mine = self._names_of_thread()
        free = [name for name in dict.fromkeys(names) if name not in mine and self._queues.enter(name, 0)]
        row, held = self._new_row(), list[str]()
        try:
            try:
                held = self._take_free(free, row)
                for name in held:
                    self._abandoned.pop(name, None)
                    self._renewal.add(name, row.stamp)
                mine.update(held)
                yield [name for name in dict.fromkeys(names) if name in mine]
            finally:
                mine.difference_update(held)
                for name in held:
                    self._renewal.remove(name)
                # By the stamp: of a step that failed nobody knows what it took.
                self._release(free, row.stamp)
        finally:
            for name in free:
                self._queues.leave(name)

    def beat(self, name: str, seconds: float) -> None:
        """Write or renew a row that says that this process is alive."""
        _guarded(lambda: self._rows.beat(name, self._new_row(), seconds))

    def live(self, prefix: str) -> bool:
        """Whether an unexpired row whose name begins so exists, of a process that is not known to be gone."""
        return any(not self.is_gone(holder) for holder in _guarded(lambda: self._rows.holders(prefix)))

    def sweep(self, seconds: float) -> int:
        """Delete rows that have been over for so long."""
        return _guarded(lambda: self._rows.sweep(seconds))

    def token(self) -> str:
        """Return a new claim token of this process."""
        return self._prefix + self._ids.new()

    def is_gone(self, token: str) -> bool:
        """Whether the token's process was of this host and does not run any more."""
        return self._identity.is_gone(token)

    def close(self) -> None:
        """Stop renewing; leases still held run out."""
        self._renewal.close()

    def _new_row(self) -> LeaseRow:
        stamp = self._ids.new()
        return LeaseRow(self._prefix + stamp, stamp)

    def _names_of_thread(self) -> set[str]:
        names: set[str] = self._mine.__dict__.setdefault("names", set())
        return names

    @contextmanager
    def _held(self, name: str, timeout: float, acquire: Callable[[str, float], LeaseRow]) -> Iterator[None]:
        mine = self._names_of_thread()
        if name in mine:
            yield
            return
        deadline = time.monotonic() + timeout
        if not self._queues.enter(name, timeout):
            raise self._refusal(name, timeout)
        try:
            row = acquire(name, deadline)
            self._abandoned.pop(name, None)
            try:
                self._renewal.add(name, row.stamp)
                mine.add(name)
                yield
            finally:
                mine.discard(name)
                self._renewal.remove(name)
                self._release([name], row.stamp)
        finally:
            self._queues.leave(name)

    def _refusal(self, name: str, timeout: float) -> Exception:
        if timeout <= 0:
            return _Busy()
        return LockTimeout("workflow.lock.timeout", params={"name": name, "seconds": self._lock_timeout})

    def _acquire(self, name: str, deadline: float) -> LeaseRow:
        wait, row = FIRST_WAIT_SECONDS, self._new_row()
        while True:
            if self._try(name, row, deadline):
                return row
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._refusal(name, self._lock_timeout)
            # Waiters of one moment must not come back in one moment.
            time.sleep(min(left, wait * (0.5 + _jitter.random() / 2)))
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    def _acquire_once(self, name: str, deadline: float) -> LeaseRow:
        row = self._new_row()
        if not self._try(name, row, deadline):
            raise _Busy
        return row

    def _take_free(self, names: Sequence[str], row: LeaseRow) -> list[str]:
        """Take all that are free in one step; one that is not may be a dead process's."""
        if not names:
            return []
        taken: Collection[str] = ()
        try:
            taken = set(self._rows.take_many(names, row, self._lease_seconds))
        except StoreFailure as failure:
            if not failure.transient:
                raise store_unavailable(failure) from failure
            # Those whose answer was lost have this stamp, by which they are known again.
        deadline = time.monotonic()
        return [name for name in names if name in taken or self._try(name, row, deadline)]

    def _try(self, name: str, row: LeaseRow, deadline: float) -> bool:
        """Take the lease if it is free, expired, or of a dead process of this host."""
        try:
            if self._rows.take(name, row, self._lease_seconds):
                return True
            current = self._rows.read(name)
            if current is None:
                return False
            if current.stamp == row.stamp:
                # An earlier try took it, and its answer was lost on the way.
                return True
            if self._is_free(name, current) and self._rows.take_over(name, row, current.stamp, self._lease_seconds):
                _log.info("lease taken over that nobody holds any more", extra={"lease": name})
                return True
        except StoreFailure as failure:
            if not failure.transient or time.monotonic() >= deadline:
                raise store_unavailable(failure) from failure
        return False

    def _is_free(self, name: str, current: LeaseRow) -> bool:
        return current.stamp == self._abandoned.get(name) or self._identity.is_gone(current.holder)

    def _release(self, names: Sequence[str], stamp: str) -> None:
        for attempt in range(1, RELEASE_ATTEMPTS + 1):
            try:
                if len(names) == 1:
                    self._rows.drop(names[0], stamp)
                elif names:
                    self._rows.drop_many(names, stamp)
            except StoreFailure as failure:
                if attempt < RELEASE_ATTEMPTS and failure.transient:
                    # Most often a connection died in the pool; the next one is new.
                    continue
                # The work is done and committed; for other processes the lease runs out by itself.
                for name in names:
                    self._abandoned[name] = stamp
                    _log.warning("lease not released", extra={"lease": name, "reason": failure.reason})
            return


class _Busy(Exception):
    """The lease is held, and nobody wants to wait."""


def _guarded(call: Callable[[], T]) -> T:
    try:
        return call()
    except StoreFailure as failure:
        raise store_unavailable(failure) from failure


class _Renewal:
    """Moves the expiry of the leases held, by a thread that lives as long as there are any."""

    def __init__(self, rows: LeaseRows, lease_seconds: float, longest_hold_seconds: float) -> None:
        self._rows = rows
        self._lease_seconds = lease_seconds
        self._longest = longest_hold_seconds
        self._period = max(1.0, lease_seconds / 3)
        self._condition = threading.Condition()
        self._held: dict[str, _Held] = {}
        self._running = False
        self._closed = False

    def add(self, name: str, stamp: str) -> None:
        """Renew that lease from now on."""
        with self._condition:
            self._held[name] = _Held(stamp, time.monotonic())
            if not self._running and not self._closed:
                threading.Thread(target=self._run, name="lease-renewal", daemon=True).start()
                # Not before: where no thread can be started now, the next lease tries again.
                self._running = True

    def remove(self, name: str) -> None:
        """Renew that lease no more."""
        with self._condition:
            self._held.pop(name, None)

    def close(self) -> None:
        """End the thread."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait(self._period)
                if self._closed or not self._held:
                    self._running = False
                    return
                held = list(self._held.items())
            for name, lease in held:
                self._renew(name, lease)

    def _renew(self, name: str, lease: _Held) -> None:
        if time.monotonic() - lease.since > self._longest:
            if self._forget(name, lease):
                _log.error("lease held too long, renewed no more", extra={"lease": name})
            return
        try:
            if not self._rows.renew(name, lease.stamp, self._lease_seconds) and self._forget(name, lease):
                _log.warning("lease lost", extra={"lease": name})
        except StoreFailure as failure:
            _log.warning("lease not renewed", extra={"lease": name, "reason": failure.reason})

    def _forget(self, name: str, lease: _Held) -> bool:
        """Renew no more, unless the lease was released meanwhile: then the name may be held anew, by another stamp."""
        with self._condition:
            if self._held.get(name) is not lease:
                return False
            del self._held[name]
            return True
