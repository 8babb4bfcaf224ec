"""Units of work in the database of the call's partition: the platform's, or a tenant's own (spec 8.1, 8.10).

A tenant's database that cannot be reached, or whose tables are behind this version, is not served: its calls are
refused at once until the next try, so that nobody else waits for it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from typing import Protocol

import msgspec

from webapp.accounts.model import Tenant
from webapp.accounts.tenants import TenantCopy, TenantDirectory
from webapp.engine.clock import Clock
from webapp.engine.ports.partitions import DatabaseState, Fenced, Fences, NotServed, PolledDatabase, Refusal
from webapp.engine.ports.stores import Partition, StoreFailure, Stores, UnitOfWork

log = logging.getLogger("waypost.tenants")

IDLE = timedelta(minutes=10)
"""After so long without use a tenant's connections are dropped."""

BACK_OFF_SECONDS = (1, 2, 4, 8, 15)
"""How long a failing database is left alone: after the first failure, the second, … and all further ones."""


class FencedStores(Stores, Protocol):
    """Stores of one database."""

    @property
    def fences(self) -> Fences:
        """The tenants that it takes no changes of."""


class OwnDatabase(Protocol):
    """A tenant's own database, opened."""

    @property
    def stores(self) -> FencedStores:
        """What opens units of work in it."""

    def behind(self) -> str | None:
        """Return None when its tables are those of this version, else what is wrong.

        :raises StoreFailure: it cannot be reached.
        """

    def rest(self) -> None:
        """Let go of every connection; the next use opens new ones."""


class Opening(Protocol):
    """How tenants' databases are opened and called."""

    def key(self, url: str) -> str:
        """Return what is the same for all ways of writing one database's address. :raises ValueError: it is none."""

    def open(self, url: str) -> OwnDatabase:
        """Return the database; nothing is connected yet. :raises ValueError: the address is none."""

    def masked(self, url: str) -> str:
        """Return the address as it may be shown."""


class _Place:
    """One separate database: served while it is sound, else refused and tried again now and then."""

    def __init__(self, url: str, opening: Opening, clock: Clock, glances: threading.local) -> None:
        self.address = opening.masked(url)
        self.tenants: tuple[str, ...] = ()
        self._url = url
        self._opening = opening
        self._clock = clock
        self._glances = glances
        self._lock = threading.Lock()
        self._database: OwnDatabase | None = None
        self._sound = False
        self._checked = False
        self._refusal: Refusal | None = None
        self._since: datetime | None = None
        self._next_try: datetime | None = None
        self._failures = 0
        self._used_at = clock.now()
        self._resting = True

    @contextmanager
    def opened(self, partition: Partition, *, writes: bool) -> Iterator[UnitOfWork]:
        """Open a unit of work. :raises NotServed: the database is not sound."""
        stores = self.admit(partition).stores
        if not getattr(self._glances, "on", False):
            self._used_at = self._clock.now()
        self._resting = False
        try:
            with stores.writing(partition) if writes else stores.reading(partition) as work:
                yield work
        except Fenced:
            raise
        except StoreFailure:
            # The next call looks whether the database is there at all.
            self._sound = False
            raise

    def left_alone(self) -> bool:
        """Whether it has failed, and is not to be tried yet."""
        wait = None if self._next_try is None else self._next_try - self._clock.now()
        # A clock that was set back does not make it wait for hours.
        return wait is not None and timedelta(0) < wait <= timedelta(seconds=BACK_OFF_SECONDS[-1])

    def rest_if_idle(self) -> None:
        """Drop the connections of a database that nobody has used for a while."""
        if not self._resting and self._clock.now() - self._used_at >= IDLE:
            self.rest()

    def rest(self) -> None:
        """Drop the connections."""
        self._resting = True
        if self._database is not None:
            self._database.rest()

    def state(self) -> DatabaseState:
        """Return how it stands."""
        return DatabaseState(
            tenants=self.tenants,
            address=self.address,
            checked=self._checked,
            refusal=self._refusal,
            since=self._since,
            next_try=self._next_try,
        )

    def admit(self, partition: Partition) -> OwnDatabase:
        """Return the database, opened. :raises NotServed: it is not sound."""
        database = self._database
        if database is not None and self._sound:
            return database
        # One looks, the others wait for what it finds: at most for one attempt to connect.
        with self._lock:
            if self._database is None or not self._sound:
                self._look(partition)
            assert self._database is not None  # noqa: S101  # it was looked into
            return self._database

    def _look(self, partition: Partition) -> None:
        if self._refusal is not None and self.left_alone():
            raise NotServed(partition, self._refusal)
        try:
            if self._database is None:
                self._database = self._opening.open(self._url)
            lacking = self._database.behind()
        except (StoreFailure, ValueError) as failure:
            self._refuse(Refusal.UNREACHABLE, _kind(failure))
            raise NotServed(partition, Refusal.UNREACHABLE) from failure
        if lacking is not None:
            self._refuse(Refusal.BEHIND, lacking)
            raise NotServed(partition, Refusal.BEHIND)
        if self._refusal is not None:
            log.warning("the database of %s is served again", self._named)
        if self._refusal is not None or not self._checked:
            self._since = self._clock.now()
        self._refusal, self._next_try, self._failures = None, None, 0
        self._checked = self._sound = True

    def _refuse(self, refusal: Refusal, why: str) -> None:
        now = self._clock.now()
        if self._refusal is not refusal:
            self._since = now
            log.error("the database of %s is not served: %s: %s", self._named, refusal, why)
        self._refusal, self._checked = refusal, True
        self._failures += 1
        seconds = BACK_OFF_SECONDS[min(self._failures, len(BACK_OFF_SECONDS)) - 1]
        self._next_try = now + timedelta(seconds=seconds)
        if self._database is not None:
            # Half-open connections would only fail one after another.
            self._database.rest()

    @property
    def _named(self) -> str:
        return f"tenant {', '.join(self.tenants)} ({self.address})"


