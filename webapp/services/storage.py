"""Reading and writing with the store's failures made bearable: transient ones are tried again (spec 3.22)."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import SystemRandom
from typing import TypeVar

from webapp.engine.errors import UNAVAILABLE_STORE, Unavailable
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.ports.partitions import NotServed, Refusal
from webapp.engine.ports.refusals import store_unavailable
from webapp.engine.ports.stores import Partition, StoreFailure, Stores, UnitOfWork
from webapp.services.scopes import Scopes, read_only
from webapp.services.settings import WRITE_ATTEMPTS, WRITE_PAUSE_SECONDS, ServiceSettings

T = TypeVar("T")

_random = SystemRandom()


_NOT_SERVED = {
    Refusal.DISABLED: "services.tenant_disabled",
    Refusal.BEHIND: "services.tenant_database_behind",
    Refusal.UNREACHABLE: "services.tenant_database_unreachable",
    Refusal.FENCED: "services.tenant_fenced",
}


def unavailable(failure: StoreFailure) -> Unavailable:
    """Return the refusal that a store's failure becomes."""
    if isinstance(failure, NotServed):
        params, details = {"tenant": failure.partition}, {"reason": str(failure.refusal)}
        return Unavailable(_NOT_SERVED[failure.refusal], code=UNAVAILABLE_STORE, params=params, details=details)
    return store_unavailable(failure)


def answered(call: Callable[[], T]) -> T:
    """Return what a store without units of work answers. :raises Unavailable: it cannot."""
    try:
        return call()
    except StoreFailure as failure:
        raise unavailable(failure) from failure


def asked(question: Callable[[], T]) -> T:
    """Return what a store without units of work answers to a question, asked again over a passing failure.

    After a restart of the database the connections that rest in the pool are dead, and the first question finds out.
    :raises Unavailable: it cannot answer.
    """
    return answered(lambda: passing_over(question))


def passing_over(
    attempt: Callable[[], T],
    *,
    attempts: int = WRITE_ATTEMPTS,
    pause_seconds: float = WRITE_PAUSE_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Try several times while the failure is a passing one. :raises StoreFailure: it is not, or lasts."""
    for _ in range(attempts - 1):
        try:
            return attempt()
        except StoreFailure as failure:
            if not failure.transient:
                raise
        # Two that met once must not meet again in lockstep.
        sleep(pause_seconds * (0.5 + _random.random()))
        pause_seconds *= 2
    return attempt()


class Storage:
    """Opens units of work; a block that failed for a passing reason runs again, up to five times in all.

    Blocks must be safe to run again: reads are, and writes are because of their revision and command id. A thread that
    is in a scope reads and writes in its transaction.
    """

    def __init__(self, stores: Stores, settings: ServiceSettings, pause: Callable[[float], None] = time.sleep) -> None:
        self.stores = stores
        self.scopes = Scopes()
        self.in_service = True
        self.entry_of: Callable[[Partition], Partition] = lambda partition: None
        """What opens the partition's database: None for the platform's."""
        self._settings = settings
        self._pause = pause

    def read(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        """Run the block in a unit of work for reading. :raises Unavailable: the store cannot do it."""
        scope = self.scopes.current
        if scope is not None:
            return scope.read(partition, block)
        self._require_service()
        return self.own_read(partition, block)

    def write(
        self,
        partition: Partition,
        block: Callable[[UnitOfWork], T],
        *,
        settled: Callable[[UnitOfWork], T | None] | None = None,
    ) -> T:
        """Run the block in one transaction and commit. :raises Unavailable: the store cannot do it.

        A commit's answer may be lost: before a further attempt *settled* looks whether the earlier one was committed,
        and its result then stands. Wave write sets need none, because ``apply`` settles that by the command's id.
        """
        scope = self.scopes.current
        if scope is None:
            self._require_service()
            return self.own_write(partition, block, settled=settled)
        if scope.read_only:
            raise read_only()
        return scope.write(partition, block)

    def note(self, entry: AuditEntry) -> None:
        """Append an entry to the trail of its partition, once. :raises Unavailable: the store cannot do it."""
        partition = entry.tenant_id

        def append(work: UnitOfWork) -> bool:
            work.audit.append(partition, [entry])
            return True

        self.write(partition, append, settled=lambda work: work.audit.holds(partition, entry.id) or None)

    def require_writable(self) -> None:
        """Refuse a command before anything is run (spec 3.1).

        :raises Unexpected: the scope only reads. :raises Unavailable: the application is not in service.
        """
        scope = self.scopes.current
        if scope is None:
            self._require_service()
        elif scope.read_only:
            raise read_only()

    def _require_service(self) -> None:
        if not self.in_service:
            raise Unavailable("workflow.service.not_running", code=UNAVAILABLE_STORE, details={"reason": "service"})

    def own_read(self, partition: Partition, block: Callable[[UnitOfWork], T]) -> T:
        """Read in a unit of work of its own, whatever the scope."""

        def attempt() -> T:
            with self.stores.reading(partition) as work:
                return block(work)

        return self.until_it_holds(attempt)

    def own_write(
        self,
        partition: Partition,
        block: Callable[[UnitOfWork], T],
        *,
        settled: Callable[[UnitOfWork], T | None] | None = None,
    ) -> T:
        """Write in a transaction of its own, whatever the scope."""
        attempts = 0

        def attempt() -> T:
            nonlocal attempts
            attempts += 1
            with self.stores.writing(partition) as work:
                earlier = settled(work) if settled is not None and attempts > 1 else None
                return block(work) if earlier is None else earlier

        return self.until_it_holds(attempt)

    def until_it_holds(self, attempt: Callable[[], T]) -> T:
        """Try up to five times while the failure is a passing one. :raises Unavailable: it is not, or lasts."""
        try:
            return self.passing_over(attempt)
        except StoreFailure as failure:
            raise unavailable(failure) from failure

    def passing_over(self, attempt: Callable[[], T]) -> T:
        """Try up to five times while the failure is a passing one. :raises StoreFailure: it is not, or lasts."""
        settings = self._settings
        return passing_over(
            attempt,
            attempts=settings.write_attempts,
            pause_seconds=settings.write_pause_seconds,
            sleep=self._pause,
        )
