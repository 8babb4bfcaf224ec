"""The directory of accounts that the engine asks: a copy in the process, refreshed before a wave, never in it (25)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection
from datetime import datetime, timedelta

import msgspec

from webapp.accounts.model import Account, groups_of
from webapp.accounts.ports import AccountStore
from webapp.engine.clock import Clock
from webapp.engine.ports.stores import Partition, StoreFailure
from webapp.services.storage import unavailable

log = logging.getLogger("waypost.directory")


class _Copy(msgspec.Struct, frozen=True):
    """The accounts as they stood at one moment; replaced as a whole, so that readers need no lock."""

    read_at: datetime
    known: dict[Partition, frozenset[str]]
    disabled: dict[Partition, frozenset[str]]
    members: dict[tuple[Partition, str], frozenset[str]]


class AccountDirectory:
    """Implements the ``Directory`` port over the account store; at most *seconds* old."""

    def __init__(self, accounts: AccountStore, clock: Clock, seconds: float = 5) -> None:
        self._accounts = accounts
        self._clock = clock
        self._age = timedelta(seconds=seconds)
        self._lock = threading.Lock()
        self._copy: _Copy | None = None

    def refresh(self) -> None:
        """Read the accounts again if the copy is too old; a failure keeps the copy that is there.

        :raises Unavailable: there is no copy yet.
        """
        if self._is_fresh():
            return
        with self._lock:
            if self._is_fresh():
                return
            try:
                accounts = self._accounts.directory()
            except StoreFailure as failure:
                if self._copy is None:
                    raise unavailable(failure) from failure
                log.warning("the directory of accounts could not be read; the old copy is used", exc_info=True)
                return
            self._copy = _copy_of(accounts, self._clock.now())

    def forget(self) -> None:
        """Make the next refresh read again: an account was changed in this process."""
        self._copy = None

    def disabled(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        """Return those of the ids that are disabled accounts."""
        copy = self._copy
        return frozenset() if copy is None else copy.disabled.get(partition, frozenset()).intersection(ids)

    def known(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        """Return those of the ids that are accounts of the partition."""
        copy = self._copy
        return frozenset() if copy is None else copy.known.get(partition, frozenset()).intersection(ids)

    def members(self, partition: str | None, principal: str) -> frozenset[str]:
        """Return the enabled accounts of ``role:NAME`` or ``department:NAME``."""
        copy = self._copy
        return frozenset() if copy is None else copy.members.get((partition, principal), frozenset())

    def _is_fresh(self) -> bool:
        copy = self._copy
        return copy is not None and self._clock.now() - copy.read_at <= self._age


def _copy_of(accounts: Collection[Account], now: datetime) -> _Copy:
    known: dict[Partition, set[str]] = {}
    disabled: dict[Partition, set[str]] = {}
    members: dict[tuple[Partition, str], set[str]] = {}
    for account in accounts:
        known.setdefault(account.tenant_id, set()).add(account.name)
        if account.disabled:
            disabled.setdefault(account.tenant_id, set()).add(account.name)
            continue
        for group in groups_of(account.roles, account.department):
            members.setdefault((account.tenant_id, group), set()).add(account.name)
    return _Copy(
        read_at=now,
        known={partition: frozenset(names) for partition, names in known.items()},
        disabled={partition: frozenset(names) for partition, names in disabled.items()},
        members={group: frozenset(names) for group, names in members.items()},
    )
