"""The lease port: one holder at a time for a name, across threads, processes and hosts (spec 8.6, 8.10)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol


class LeaseHeld(Exception):
    """A lease that was only tried is held by another."""


class Leases(Protocol):
    """Named leases with expiry, a fair queue inside the process, renewal, and takeover from dead processes."""

    def hold(self, name: str) -> AbstractContextManager[None]:
        """Hold the lease while the block runs; re-entrant inside one thread.

        Waits up to the lock timeout, the queue's time included.
        :raises webapp.engine.errors.LockTimeout: it was not to be had in time (``WORKFLOW_TIMEOUT_001``).
        """

    def attempt(self, name: str) -> AbstractContextManager[None]:
        """Hold the lease if it is free at once. :raises LeaseHeld: it is not."""

    def beat(self, name: str, until: datetime) -> None:
        """Write or renew a row that says that this process is alive (``poller:<holder>``)."""

    def live(self, prefix: str, now: datetime) -> bool:
        """Whether an unexpired row whose name begins so exists."""

    def token(self) -> str:
        """Return a new claim token of this process: HolderId/host key/pid/process start/uuid."""

    def is_gone(self, token: str) -> bool:
        """Whether the token's process was of this host and does not run any more."""
