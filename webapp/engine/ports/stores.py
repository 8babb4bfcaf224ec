"""The store port (spec 8, 3.22, 25): two sets of stores, memory and SQL, prove one conformance suite.

A partition is a tenant's id, or None for the platform; each method's first parameter. Nothing of another partition
can be seen or changed. A record whose ``tenant_id`` differs from the partition is a programming error
(``ValueError``). What a store returns is a snapshot: changing it does not touch the store. Deleting an absent id is
ignored. Within one batch the last record with an id wins.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

import msgspec

from webapp.engine.definitions.model import DefinitionStatus, WorkflowDefinition
from webapp.engine.instances.batches import BatchItemEnd
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind, Lane
from webapp.engine.instances.journal import (
    AuditEntry,
    FollowUp,
    OutboxEntry,
    TaskCopy,
    TaskEnd,
    TaskMove,
    TaskRecord,
    TimerFiring,
)
from webapp.engine.instances.model import NodeInstance, WorkflowInstance
from webapp.engine.notifications.model import Delivery, Notice
from webapp.engine.ports.batches import BatchStore
from webapp.engine.ports.external_tasks import ExternalTaskStore, LockChange
from webapp.engine.ports.idempotency import IdempotencyRecord, IdempotencyStore
from webapp.engine.ports.notices import DeliveryStore, NoticeStore
from webapp.engine.ports.outbox import OutboxStore
from webapp.engine.ports.purge import PurgeStore
from webapp.engine.ports.queries import (
    MAX_LIMIT,
    BookmarkSummary,
    DefinitionQuery,
    DefinitionSummary,
    DoneTaskSummary,
    DueBookmark,
    InstanceQuery,
    InstanceSummary,
    Page,
    Paging,
    TaskQuery,
    TaskSummary,
)
from webapp.engine.ports.seals import SealStore
from webapp.engine.ports.signals import SignalStore

Partition = str | None

WHOLE = Paging(limit=MAX_LIMIT)
"""The first thousand rows in the list's own order."""


class StoreFailure(Exception):
    """The store could not do it; ``transient`` says whether the same write may succeed when it is applied again.

    ``full``: there is no room left on its disk.
    """

    def __init__(self, reason: str, *, transient: bool = False, full: bool = False) -> None:
        self.reason = reason
        self.transient = transient
        self.full = full
        super().__init__(reason)


class RevisionConflict(Exception):
    """The row's revision is not the one that was read: somebody else wrote in between; nothing was changed."""


class DuplicateRecord(Exception):
    """A unique key is taken: (partition, name, version) of a definition, an account's name …"""


class WriteSet(msgspec.Struct, kw_only=True):
    """All that one command stores, in one transaction; safe to apply again while the revision read still stands.

    ``instance`` None: a command that changes no instance. ``is_new``: inserted; else updated where its revision is
    ``expected_revision`` (:class:`RevisionConflict` otherwise, unless the row's command id is already this command's:
    then the write was committed before and counts as done). ``instance_unchanged`` true: nothing but audit and the
    like, the row is not written. ``node_instances``, ``bookmarks``: inserted or replaced. ``columns_changed``: status,
    title, correlation id, definition or starter changed, so that the other bookmark rows of the instance must follow.
    A changed bookmark keeps the lock that its row has; ``lock_changes`` are the only ones that touch it, each where
    the lock is the one that was read (:class:`RevisionConflict` otherwise). ``taken_signal_ids``: kept signals that
    the wave takes with it (:class:`~webapp.engine.ports.signals.SignalTaken` when one is gone). ``notices`` and
    ``deliveries`` whose id is there already stay as they are: the same transition told again tells nobody twice.
    """

    partition: Partition
    instance: WorkflowInstance | None = None
    is_new: bool = False
    expected_revision: int = 0
    node_instances: list[NodeInstance] = []
    new_bookmarks: list[Bookmark] = []
    changed_bookmarks: list[Bookmark] = []
    deleted_bookmark_ids: list[str] = []
    lock_changes: list[LockChange] = []
    taken_signal_ids: list[str] = []
    columns_changed: bool = False
    task_records: list[TaskRecord] = []
    task_ends: list[TaskEnd] = []
    task_copies: list[TaskCopy] = []
    task_moves: list[TaskMove] = []
    batch_ends: list[BatchItemEnd] = []
    new_follow_ups: list[FollowUp] = []
    deleted_follow_up_ids: list[str] = []
    audit: list[AuditEntry] = []
    outbox: list[OutboxEntry] = []
    notices: list[Notice] = []
    deliveries: list[Delivery] = []
    timer_firings: list[TimerFiring] = []
    idempotency: IdempotencyRecord | None = None


