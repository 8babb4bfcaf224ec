"""Where partitions lie: in the platform's database, or tenants in databases of their own (spec 8.7, 8.10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from webapp.engine.ports.stores import Partition, StoreFailure


class Refusal(StrEnum):
    """Why a tenant is not served."""

    DISABLED = "tenant_disabled"
    BEHIND = "tenant_database_behind"
    UNREACHABLE = "tenant_database_unreachable"
    FENCED = "tenant_fenced"


class NotServed(StoreFailure):
    """A tenant is not served now; trying again at once is of no use."""

    def __init__(self, partition: Partition, refusal: Refusal) -> None:
        self.partition = partition
        self.refusal = refusal
        super().__init__(f"{refusal}: tenant {partition}")


class Fenced(StoreFailure):
    """The database takes no changes of the tenant's rows: it is disabled, or they lie elsewhere. Nothing was done."""


class Fences(Protocol):
    """Which tenants' rows one database takes no changes of, whatever a process still believes of where they lie.

    Every unit of work for writing of such a tenant that has written ends with ``Fenced`` instead of its commit, and
    nothing of its is claimed. The platform's rows have no fence.
    """

    def close(self, tenant_id: str) -> None:
        """Put up a fence, if there is none, once the transactions under way are over; no later one commits.

        :raises StoreFailure: it cannot; ``transient`` when a transaction did not end in time.
        """

    def open(self, tenant_id: str) -> None:
        """Take the fence down, if there is one. :raises StoreFailure: it cannot."""


class PolledDatabase(msgspec.Struct, frozen=True):
    """A database that is asked for due work by one query: units of work opened with ``entry`` reach it.

    The platform's has the entry None, a separate one the first of its tenants. ``without`` are the partitions whose
    rows in it are not to be run: they belong elsewhere, or nowhere.
    """

    entry: Partition = None
    without: frozenset[Partition] = frozenset()


class DatabaseState(msgspec.Struct, frozen=True, kw_only=True):
    """How it stands with a separate database.

    ``refusal`` None: it is served. ``since`` is when it was found so, ``next_try`` before when nobody tries it again.
    ``address`` is its URL, masked. ``checked`` false: nobody has asked it yet.
    """

    tenants: tuple[str, ...]
    address: str
    checked: bool = False
    refusal: Refusal | None = None
    since: datetime | None = None
    next_try: datetime | None = None


class PartitionDatabases(Protocol):
    """The databases that hold the partitions."""

    def polled(self) -> Sequence[PolledDatabase]:
        """Return the platform's database, then each separate one of an enabled tenant that may be tried now.

        :raises StoreFailure: the tenants cannot be read.
        """

    def entry_of(self, partition: Partition) -> Partition:
        """Return what opens the partition's database: None for the platform's."""

    def glancing(self) -> AbstractContextManager[None]:
        """Have this thread's calls not count as use, and idle connections of separate databases dropped at the end."""

    def states(self) -> Sequence[DatabaseState]:
        """Return the state of each separate database of an enabled tenant, by its first tenant."""

    def fence(self, tenant_id: str, database_url: str | None) -> None:
        """Let nothing of the tenant's be written in a database from now on; None is the platform's.

        :raises StoreFailure: the database cannot be reached, is behind this version, or busy for too long.
        """

    def unfence(self, tenant_id: str, database_url: str | None) -> None:
        """Allow it again. :raises StoreFailure: as above."""


def belonging(databases: PartitionDatabases, database: PolledDatabase, found: Iterable[Partition]) -> list[Partition]:
    """Return those of these partitions whose rows in a database are to be worked on.

    Others may have rows there: a backup that was put in its place holds what belonged to the database it was made of.
    """
    return [one for one in found if one not in database.without and databases.entry_of(one) == database.entry]


class OneDatabase:
    """Every partition lies in the platform's database."""

    def polled(self) -> Sequence[PolledDatabase]:
        """Return the one database."""
        return (PolledDatabase(),)

    def entry_of(self, partition: Partition) -> Partition:
        """Return None."""
        return None

    def glancing(self) -> AbstractContextManager[None]:
        """Do nothing."""
        return nullcontext()

    def states(self) -> Sequence[DatabaseState]:
        """Return nothing."""
        return ()

    def fence(self, tenant_id: str, database_url: str | None) -> None:
        """Do nothing: nobody looks elsewhere."""

    def unfence(self, tenant_id: str, database_url: str | None) -> None:
        """Do nothing."""
