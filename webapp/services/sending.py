"""What leaves the house: events become deliveries, due deliveries are claimed and sent (spec 10, 13).

A pass works until nothing is due. Nothing of it runs inside a command. Several processes share the work by claims; in
one process a pass is one thread that claims and several that send. What belongs to one line goes one after the other,
because only the first of a line can be claimed. A separate database is visited by one of the threads, so that one that
is away keeps nobody waiting.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from datetime import datetime, timedelta

import msgspec

from webapp.accounts.tenants import TenantDirectory
from webapp.engine.clock import Clock
from webapp.engine.notifications.model import DeliveryState
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.partitions import PartitionDatabases, PolledDatabase
from webapp.engine.ports.stores import Partition, UnitOfWork
from webapp.services.agenda import Agenda
from webapp.services.attempts import Attempts
from webapp.services.database_visits import DatabaseVisits, Glance
from webapp.services.deliveries import SENT_HOURS
from webapp.services.due_work import Alone, Crew
from webapp.services.fan_out import FanOut
from webapp.services.sending_pass import Pass, SendReport
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage, asked

log = logging.getLogger("waypost.deliveries")

TURN_ROWS = "sending:"
"""The leases of senders that claim in turns, one for each database, where the database does not keep them apart."""

SENDER_THREADS = 4
"""How many deliveries a process sends at once."""

VISIT_SECONDS = 10.0
COUNTED = 10_000
"""How far events in the outbox are counted."""


class SendingState(msgspec.Struct, frozen=True, kw_only=True):
    """Events that wait to be handed on (counted up to 10,000), and deliveries by state."""

    outbox: int
    deliveries: dict[str, int]


class SendingService:
    """The use case of the poller: one pass a call."""

    def __init__(
        self,
        *,
        storage: Storage,
        leases: Leases,
        attempts: Attempts,
        fan_out: FanOut,
        tenants: TenantDirectory,
        databases: PartitionDatabases,
        clock: Clock,
        settings: ServiceSettings,
    ) -> None:
        self.storage = storage
        self.leases = leases
        self.attempts = attempts
        self.fan_out = fan_out
        self.databases = databases
        self.clock = clock
        self.settings = settings
        self._tenants = tenants
        self._visits = DatabaseVisits(
            databases=databases, leases=leases, clock=clock, settings=settings, rows=TURN_ROWS, log=log
        )
        self._agenda = Agenda()
        self._wake: Callable[[], None] = lambda: None

    def on_due_now(self, wake: Callable[[], None]) -> None:
        """Have *wake* called after each commit that left something to send."""
        self._wake = wake

    def left(self, partition: Partition) -> None:
        """Say that a commit of this process left something to send, or that somebody made it due."""
        self._agenda.expect(self.databases.entry_of(partition), self.clock.now())
        self._wake()

    def send_due(self, crew: Crew | None = None, stopping: Callable[[], bool] = lambda: False) -> SendReport:
        """Hand on what is in the outbox and send what is due, in the threads of *crew* or in this one.

        Returns when nothing is left to claim and nothing runs; at the end of the process once what is at hand has
        ended. :raises Unavailable: the platform's database cannot be read.
        """
        self.attempts.refresh()
        platform, *separate = asked(self.databases.polled)
        now = self.clock.now()
        visits = [one for one in separate if self._agenda.is_due(one.entry or "", now)]
        return Pass(self, crew or Alone(), stopping, platform, visits).work()

    def release_dead(self, entry: Partition = None) -> int:
        """Free the claims of processes of this host that are gone in one database; return how many (8.10, 25)."""
        tokens = self.storage.read(entry, lambda work: work.deliveries.claim_tokens())
        gone = [token for token in tokens if self.leases.is_gone(token)]
        if not gone:
            return 0
        freed = self.storage.write(entry, lambda work: sum(work.deliveries.release_claims(token) for token in gone))
        log.info("freed %d deliveries of processes that are gone", freed)
        return freed

    def state(self, partition: Partition) -> SendingState:
        """Return what waits, and how many deliveries are in each state; of those that are sent, the last day's."""
        since = self.clock.now() - timedelta(hours=SENT_HOURS)

        def ask(work: UnitOfWork) -> SendingState:
            found = work.deliveries.counts(partition, since)
            counts = {state.value: found.get(state.value, 0) for state in DeliveryState}
            return SendingState(outbox=work.outbox.depth(partition, COUNTED), deliveries=counts)

        return self.storage.read(partition, ask)

    def without(self, database: PolledDatabase) -> frozenset[Partition]:
        """Return the partitions whose rows in a database wait: those that are not served, or not by this database."""
        return asked(self._tenants.disabled) | database.without

    def turn(self, entry: Partition) -> AbstractContextManager[None]:
        """Have no other sender claim while the block does, where the database does not keep them apart itself."""
        return self._visits.turn(entry)

    def visit(self, database: PolledDatabase, stopping: Callable[[], bool]) -> SendReport:
        """Send what is due in a separate database, for some seconds at most; nothing is raised."""

        def work(over: Callable[[], bool]) -> SendReport:
            return Pass(self, Alone(), lambda: stopping() or over(), database).work()

        def look(now: datetime) -> Glance:
            self.release_dead(database.entry)
            without = self.without(database)
            return self.storage.read(database.entry, lambda unit: _look(unit, now, without))

        done = self._visits.visit(self._agenda, database.entry or "", VISIT_SECONDS, look, work)
        return SendReport() if done is None else done


def _look(work: UnitOfWork, now: datetime, without: Collection[Partition]) -> Glance:
    """Return whether there is something to hand on or send, else when."""
    if work.outbox.waiting(1, without) or work.deliveries.any_due(now, without):
        return Glance(True)
    return Glance(False, work.deliveries.next_due(without))


__all__ = ["SendReport", "SendingService", "SendingState"]
