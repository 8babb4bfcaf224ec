"""The unit of work in memory: one writer at a time, changes become visible at the commit, all or none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

from webapp.engine.errors import UNAVAILABLE_CAPACITY, Unavailable, Unexpected
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.numbers import decode
from webapp.engine.ports.signals import SignalTaken
from webapp.engine.ports.stores import DuplicateRecord, Partition, RevisionConflict, StoreFailure, WriteSet
from webapp.stores import journal_rows, notice_rows, rows, write_sets
from webapp.stores.memory.accounts import MemoryAccounts
from webapp.stores.memory.audit import MemoryAudit
from webapp.stores.memory.batches import MemoryBatches
from webapp.stores.memory.bookmarks import MemoryBookmarks
from webapp.stores.memory.calendars import MemoryCalendars
from webapp.stores.memory.definitions import MemoryDefinitions
from webapp.stores.memory.deliveries import MemoryDeliveries
from webapp.stores.memory.external_tasks import MemoryExternalTasks
from webapp.stores.memory.fences import MemoryFences
from webapp.stores.memory.follow_ups import MemoryFollowUps
from webapp.stores.memory.idempotency import MemoryIdempotency
from webapp.stores.memory.instances import MemoryInstances
from webapp.stores.memory.maintenance import MemoryMaintenance
from webapp.stores.memory.notice_settings import MemoryNoticeSettings
from webapp.stores.memory.notices import MemoryNotices, insert_once
from webapp.stores.memory.outbox import MemoryOutbox
from webapp.stores.memory.purge import MemoryPurge
from webapp.stores.memory.seals import MemorySeals
from webapp.stores.memory.signals import MemorySignals
from webapp.stores.memory.tables import Database, MemorySavepoint, Transaction
from webapp.stores.memory.task_records import MemoryTaskRecords
from webapp.stores.memory.timer_firings import MemoryTimerFirings
from webapp.stores.rows import Row

_WRITER_TIMEOUT_SECONDS = 30


class MemoryUnitOfWork:
    """One transaction; its stores see its own changes."""

    def __init__(self, transaction: Transaction, capacity: int | None) -> None:
        self._transaction = transaction
        self._capacity = capacity

    @cached_property
    def definitions(self) -> MemoryDefinitions:
        """Definitions."""
        return MemoryDefinitions(self._transaction)

    @cached_property
    def instances(self) -> MemoryInstances:
        """Instances and node instances."""
        return MemoryInstances(self._transaction)

    @cached_property
    def bookmarks(self) -> MemoryBookmarks:
        """Bookmarks."""
        return MemoryBookmarks(self._transaction)

    @cached_property
    def task_records(self) -> MemoryTaskRecords:
        """Task records."""
        return MemoryTaskRecords(self._transaction)

    @cached_property
    def external_tasks(self) -> MemoryExternalTasks:
        """External tasks and their locks."""
        return MemoryExternalTasks(self._transaction)

    @cached_property
    def signals(self) -> MemorySignals:
        """Who waits for signals, and signals kept for later."""
        return MemorySignals(self._transaction)

    @cached_property
    def follow_ups(self) -> MemoryFollowUps:
        """Follow-ups."""
        return MemoryFollowUps(self._transaction)

    @cached_property
    def audit(self) -> MemoryAudit:
        """The audit trail."""
        return MemoryAudit(self._transaction)

    @cached_property
    def seals(self) -> MemorySeals:
        """Seals of the audit trail."""
        return MemorySeals(self._transaction)

    @cached_property
    def batches(self) -> MemoryBatches:
        """Batches."""
        return MemoryBatches(self._transaction)

    @cached_property
    def purges(self) -> MemoryPurge:
        """What deletes what is over."""
        return MemoryPurge(self._transaction)

    @cached_property
    def idempotency(self) -> MemoryIdempotency:
        """Stored answers."""
        return MemoryIdempotency(self._transaction)

    @cached_property
    def timer_firings(self) -> MemoryTimerFirings:
        """Firings of definitions' timers."""
        return MemoryTimerFirings(self._transaction)

    @cached_property
    def outbox(self) -> MemoryOutbox:
        """Events to be sent."""
        return MemoryOutbox(self._transaction)

    @cached_property
    def notices(self) -> MemoryNotices:
        """Notices."""
        return MemoryNotices(self._transaction)

    @cached_property
    def deliveries(self) -> MemoryDeliveries:
        """Deliveries and their attempts."""
        return MemoryDeliveries(self._transaction)

    def savepoint(self) -> MemorySavepoint:
        """Begin a savepoint."""
        return self._transaction.savepoint()

    def application(self) -> object:
        """Refuse: there is no database that an application could have tables in."""
        raise Unexpected("workflow.transaction.no_database")

    def apply(self, write_set: WriteSet) -> None:
        """Write all that a command stores."""
        write_sets.check(write_set)
        if write_set.instance is not None and not self._write_instance(write_set, write_set.instance):
            return
        self._change_locks(write_set)
        self._take_signals(write_set)
        for node in write_set.node_instances:
            self._transaction.put("node_instances", rows.node_instance_row(node))
        self._write_bookmarks(write_set)
        self._write_tasks(write_set)
        self.batches.end_items(write_set.partition, write_set.batch_ends)
        for follow_up in write_set.new_follow_ups:
            self._transaction.put("follow_ups", journal_rows.follow_up_row(follow_up))
        for follow_up_id in write_set.deleted_follow_up_ids:
            self.follow_ups.delete(write_set.partition, follow_up_id)
        self.audit.append(write_set.partition, write_set.audit)
        for entry in write_set.outbox:
            self._transaction.put("outbox", journal_rows.outbox_row(entry))
        for notice in write_set.notices:
            insert_once(self._transaction, "notices", notice_rows.notice_row(notice))
        self.deliveries.insert(write_set.partition, write_set.deliveries)
        for firing in write_set.timer_firings:
            self._transaction.put("timer_firings", journal_rows.timer_firing_row(firing), new=True)
        if write_set.idempotency is not None:
            self.idempotency.insert(write_set.partition, write_set.idempotency)

    def apply_all(self, sets: Sequence[WriteSet]) -> None:
        """Write all that several commands store."""
        write_sets.check_all(sets)
        # What was committed together is there together, so that each tells the same of itself.
        for write_set in sets:
            self.apply(write_set)

    def _write_instance(self, write_set: WriteSet, instance: WorkflowInstance) -> bool:
        """Write the row; False when this command already wrote it."""
        stored = self._transaction.get("instances", (instance.id,), write_set.partition)
        expected = None if write_set.is_new else write_set.expected_revision
        if (None if stored is None else stored["revision"]) != expected:
            own = stored is not None and instance.command_id == stored["command_id"] is not None
            if own or self._was_written(write_set):
                return False
            if write_set.is_new:
                raise DuplicateRecord(f"instance {instance.id}")
            raise RevisionConflict(f"instance {instance.id} is not at revision {expected}")
        if write_set.is_new:
            self._check_capacity()
        self._transaction.put("instances", rows.instance_row(instance))
        return True

    def _was_written(self, write_set: WriteSet) -> bool:
        """Whether another command has changed the row since this one was committed: the trail still tells of it."""
        return any(self.audit.holds(write_set.partition, entry.id) for entry in write_set.audit[:1])

    def _check_capacity(self) -> None:
        if self._capacity is not None and len(self._transaction.rows("instances", lambda row: True)) >= self._capacity:
            raise Unavailable("workflow.store.full", code=UNAVAILABLE_CAPACITY, params={"capacity": self._capacity})

    def _write_bookmarks(self, write_set: WriteSet) -> None:
        partition = write_set.partition
        deleted = write_set.deleted_bookmark_ids
        if write_sets.closes_instance(write_set) and write_set.instance is not None:
            left = self._transaction.of_instance("bookmarks", partition, write_set.instance.id)
            deleted = [*deleted, *(row["id"] for row in left)]
        self.bookmarks.delete(partition, deleted)
        follow = write_sets.columns_to_follow(write_set)
        if follow is not None and write_set.instance is not None:
            for row in self._transaction.of_instance("bookmarks", partition, write_set.instance.id):
                self._transaction.update("bookmarks", row, **_columns_for(row, follow))
        foreign = {}
        for instance_id in write_sets.foreign_instance_ids(write_set):
            found = self._transaction.get("instances", (instance_id,), partition)
            if found is not None:
                foreign[instance_id] = rows.instance_columns(decode(found["document"], WorkflowInstance))
        for row in write_sets.bookmark_rows(write_set, foreign):
            there = self._transaction.get("bookmarks", (row["id"],), partition)
            kept = {} if there is None else {name: there[name] for name in rows.LOCK_COLUMNS}
            self._transaction.put("bookmarks", {**row, **kept})

    def _take_signals(self, write_set: WriteSet) -> None:
        for signal_id in write_set.taken_signal_ids:
            if not self.signals.discard(write_set.partition, signal_id):
                raise SignalTaken(signal_id)

    def _change_locks(self, write_set: WriteSet) -> None:
        for change in write_set.lock_changes:
            row = self._transaction.get("bookmarks", (change.bookmark_id,), write_set.partition)
            if row is None or row["lock_token"] != change.expected_token:
                raise RevisionConflict(f"the lock of bookmark {change.bookmark_id} is another")
            self._transaction.update(
                "bookmarks",
                row,
                worker_id=change.worker_id,
                lock_token=change.lock_token,
                available_at=change.available_at,
            )

    def _write_tasks(self, write_set: WriteSet) -> None:
        for record in write_set.task_records:
            self._transaction.put("task_records", journal_rows.task_record_row(record))
        for end in write_set.task_ends:
            row = self._transaction.get("task_records", (end.task_id, end.round), write_set.partition)
            if row is not None and row["ended_at"] is None:
                self._transaction.update("task_records", row, **journal_rows.task_end_values(end))
        for move in write_set.task_moves:
            for row in self._transaction.rows("task_records", _open_round(write_set.partition, move.task_id)):
                self._transaction.update(
                    "task_records", row, node_id=move.node_id, definition_title=move.definition_title
                )
        for copy in write_set.task_copies:
            row = journal_rows.task_copy_row(write_set.partition, copy)
            if self._transaction.get("task_copies", (copy.task_id, copy.user_id), write_set.partition) is None:
                self._transaction.put("task_copies", row)


