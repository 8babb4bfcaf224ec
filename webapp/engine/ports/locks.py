"""The lease port: one holder at a time for a name, across threads, processes and hosts (spec 8.6, 8.10)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol


class LeaseHeld(Exception):
    """A lease that was only tried is held by another."""


class Leases(Protocol):
    """Named leases with expiry, a fair queue inside the process, renewal, and takeover from dead processes.

    Every span of time is measured by the database's clock where it has one: hosts' clocks differ, and jump (8.10).
    """

    def hold(self, name: str) -> AbstractContextManager[None]:
        """Hold the lease while the block runs; re-entrant inside one thread.

        Waits up to the lock timeout, the queue's time included.
        :raises webapp.engine.errors.LockTimeout: it was not to be had in time (``WORKFLOW_TIMEOUT_001``).
        """

    def attempt(self, name: str) -> AbstractContextManager[None]:
        """Hold the lease if it is free at once. :raises LeaseHeld: it is not."""

    def attempt_many(self, names: Sequence[str]) -> AbstractContextManager[Collection[str]]:
        """Hold those of the leases that are free at once while the block runs, and tell which these are.

        Nothing is waited for, so whoever holds some of them can never be waited for in turn (spec 8.10).
        """

    def beat(self, name: str, seconds: float) -> None:
        """Write or renew a row that says that this process is alive for so many seconds more (``poller:<holder>``)."""

    def live(self, prefix: str) -> bool:
        """Whether an unexpired row whose name begins so exists, of a process that is not known to be gone."""

    def sweep(self, seconds: float) -> int:
        """Delete the rows, leases and beats alike, that have been over for so many seconds; return their number."""

    def token(self) -> str:
        """Return a new claim token of this process: HolderId/host key/pid/process start/uuid."""

    def is_gone(self, token: str) -> bool:
        """Whether the token's process was of this host and does not run any more."""
