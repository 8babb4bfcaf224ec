"""Calls of services inside a host application's transaction, or allowed to read only (spec 3.1, 8.10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from weakref import WeakKeyDictionary

from webapp.engine.errors import Unexpected
from webapp.engine.ports.hosting import HostSession, HostTransaction
from webapp.engine.ports.partitions import Fenced, NotServed, Refusal
from webapp.engine.ports.stores import Partition, StoreFailure, UnitOfWork
from webapp.services.scopes import HeldLeases, Lease, read_only, undone_on_failure
from webapp.services.storage import Storage, unavailable

T = TypeVar("T")


class HostScope:
    """Joins each root transaction of a host's session in turn; one transaction's leases are held to its end."""

    def __init__(self, storage: Storage, session: HostSession, held: WeakKeyDictionary[object, HeldLeases]) -> None:
        self._storage = storage
        self._session = session
        self._held = held

    @property
    def read_only(self) -> bool:
        """Whether only reading is allowed."""
        return self._session.read_only

    def join(self) -> HostTransaction:
        """Return the host's present transaction. :raises Unexpected: it cannot be joined."""
        transaction = self._session.transaction()
        if transaction not in self._held:
            leases = self._held[transaction] = HeldLeases()
            transaction.at_end(leases.release)
        return transaction

    def read(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        """Read on the host's connection, so that what the host's transaction wrote is seen."""
        self._require_here(partition)
        try:
            return block(self.join().work)
        except StoreFailure as failure:
            raise unavailable(failure) from failure

    def write(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        """Write on the host's connection; a refusal leaves the host's transaction as it was."""
        work = self.open(partition)
        try:
            with undone_on_failure(work):
                return block(work)
        except StoreFailure as failure:
            raise unavailable(failure) from failure

    def open(self, partition: Partition) -> UnitOfWork:
        """Return the unit of work over the host's connection."""
        self._require_here(partition)
        if self._session.read_only:
            raise read_only()
        transaction = self.join()
        if partition is not None:
            self._require_unfenced(transaction, partition)
        return transaction.work

    def _require_unfenced(self, transaction: HostTransaction, tenant: str) -> None:
        """Ask before anything is written: the commit is the host's, and there is no asking then."""
        try:
            transaction.require_unfenced(tenant)
        except Fenced as fenced:
            raise unavailable(NotServed(tenant, Refusal.FENCED)) from fenced
        except StoreFailure as failure:
            raise unavailable(failure) from failure

    def _require_here(self, partition: Partition) -> None:
        """Refuse a tenant whose data lie in a database of their own: no transaction spans two."""
        if self._storage.entry_of(partition) is not None:
            raise Unexpected("workflow.host.own_database", params={"tenant": partition})

    def hold(self, name: str, lease: Lease) -> None:
        """Hold a lease to the end of the host's transaction."""
        self._held[self.join()].hold(name, lease)

    def afterwards(self, tell: Callable[[], None]) -> None:
        """Tell after the host's commit."""
        self.join().after_commit(lambda: self._storage.scopes.tell([tell]))

    def take_instance_id(self) -> str | None:
        """Return None: instances have ids of their own."""
        return None


class ReadScope:
    """Allows reading only, in units of work of its own."""

    read_only = True

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def read(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        """Read."""
        return self._storage.own_read(partition, block)

    def write(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        """Refuse."""
        raise read_only()

    def open(self, partition: Partition) -> UnitOfWork:
        """Refuse."""
        raise read_only()

    def hold(self, name: str, lease: Lease) -> None:
        """Refuse: a lease is for writing."""
        raise read_only()

    def afterwards(self, tell: Callable[[], None]) -> None:
        """Do it now: nothing is committed."""
        tell()

    def take_instance_id(self) -> str | None:
        """Return None."""
        return None


class HostingService:
    """Puts calls of services into a host's transaction, and the application in and out of service."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._held: WeakKeyDictionary[object, HeldLeases] = WeakKeyDictionary()

    @contextmanager
    def joining(self, session: HostSession) -> Iterator[HostTransaction]:
        """Have the calls that the block makes join the session's transaction; leases stay held to its end.

        :raises Unexpected: the transaction cannot be joined.
        """
        scope = HostScope(self._storage, session, self._held)
        try:
            transaction = scope.join()
        except StoreFailure as failure:
            raise unavailable(failure) from failure
        with session.joined(), self._storage.scopes.entered(scope):
            yield transaction

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Have the calls that the block makes refused before they do anything, if they would write (spec 3.1)."""
        with self._storage.scopes.entered(ReadScope(self._storage)):
            yield

    @property
    def in_service(self) -> bool:
        """Whether calls outside a host's transaction are served."""
        return self._storage.in_service

    def serve(self) -> None:
        """Begin to serve calls."""
        self._storage.in_service = True

    def drain(self) -> None:
        """Serve no further calls but those that join a transaction which is open already."""
        self._storage.in_service = False