class _Layout(msgspec.Struct, frozen=True):
    """Which tenant lies where, made of one copy of the directory."""

    copy: TenantCopy
    places: dict[str, _Place]
    separate: tuple[_Place, ...]


class RoutedStores:
    """Implements the ``Stores`` and ``PartitionDatabases`` ports over the platform's stores and the tenants' own.

    *platform_url* is the platform's own address: a tenant that names it lies there, as one without an address does.
    """

    def __init__(
        self,
        platform: FencedStores,
        *,
        directory: TenantDirectory,
        opening: Opening,
        clock: Clock,
        platform_url: str = "",
    ) -> None:
        self._platform = platform
        self._directory = directory
        self._opening = opening
        self._clock = clock
        self._platform_key = self._key(platform_url) if platform_url else ""
        self._lock = threading.Lock()
        self._known: dict[str, _Place] = {}
        self._layout: _Layout | None = None
        self._glances = threading.local()

    def reading(self, partition: Partition) -> AbstractContextManager[UnitOfWork]:
        """Open a unit of work for reading. :raises NotServed: the tenant is not served."""
        place = self._place(partition)
        return self._platform.reading(partition) if place is None else place.opened(partition, writes=False)

    def writing(self, partition: Partition) -> AbstractContextManager[UnitOfWork]:
        """Open a unit of work for writing. :raises NotServed: the tenant is not served, perhaps only at the commit."""
        return self._platform.writing(None) if partition is None else self._guarded(partition)

    @contextmanager
    def _guarded(self, tenant: str) -> Iterator[UnitOfWork]:
        place = self._place(tenant)
        opened = self._platform.writing(tenant) if place is None else place.opened(tenant, writes=True)
        try:
            with opened as work:
                yield work
        except Fenced as fenced:
            raise self._not_served(tenant) from fenced

    def _not_served(self, tenant: str) -> NotServed:
        """Return what becomes of a call that met a fence, with the directory read anew."""
        self._directory.forget()
        tenants = self._directory.copy()
        if tenant in tenants.disabled:
            return NotServed(tenant, Refusal.DISABLED)
        log.warning(
            "a change of tenant %s met a fence and was given up; if this does not end, say again where its data lie: "
            "tenant disable, tenant database, tenant enable",
            tenant,
        )
        return NotServed(tenant, Refusal.FENCED)

    def fence(self, tenant_id: str, database_url: str | None) -> None:
        """Let nothing of the tenant's be written in a database from now on."""
        with self._fences(database_url) as fences:
            fences.close(tenant_id)

    def unfence(self, tenant_id: str, database_url: str | None) -> None:
        """Allow it again."""
        with self._fences(database_url) as fences:
            fences.open(tenant_id)

    @contextmanager
    def _fences(self, database_url: str | None) -> Iterator[Fences]:
        if database_url is None or self._key(database_url) == self._platform_key:
            yield self._platform.fences
            return
        try:
            # Apart from what calls use: nothing that rests in a pool, no back-off.
            database = self._opening.open(database_url)
        except ValueError as error:
            raise StoreFailure(f"{type(error).__name__}: not the address of a database") from error
        try:
            lacking = database.behind()
            if lacking is not None:
                raise StoreFailure(f"Behind: {lacking}")
            yield database.stores.fences
        finally:
            database.rest()

    def polled(self) -> Sequence[PolledDatabase]:
        """Return the databases to be asked for due work now."""
        layout = self._current()
        known: frozenset[Partition] = frozenset([None, *layout.copy.tenants])
        separate = [place for place in layout.separate if place.tenants and not place.left_alone()]
        apart = frozenset(layout.places) | layout.copy.disabled
        return [
            PolledDatabase(None, apart),
            *(PolledDatabase(place.tenants[0], known.difference(place.tenants)) for place in separate),
        ]

    def entry_of(self, partition: Partition) -> Partition:
        """Return the first tenant of the partition's database, None for the platform's."""
        place = None if partition is None else self._current(partition).places.get(partition)
        return None if place is None else (place.tenants[0] if place.tenants else partition)

    @contextmanager
    def glancing(self) -> Iterator[None]:
        """Have this thread's calls not count as use."""
        self._glances.on = True
        try:
            yield
        finally:
            self._glances.on = False
            self.rest_idle()

    def rest_idle(self) -> None:
        """Drop the connections of separate databases that nobody has used for a while."""
        layout = self._layout
        for place in () if layout is None else layout.separate:
            place.rest_if_idle()

    def states(self) -> Sequence[DatabaseState]:
        """Return how it stands with the separate databases of enabled tenants."""
        return [place.state() for place in self._current().separate if place.tenants]

    def own(self, partition: Partition) -> OwnDatabase | None:
        """Return the separate database that the partition lies in, None when it lies in the platform's.

        :raises NotServed: the tenant is not served.
        """
        place = self._place(partition)
        return None if place is None else place.admit(partition)

    def close(self) -> None:
        """Drop every connection of a separate database."""
        for place in list(self._known.values()):
            place.rest()

    def _place(self, partition: Partition) -> _Place | None:
        if partition is None:
            return None
        layout = self._current(partition)
        if partition in layout.copy.disabled:
            raise NotServed(partition, Refusal.DISABLED)
        return layout.places.get(partition)

    def _current(self, partition: Partition = None) -> _Layout:
        copy, layout = self._directory.copy_with(partition), self._layout
        if layout is not None and layout.copy is copy:
            return layout
        with self._lock:
            self._layout = self._laid_out(copy)
            return self._layout

    def _laid_out(self, copy: TenantCopy) -> _Layout:
        places: dict[str, _Place] = {}
        members: dict[str, list[Tenant]] = {}
        for tenant in copy.tenants.values():
            key = self._key(tenant.database_url) if tenant.database_url else self._platform_key
            if tenant.database_url and key != self._platform_key:
                members.setdefault(key, []).append(tenant)
        for key, tenants in members.items():
            place = self._known.get(key) or self._new_place(key, tenants[0].database_url or "")
            place.tenants = tuple(sorted(one.id for one in tenants if one.enabled))
            places.update({one.id: place for one in tenants})
        for key in self._known.keys() - members.keys():
            self._known.pop(key).rest()
        separate = sorted((self._known[key] for key in members), key=lambda place: place.tenants)
        return _Layout(copy, places, tuple(separate))

    def _new_place(self, key: str, url: str) -> _Place:
        place = self._known[key] = _Place(url, self._opening, self._clock, self._glances)
        return place

    def _key(self, url: str) -> str:
        try:
            return self._opening.key(url)
        except ValueError:
            # Found out, and told, when it is opened.
            return url


def _kind(failure: Exception) -> str:
    """Return what kind of failure it is; the rest may tell of the database's address."""
    return failure.reason.partition(":")[0] if isinstance(failure, StoreFailure) else type(failure).__name__