def _open_round(partition: Partition, task_id: str) -> Callable[[Row], bool]:
    wanted = (partition, task_id, None)
    return lambda row: (row["tenant_id"], row["task_id"], row["ended_at"]) == wanted


def _columns_for(row: Row, follow: Row) -> Row:
    """Only user tasks show their instance's correlation id; a signal's own stays."""
    if row["kind"] == BookmarkKind.USER_TASK.value:
        return follow
    return {name: value for name, value in follow.items() if name != "correlation_id"}


class MemoryStores:
    """Opens units of work on rows in memory; *capacity* limits the number of instances (spec 8.1)."""

    def __init__(self, capacity: int | None = None) -> None:
        self._database = Database()
        self._capacity = capacity
        self.accounts = MemoryAccounts()
        self.calendars = MemoryCalendars()
        self.notice_settings = MemoryNoticeSettings()
        self.maintenance = MemoryMaintenance()
        self.fences = MemoryFences(self._database)

    @contextmanager
    def reading(self, partition: Partition) -> Iterator[MemoryUnitOfWork]:
        """Open a unit of work for reading."""
        yield MemoryUnitOfWork(Transaction(self._database, writable=False), self._capacity)

    @contextmanager
    def writing(self, partition: Partition) -> Iterator[MemoryUnitOfWork]:
        """Open a unit of work for writing: commits at the end, rolls back when the block raises."""
        database = self._database
        if database.writer == threading.get_ident():
            raise RuntimeError("a unit of work for writing is open in this thread already")
        if not database.gate.acquire(timeout=_WRITER_TIMEOUT_SECONDS):
            raise StoreFailure("another unit of work does not end", transient=True)
        try:
            database.writer = threading.get_ident()
            transaction = Transaction(database, writable=True)
            yield MemoryUnitOfWork(transaction, self._capacity)
            transaction.require_unfenced(partition)
            transaction.commit()
        finally:
            database.writer = None
            database.gate.release()
