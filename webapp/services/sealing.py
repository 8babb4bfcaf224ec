"""Sealing the audit trail: one process numbers the rows that others have committed and chains them (spec 13).

Commands only append; none ever waits for this or for another command because of it. Rows are read and hashed outside of
a transaction that writes, and stored a few hundred at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

import msgspec

from webapp.engine.clock import Clock
from webapp.engine.errors import Unavailable
from webapp.engine.instances.seals import AuditHead, Seal, seal_all, superfluous
from webapp.engine.ports.locks import LeaseHeld, Leases
from webapp.engine.ports.partitions import PartitionDatabases, PolledDatabase, belonging
from webapp.engine.ports.seals import SealLost, Unsealed
from webapp.engine.ports.stores import Partition, UnitOfWork
from webapp.services.agenda import Agenda
from webapp.services.storage import Storage, answered

log = logging.getLogger("waypost.audit")

SEALING_LEASE = "audit-sealing"
BATCH = 500
HEADS_READ = 1_000
COUNTED = 10_000
"""How far unsealed rows are counted."""


class SealingState(msgspec.Struct, frozen=True, kw_only=True):
    """How a partition's trail stands: its newest head, and the rows that wait (counted up to 10,000)."""

    partition: Partition
    head: AuditHead | None
    unsealed: Unsealed


class SealingService:
    """What the poller calls every ten seconds and when it stops, and what the operations page shows."""

    def __init__(self, *, storage: Storage, leases: Leases, databases: PartitionDatabases, clock: Clock) -> None:
        self._databases = databases
        self._agenda = Agenda()
        self._storage = storage
        self._leases = leases
        self._clock = clock

    def seal(self, stopping: Callable[[], bool] = lambda: False) -> int:
        """Seal what is committed; return the number of rows. Another process at it: 0, it does the work."""
        platform, *separate = answered(self._databases.polled)
        waiting = [
            *self._waiting_guarded(platform),
            *(one for database in separate for one in self._waiting_apart(database)),
        ]
        if not waiting:
            return 0
        try:
            with self._leases.attempt(SEALING_LEASE):
                return sum(self._seal_guarded(partition, stopping) for partition in waiting)
        except LeaseHeld:
            return 0

    def _waiting(self, database: PolledDatabase) -> list[Partition]:
        found = self._storage.read(database.entry, lambda work: work.seals.waiting())
        return belonging(self._databases, database, found)

    def _waiting_guarded(self, database: PolledDatabase) -> list[Partition]:
        """Look into a database; what is wrong with it, other than that it is away, is told and stops no other's."""
        try:
            return self._waiting(database)
        except Unavailable:
            raise
        except Exception:
            log.exception("the trails of %s were not sealed", database.entry or "the platform")
            return []

    def _waiting_apart(self, database: PolledDatabase) -> list[Partition]:
        """Look into a separate database every 15 seconds; one that is away keeps no other from being sealed (8.10)."""
        entry, now = database.entry or "", self._clock.now()
        if not self._agenda.is_due(entry, now):
            return []
        self._agenda.begin(entry, now)
        try:
            with self._databases.glancing():
                return self._waiting_guarded(database)
        except Unavailable:
            # It is told once, by who found the database so, and shown on the operations page.
            log.debug("the trail of %s was not sealed", entry, exc_info=True)
            return []

    def state(self, partition: Partition) -> SealingState:
        """Return how the partition's trail stands."""

        def ask(work: UnitOfWork) -> SealingState:
            unsealed = work.seals.backlog(partition, COUNTED)
            return SealingState(partition=partition, head=work.seals.newest_head(partition), unsealed=unsealed)

        return self._storage.read(partition, ask)

    def _seal_guarded(self, partition: Partition, stopping: Callable[[], bool]) -> int:
        """Seal one partition; a failure leaves its rows for the next time and the others alone."""
        try:
            return self._seal_partition(partition, stopping)
        except SealLost as lost:
            # The lease ran out under this process, and another one has gone on.
            log.warning("sealing left to another process", extra={"partition": partition, "reason": str(lost)})
        except Exception:
            # Even a row that cannot be read any more: it must not keep the other trails from being sealed.
            log.exception("a trail could not be sealed and will be tried again", extra={"partition": partition})
        return 0

    def _seal_partition(self, partition: Partition, stopping: Callable[[], bool]) -> int:
        total = 0
        while not stopping() or total == 0:
            sealed = self._seal_batch(partition)
            total += sealed
            if sealed < BATCH:
                break
        return total

    def _seal_batch(self, partition: Partition) -> int:
        # The head first: rows that another process seals in between are not among the unsealed ones then.
        head = self._storage.read(partition, lambda work: work.seals.newest_head(partition))
        rows = self._storage.read(partition, lambda work: list(work.seals.unsealed(partition, BATCH)))
        if not rows:
            return 0
        seals = seal_all(head, rows)
        reached = _head_of(seals, self._clock.now())

        def store(work: UnitOfWork) -> bool:
            work.seals.seal(partition, seals, reached)
            return True

        def settled(work: UnitOfWork) -> bool | None:
            return True if work.seals.newest_head(partition) == reached else None

        self._storage.write(partition, store, settled=settled)
        # In the log as well, where a line is out of the reach of whoever can change the database.
        log.info(
            "audit trail sealed",
            extra={"partition": partition, "seal_number": reached.seal_number, "hash": reached.hash},
        )
        return len(rows)


def thin_heads(partition: Partition, before: datetime, work: UnitOfWork, rows: int) -> int:
    """Delete up to *rows* heads older than that, but for the last one of each day; return how many.

    Those of past years are read again each time; they are one a day.
    """
    doomed: list[int] = []
    after = 0
    while len(doomed) < rows:
        found = work.seals.heads(partition, after, HEADS_READ)
        doomed += superfluous(found, before)
        last = found[-1] if found else None
        if len(found) < HEADS_READ or last is None or last.at is None or last.at >= before:
            break
        # The last one is compared with what follows it.
        after = found[-2].seal_number
    return work.seals.forget_heads(partition, doomed[:rows])


def _head_of(seals: list[Seal], now: datetime) -> AuditHead:
    return AuditHead(seal_number=seals[-1].number, hash=seals[-1].hash, at=now)
