"""The directory of accounts that the engine asks: a copy in the process, refreshed before a wave, never in it (25)."""

from __future__ import annotations

import logging
from collections.abc import Collection

import msgspec

from webapp.accounts.model import Account, StandIn, Substitution, groups_of
from webapp.accounts.ports import AccountStore
from webapp.engine.clock import Clock
from webapp.engine.ports.stores import Partition, StoreFailure
from webapp.services.process_copies import ProcessCopy
from webapp.services.storage import unavailable

log = logging.getLogger("waypost.directory")


class Person(msgspec.Struct, frozen=True):
    """What is told of an account without a read: the name that people see, where and how it is told things."""

    label: str
    email: str | None
    language: str | None
    department: str | None


class _Copy(msgspec.Struct, frozen=True):
    """The accounts as they stood at one moment."""

    people: dict[tuple[Partition, str], Person]

    known: dict[Partition, frozenset[str]]
    disabled: dict[Partition, frozenset[str]]
    members: dict[tuple[Partition, str], frozenset[str]]
    substitutions: dict[tuple[Partition, str], tuple[Substitution, ...]]
    absences: dict[tuple[Partition, str], tuple[Substitution, ...]]


class AccountDirectory:
    """Implements the ``Directory`` port over the account store; at most *seconds* old."""

    def __init__(self, accounts: AccountStore, clock: Clock, seconds: float = 5) -> None:
        self._accounts = accounts
        self._clock = clock
        self._copy = ProcessCopy(self._read, clock, seconds, _failed)

    def refresh(self) -> None:
        """Read the accounts again if the copy is too old; a failure keeps the copy that is there.

        :raises Unavailable: there is no copy yet.
        """
        self._copy.refresh()

    def forget(self) -> None:
        """Make the next refresh read again: an account was changed in this process."""
        self._copy.forget()

    def disabled(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        """Return those of the ids that are disabled accounts."""
        copy = self._copy.value
        return frozenset() if copy is None else copy.disabled.get(partition, frozenset()).intersection(ids)

    def known(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        """Return those of the ids that are accounts of the partition."""
        copy = self._copy.value
        return frozenset() if copy is None else copy.known.get(partition, frozenset()).intersection(ids)

    def members(self, partition: str | None, principal: str) -> frozenset[str]:
        """Return the enabled accounts of ``role:NAME`` or ``department:NAME``."""
        copy = self._copy.value
        return frozenset() if copy is None else copy.members.get((partition, principal), frozenset())

    def person(self, partition: str | None, name: str) -> Person | None:
        """Return what the copy tells of an account of the partition, or None."""
        copy = self._copy.value
        return None if copy is None else copy.people.get((partition, name))

    def stands_in(self, partition: str | None, name: str) -> tuple[StandIn, ...]:
        """Return for whom an account is the substitute now, in the order of their absences."""
        copy, now = self._copy.value, self._clock.now()
        found = () if copy is None else copy.substitutions.get((partition, name), ())
        return tuple(StandIn(one.absent_id, one.definitions) for one in found if one.starts_at <= now < one.ends_at)

    def stand_ins(self, partition: str | None, absent: str, definition_name: str) -> tuple[str, ...]:
        """Return who stands in for an account now, in that workflow, in the order of the absences."""
        copy, now = self._copy.value, self._clock.now()
        found = () if copy is None else copy.absences.get((partition, absent), ())
        wanted = [one for one in found if one.starts_at <= now < one.ends_at]
        return tuple(one.substitute_id for one in wanted if not one.definitions or definition_name in one.definitions)

    def _read(self) -> _Copy:
        accounts = self._accounts.directory()
        return _copy_of(accounts, self._accounts.substitutions_ending_after(self._clock.now()))


def _failed(failure: StoreFailure, has_copy: bool) -> None:
    if not has_copy:
        raise unavailable(failure) from failure
    log.warning("the directory of accounts could not be read; the old copy is used", exc_info=True)


def _copy_of(accounts: Collection[Account], substitutions: Collection[Substitution]) -> _Copy:
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
    standing: dict[tuple[Partition, str], list[Substitution]] = {}
    absences: dict[tuple[Partition, str], list[Substitution]] = {}
    for one in substitutions:
        standing.setdefault((one.tenant_id, one.substitute_id), []).append(one)
        absences.setdefault((one.tenant_id, one.absent_id), []).append(one)
    return _Copy(
        people={
            (one.tenant_id, one.name): Person(one.label, one.email, one.language, one.department) for one in accounts
        },
        known={partition: frozenset(names) for partition, names in known.items()},
        disabled={partition: frozenset(names) for partition, names in disabled.items()},
        members={group: frozenset(names) for group, names in members.items()},
        substitutions={who: tuple(found) for who, found in standing.items()},
        absences={who: tuple(found) for who, found in absences.items()},
    )
