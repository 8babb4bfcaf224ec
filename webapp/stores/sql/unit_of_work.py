"""The unit of work in SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

from sqlalchemy import Connection, Engine

from webapp.engine.ports.stores import Partition, WriteSet
from webapp.stores.sql.accounts import SqlAccounts
from webapp.stores.sql.audit import SqlAudit
from webapp.stores.sql.batches import SqlBatches
from webapp.stores.sql.bookmarks import SqlBookmarks
from webapp.stores.sql.calendars import SqlCalendars
from webapp.stores.sql.database import Database, Transaction
from webapp.stores.sql.definitions import SqlDefinitions
from webapp.stores.sql.deliveries import SqlDeliveries
from webapp.stores.sql.dialects import SQLITE, passes_over_locked
from webapp.stores.sql.external_tasks import SqlExternalTasks
from webapp.stores.sql.fences import SqlFences
from webapp.stores.sql.follow_ups import SqlFollowUps
from webapp.stores.sql.idempotency import SqlIdempotency
from webapp.stores.sql.instances import SqlInstances
from webapp.stores.sql.keyword_index import Upkeep
from webapp.stores.sql.maintenance import SqlMaintenance
from webapp.stores.sql.notice_settings import SqlNoticeSettings
from webapp.stores.sql.notices import SqlNotices
from webapp.stores.sql.outbox import SqlOutbox
from webapp.stores.sql.purge import SqlPurge
from webapp.stores.sql.savepoints import SqlSavepoint
from webapp.stores.sql.seals import SqlSeals
from webapp.stores.sql.signals import SqlSignals
from webapp.stores.sql.task_records import SqlTaskRecords
from webapp.stores.sql.timer_firings import SqlTimerFirings
from webapp.stores.sql.writing import Writing


class SqlUnitOfWork:
    """One transaction; its stores run their statements on one connection."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    @cached_property
    def definitions(self) -> SqlDefinitions:
        """Definitions."""
        return SqlDefinitions(self._transaction)

    @cached_property
    def instances(self) -> SqlInstances:
        """Instances and node instances."""
        return SqlInstances(self._transaction)

    @cached_property
    def bookmarks(self) -> SqlBookmarks:
        """Bookmarks."""
        return SqlBookmarks(self._transaction)

    @cached_property
    def task_records(self) -> SqlTaskRecords:
        """Task records."""
        return SqlTaskRecords(self._transaction)

    @cached_property
    def external_tasks(self) -> SqlExternalTasks:
        """External tasks and their locks."""
        return SqlExternalTasks(self._transaction)

    @cached_property
    def signals(self) -> SqlSignals:
        """Who waits for signals, and signals kept for later."""
        return SqlSignals(self._transaction)

    @cached_property
    def follow_ups(self) -> SqlFollowUps:
        """Follow-ups."""
        return SqlFollowUps(self._transaction)

    @cached_property
    def audit(self) -> SqlAudit:
        """The audit trail."""
        return SqlAudit(self._transaction)

    @cached_property
    def seals(self) -> SqlSeals:
        """Seals of the audit trail."""
        return SqlSeals(self._transaction)

    @cached_property
    def batches(self) -> SqlBatches:
        """Batches."""
        return SqlBatches(self._transaction)

    @cached_property
    def purges(self) -> SqlPurge:
        """What deletes what is over."""
        return SqlPurge(self._transaction)

    @cached_property
    def idempotency(self) -> SqlIdempotency:
        """Stored answers."""
        return SqlIdempotency(self._transaction)

    @cached_property
    def timer_firings(self) -> SqlTimerFirings:
        """Firings of definitions' timers."""
        return SqlTimerFirings(self._transaction)

    @cached_property
    def outbox(self) -> SqlOutbox:
        """Events to be sent."""
        return SqlOutbox(self._transaction)

    @cached_property
    def notices(self) -> SqlNotices:
        """Notices."""
        return SqlNotices(self._transaction)

    @cached_property
    def deliveries(self) -> SqlDeliveries:
        """Deliveries and their attempts."""
        return SqlDeliveries(self._transaction)

    def savepoint(self) -> SqlSavepoint:
        """Begin a savepoint."""
        return SqlSavepoint(self._transaction)

    def application(self) -> Connection:
        """Return the connection, for an application's own tables."""
        self._transaction.has_written = True
        return self._transaction.connection

    def apply(self, write_set: WriteSet) -> None:
        """Write all that a command stores."""
        Writing(self._transaction).write([write_set])

    def apply_all(self, sets: Sequence[WriteSet]) -> None:
        """Write all that several commands store."""
        Writing(self._transaction).write(sets)


class SqlStores:
    """Opens units of work on one database that holds the platform's rows and every tenant's."""

    def __init__(self, engine: Engine) -> None:
        self.database = Database(engine)
        if self.database.dialect == SQLITE:
            self.database.before_commit = Upkeep()
        self.accounts = SqlAccounts(self.database)
        self.calendars = SqlCalendars(self.database)
        self.notice_settings = SqlNoticeSettings(self.database)
        self.maintenance = SqlMaintenance(self.database)
        self.fences = SqlFences(self.database)

    @property
    def passes_over_locked(self) -> bool:
        """Whether pollers that claim at the same time take different rows, instead of waiting for each other."""
        return passes_over_locked(self.database.dialect)

    @contextmanager
    def reading(self, partition: Partition) -> Iterator[SqlUnitOfWork]:
        """Open a unit of work for reading; it never waits for a writer."""
        with self.database.reading() as transaction:
            yield SqlUnitOfWork(transaction)

    @contextmanager
    def writing(self, partition: Partition) -> Iterator[SqlUnitOfWork]:
        """Open a unit of work for writing: commits at the end, rolls back when the block raises."""
        with self.database.writing(partition) as transaction:
            yield SqlUnitOfWork(transaction)