class InstanceSnapshot(msgspec.Struct, kw_only=True):
    """What a wave works on: the instance, its node instances that are active or wait for a retry, all its bookmarks.

    ``node_instances`` holds every node instance that is Running, Suspended, referred to by a bookmark, or the
    instance's fault node instance; not the history. Bookmarks: createdAt, then sequence. ``history``, when a command
    asked for it (compensation, return, jump …), holds all other node instances: startedAt, then sequence.
    """

    instance: WorkflowInstance
    node_instances: list[NodeInstance]
    bookmarks: list[Bookmark]
    history: list[NodeInstance] | None = None


class DefinitionStore(Protocol):
    """Definitions of a partition."""

    def find(self, partition: Partition, definition_id: str) -> WorkflowDefinition | None:
        """Return the definition, or None."""

    def header(self, partition: Partition, definition_id: str) -> DefinitionSummary | None:
        """Return the columns of the definition without loading its document (running_instances is 0)."""

    def header_by_version(self, partition: Partition, name: str, version: int) -> DefinitionSummary | None:
        """Return the columns of that version of the name, in any status, or None."""

    def latest_published(self, partition: Partition, name: str) -> DefinitionSummary | None:
        """Return the columns of the highest Published version of the name, or None."""

    def highest(self, partition: Partition, name: str) -> DefinitionSummary | None:
        """Return the columns of the highest version of the name in any status, or None."""

    def max_version(self, partition: Partition, name: str) -> int:
        """Return the highest version over all statuses, 0 if the name is unknown."""

    def insert(self, partition: Partition, definition: WorkflowDefinition) -> None:
        """Insert a definition. :raises DuplicateRecord: the (name, version) is taken."""

    def replace(self, partition: Partition, definition: WorkflowDefinition, expected_revision: int) -> None:
        """Replace the row with that id. :raises RevisionConflict: its revision is not the expected one."""

    def delete(self, partition: Partition, definition_id: str, expected_revision: int) -> None:
        """Delete the row. :raises RevisionConflict: its revision is not the expected one."""

    def list(self, partition: Partition, query: DefinitionQuery) -> Page[DefinitionSummary]:
        """Return a page of summaries with running instances counted, and the total (order: spec 8.2)."""

    def categories(self, partition: Partition) -> Sequence[str]:
        """Return the categories in use, sorted."""


class InstanceStore(Protocol):
    """Instances and their node instances."""

    def find(self, partition: Partition, instance_id: str) -> WorkflowInstance | None:
        """Return the instance, or None."""

    def snapshot(self, partition: Partition, instance_id: str) -> InstanceSnapshot | None:
        """Return what a wave works on, read in one statement, or None."""

    def snapshots(self, partition: Partition, instance_ids: Sequence[str]) -> dict[str, InstanceSnapshot]:
        """Return the snapshots of those of these instances that there are, by id, read in one statement."""

    def list(self, partition: Partition, query: InstanceQuery) -> Page[InstanceSummary]:
        """Return a page and the total (order: spec 8.3)."""

    def counts(self, partition: Partition, query: InstanceQuery) -> dict[str, int]:
        """Return the number of instances by status under the query's other filters: one statement; absent means 0."""

    def children(self, partition: Partition, parent_instance_id: str) -> Sequence[InstanceSummary]:
        """Return the children, createdAt ascending, then sequence."""

    def node_instances(self, partition: Partition, instance_id: str, paging: Paging = WHOLE) -> Page[NodeInstance]:
        """Return node instances: startedAt ascending, then sequence."""

    def history(self, partition: Partition, instance_id: str) -> Sequence[NodeInstance]:
        """Return all node instances of the instance, without a limit: startedAt ascending, then sequence."""

    def find_unfinished(
        self, partition: Partition, correlation_id: str, definition_name: str | None = None
    ) -> InstanceSummary | None:
        """Return the oldest top-level instance with that correlation id that is Running or Suspended, or None.

        *definition_name*: only one of that definition counts.
        """

    def may_read(self, partition: Partition, instance_id: str, account_id: str) -> bool:
        """Whether the account started it, has or had a task of it, or got a copy (spec 6.7)."""


