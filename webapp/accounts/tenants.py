"""The tenants as of a few seconds ago: which there are, which are enabled, whose database is its own (spec 8.10).

Asked at every call of a tenant, so it is a copy in the process. Who finds it too old reads it anew; meanwhile the
others go on with the old one, and so does everybody while it cannot be read.
"""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta

import msgspec

from webapp.accounts.model import Tenant
from webapp.accounts.ports import AccountStore
from webapp.engine.clock import Clock
from webapp.engine.ports.stores import Partition, StoreFailure

log = logging.getLogger("waypost.tenants")


class TenantCopy(msgspec.Struct, frozen=True):
    """The tenants as they stood at one moment, by id; replaced as a whole, so that readers need no lock."""

    tenants: dict[str, Tenant]
    disabled: frozenset[Partition]


class TenantDirectory:
    """The tenants, at most *seconds* old."""

    def __init__(self, accounts: AccountStore, clock: Clock, seconds: float = 5) -> None:
        self._accounts = accounts
        self._clock = clock
        self._age = timedelta(seconds=seconds)
        self._lock = threading.Lock()
        self._copy: TenantCopy | None = None
        self._asked_at: datetime | None = None
        self._missing: frozenset[str] = frozenset()
        """Ids that were looked for in vain since the copy was read in its turn."""

    def copy(self) -> TenantCopy:
        """Return the present copy. :raises StoreFailure: the tenants cannot be read, and never were."""
        copy = self._copy
        if copy is not None and self._is_fresh():
            return copy
        if not self._lock.acquire(blocking=copy is None):
            assert copy is not None  # noqa: S101  # who has none waits for the lock
            return copy
        try:
            if self._copy is None or not self._is_fresh():
                self._missing = frozenset()
                self._read()
            assert self._copy is not None  # noqa: S101  # just read, or there was one
            return self._copy
        finally:
            self._lock.release()

    def copy_with(self, partition: Partition) -> TenantCopy:
        """Return a copy that has the tenant if there is one, though another process has only just added it.

        A tenant that is not known has no database of its own: its rows would go where nobody looks for them later.

        :raises StoreFailure: the tenants cannot be read, and never were.
        """
        copy = self.copy()
        if partition is None or partition in copy.tenants or partition in self._missing:
            return copy
        with self._lock:
            if partition not in (self._copy or copy).tenants and partition not in self._missing:
                self._read()
                self._missing |= {partition}
            return self._copy or copy

    def disabled(self) -> frozenset[Partition]:
        """Return the disabled tenants. :raises StoreFailure: the tenants cannot be read, and never were."""
        return self.copy().disabled

    def is_disabled(self, partition: Partition) -> bool:
        """Whether it is a tenant that is not served."""
        return partition is not None and partition in self.disabled()

    def forget(self) -> None:
        """Make the next call read again: a tenant was changed in this process."""
        self._asked_at = None

    def _read(self) -> None:
        # Noted first: while the tenants cannot be read, not every call tries to.
        self._asked_at = self._clock.now()
        try:
            tenants = self._accounts.tenants()
        except StoreFailure:
            if self._copy is None:
                self._asked_at = None
                raise
            log.warning("the tenants could not be read; the old list is used", exc_info=True)
            return
        by_id = {tenant.id: tenant for tenant in tenants}
        if self._copy is None or self._copy.tenants != by_id:
            self._copy = TenantCopy(by_id, frozenset(one.id for one in tenants if not one.enabled))

    def _is_fresh(self) -> bool:
        asked = self._asked_at
        return asked is not None and timedelta(0) <= self._clock.now() - asked < self._age