class BookmarkStore(Protocol):
    """Bookmarks: waiting points, of which user tasks are one kind."""

    def find(self, partition: Partition, bookmark_id: str) -> Bookmark | None:
        """Return the bookmark, or None."""

    def by_instance(self, partition: Partition, instance_id: str) -> Sequence[Bookmark]:
        """Return all bookmarks of the instance: createdAt ascending, then sequence."""

    def summaries(self, partition: Partition, instance_id: str) -> Sequence[BookmarkSummary]:
        """Return all waiting points of the instance without payloads, in the same order."""

    def by_kind_and_key(self, partition: Partition, kind: BookmarkKind, key: str) -> Sequence[Bookmark]:
        """Return the bookmarks of that kind and key: createdAt ascending, then sequence."""

    def due(self, partition: Partition, now: datetime, limit: int) -> Sequence[Bookmark]:
        """Return the bookmarks due at *now*: dueAt ascending, then sequence; claims do not matter here."""

    def list_tasks(self, partition: Partition, query: TaskQuery) -> Page[TaskSummary]:
        """Return open user tasks of Running instances and the total (order: spec 25 Tasks)."""

    def count_tasks(self, partition: Partition, query: TaskQuery) -> int:
        """Return the number of open user tasks under the query's filters."""

    def mark_opened(self, partition: Partition, task_id: str, at: datetime) -> None:
        """Note when the assignee first opened the task; a later call changes nothing."""

    def any_due(self, now: datetime, lanes: Sequence[Lane], without: Collection[Partition] = ()) -> bool:
        """Whether :meth:`claim_due` would find something now; a read, so that an idle poller never waits to write."""

    def claim_due(
        self,
        now: datetime,
        limit: int,
        token: str,
        until: datetime,
        lanes: Sequence[Lane],
        without: Collection[Partition] = (),
    ) -> Sequence[DueBookmark]:
        """Claim up to *limit* due, unclaimed bookmarks of these lanes and return them.

        Of all partitions of this database but those in *without*. The claim stands from the commit of the unit of work
        on: end it before working. It counts as free when ``claimedUntil`` is past. Order: dueAt, then sequence
        (spec 8.10).
        """

    def give_back(self, token: str, bookmark_ids: Sequence[str]) -> int:
        """Free the claims of these bookmarks as far as they are still that token's; return their number."""

    def release_claims(self, token_prefix: str) -> int:
        """Free every claim whose token begins so (a process of this host that is gone); return their number."""

    def claim_tokens(self) -> Sequence[str]:
        """Return the distinct tokens of claims, those of follow-ups too, sorted."""

    def push_back(self, partition: Partition, bookmark_id: str, due_at: datetime, failures: int) -> None:
        """Set a new due time (keeping the first as originalDueAt) and the failures, and drop the claim (spec 3.12)."""

    def delete(self, partition: Partition, bookmark_ids: Sequence[str]) -> None:
        """Delete bookmarks whose instance is gone."""

    def next_due(self, lanes: Sequence[Lane], without: Collection[Partition] = ()) -> datetime | None:
        """Return the earliest due time of unclaimed bookmarks of these lanes and of other partitions, or None."""


class TaskRecordStore(Protocol):
    """Task records: one row per round of a task; written by ``apply`` only."""

    def latest(self, partition: Partition, task_id: str) -> TaskRecord | None:
        """Return the last round of the task, or None if no such task ever was."""

    def by_instance(self, partition: Partition, instance_id: str) -> Sequence[TaskRecord]:
        """Return all rounds of all tasks of the instance: createdAt, then sequence, then round."""

    def done_by(
        self, partition: Partition, account_id: str, keyword: str | None, paging: Paging
    ) -> Page[DoneTaskSummary]:
        """Return the rounds this account completed, newest end first."""


class FollowUpStore(Protocol):
    """Follow-ups: durable work between instances (spec 3.22)."""

    def any_due(self, now: datetime, without: Collection[Partition] = ()) -> bool:
        """Whether :meth:`claim_due` would find something now; a read."""

    def next_due(self, without: Collection[Partition] = ()) -> datetime | None:
        """Return the earliest due time of unclaimed follow-ups of other partitions, or None."""

    def claim_due(
        self, now: datetime, limit: int, token: str, until: datetime, without: Collection[Partition] = ()
    ) -> Sequence[FollowUp]:
        """Claim due, unclaimed follow-ups of all partitions but those in *without* and return them by dueAt, id.

        The claim stands from the commit of the unit of work on: end it before working.
        """

    def claim(
        self, partition: Partition, follow_up_id: str, now: datetime, token: str, until: datetime
    ) -> FollowUp | None:
        """Claim one follow-up if it is there and unclaimed, else None."""

    def delete(self, partition: Partition, follow_up_id: str) -> bool:
        """Delete a follow-up that is done or void; False: it was gone."""

    def push_back(self, partition: Partition, follow_up_id: str, due_at: datetime, failures: int) -> None:
        """Set a new due time and the failures, and drop the claim."""

    def release_claims(self, token_prefix: str) -> int:
        """Free every claim whose token begins so; return their number."""


class AuditStore(Protocol):
    """The append-only trail."""

    def append(self, partition: Partition, entries: Sequence[AuditEntry]) -> None:
        """Append entries."""

    def holds(self, partition: Partition, entry_id: str) -> bool:
        """Whether the entry was appended."""

    def by_instance(self, partition: Partition, instance_id: str, paging: Paging = WHOLE) -> Page[AuditEntry]:
        """Return the instance's entries: at ascending, then sequence, then id."""

    def by_definition(self, partition: Partition, definition_id: str) -> Sequence[AuditEntry]:
        """Return the definition's own entries, not those of its instances: at ascending, then sequence, then id."""


class Savepoint(Protocol):
    """A point inside a transaction that what follows it can be undone to; ended by one of its methods."""

    def keep(self) -> None:
        """Let what was written since then stand, as far as the transaction does."""

    def undo(self) -> None:
        """Undo what was written since then; the transaction goes on."""


class TimerFiringStore(Protocol):
    """What became of the due times of definitions' timers; written by ``apply`` only, each once, ever (spec 3.22)."""

    def last_scheduled(self, partition: Partition, name: str) -> datetime | None:
        """Return the latest due time that the name's timer has dealt with, or None."""

    def list(self, partition: Partition, name: str, paging: Paging = WHOLE) -> Page[TimerFiring]:
        """Return the name's firings, the latest due time first."""

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* firings whose due time is before *before*; return their number."""


class UnitOfWork(Protocol):
    """One transaction over one partition's database: its writes commit together or not at all."""

    @property
    def definitions(self) -> DefinitionStore:
        """Definitions."""

    @property
    def instances(self) -> InstanceStore:
        """Instances and node instances."""

    @property
    def bookmarks(self) -> BookmarkStore:
        """Bookmarks."""

    @property
    def task_records(self) -> TaskRecordStore:
        """Task records."""

    @property
    def external_tasks(self) -> ExternalTaskStore:
        """External tasks and their locks."""

    @property
    def signals(self) -> SignalStore:
        """Who waits for signals, and signals kept for later."""

    @property
    def follow_ups(self) -> FollowUpStore:
        """Follow-ups."""

    @property
    def audit(self) -> AuditStore:
        """The audit trail."""

    @property
    def seals(self) -> SealStore:
        """Seals of the audit trail."""

    @property
    def batches(self) -> BatchStore:
        """Batches."""

    @property
    def purges(self) -> PurgeStore:
        """What deletes what is over."""

    @property
    def idempotency(self) -> IdempotencyStore:
        """Stored answers."""

    @property
    def timer_firings(self) -> TimerFiringStore:
        """Firings of definitions' timers."""

    @property
    def outbox(self) -> OutboxStore:
        """Events to be sent."""

    @property
    def notices(self) -> NoticeStore:
        """Notices."""

    @property
    def deliveries(self) -> DeliveryStore:
        """Deliveries and their attempts."""

    def savepoint(self) -> Savepoint:
        """Begin a savepoint; those begun later end before it."""

    def application(self) -> Any:
        """Return the connection of this transaction, for an application's own tables in the same database (3.22).

        In SQL a ``sqlalchemy.Connection``, on which nothing is committed or rolled back but by this unit of work.
        :raises Unexpected: these stores are no database.
        """

    def apply(self, write_set: WriteSet) -> None:
        """Write all that a command stores, each kind of row in one statement.

        :raises RevisionConflict: somebody else wrote the instance. :raises ValueError: a record of another partition.
        """

    def apply_all(self, sets: Sequence[WriteSet]) -> None:
        """Write what several commands store, each kind of row in one statement; all of it stands or nothing does.

        They are of one partition and each of another instance. When they were committed together before, this is done.
        :raises RevisionConflict: somebody else wrote one of the instances; the unit of work must be given up.
        """


class Stores(Protocol):
    """Opens units of work. Only services do so."""

    def reading(self, partition: Partition) -> AbstractContextManager[UnitOfWork]:
        """Open a unit of work for reading: never waits for a writer."""

    def writing(self, partition: Partition) -> AbstractContextManager[UnitOfWork]:
        """Open a unit of work for writing: commits when the block ends, rolls back when it raises.

        :raises StoreFailure: from the block's statements or the commit; ``transient`` when worth applying again.
        """


__all__ = [
    "AuditStore", "BatchStore", "BookmarkStore", "DefinitionStatus", "DefinitionStore", "DuplicateRecord",
    "FollowUpStore", "IdempotencyRecord", "IdempotencyStore", "InstanceSnapshot", "InstanceStore", "OutboxStore",
    "Partition",
    "RevisionConflict", "Savepoint", "StoreFailure", "Stores", "TaskRecordStore", "UnitOfWork", "WriteSet",
]  # fmt: skip
