"""The store's side of purging: whole ended trees in small transactions (spec 3.20, 8.3, 8.10).

What is to go is looked for without writing (*pick*) and taken in transactions (*take*) that look again at what they
delete. A tree with more rows than one transaction should delete is **marked**: the rows of its instances
go at once, so that no list shows them and no command finds them, and a mark stays for each, by which *sweep* deletes
the rest in parts. The audit trail stays; so do deliveries until they are sent or dropped, and their attempts with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from webapp.engine.instances.model import InstanceStatus

Partition = str | None

PURGEABLE = (InstanceStatus.COMPLETED, InstanceStatus.CANCELED, InstanceStatus.TERMINATED)
"""What a purge deletes unless told otherwise: a Faulted instance may still be retried (spec 8.10)."""


class PurgeWish(msgspec.Struct, frozen=True, kw_only=True):
    """Which trees: top-level instances of these statuses, of that definition, that ended at or before ``before``.

    Every descendant must have ended by then too, Completed, Canceled or Terminated; Faulted only where ``statuses``
    names that.
    """

    before: datetime
    statuses: tuple[InstanceStatus, ...] = PURGEABLE
    definition_name: str | None = None


class PurgePlace(msgspec.Struct, frozen=True):
    """Where a look for trees has come to, in their order: the end, then sequence, then id."""

    ended_at: datetime
    sequence: int
    id: str


class TreeSize(StrEnum):
    """How a tree is taken."""

    WHOLE = "whole"
    MARKED = "marked"
    """It has many rows: its instances are marked, and what hangs on them is swept."""
    WIDE = "wide"
    """It has many instances: its root is marked, and its children are swept too."""


class PurgeTree(msgspec.Struct, frozen=True):
    """A tree to take: its root's id, how it is taken, and about how many rows a transaction writes for it."""

    root_id: str
    size: TreeSize
    rows: int


class PurgePick(msgspec.Struct, frozen=True, kw_only=True):
    """Trees to take, in their order, and the place to look on from; None: there is nothing more."""

    trees: Sequence[PurgeTree] = ()
    place: PurgePlace | None = None


class Purged(msgspec.Struct, frozen=True):
    """What a transaction has deleted: instances, and rows of all tables."""

    instances: int = 0
    rows: int = 0

    def __add__(self, other: Purged) -> Purged:
        return Purged(self.instances + other.instances, self.rows + other.rows)


class PurgeBacklog(msgspec.Struct, frozen=True, kw_only=True):
    """What waits: ended trees (counted up to a limit, those with a living descendant too), the oldest end, marks."""

    trees: int
    oldest: datetime | None
    marked: int


class PurgeRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of housekeeping through a partition: how far it has come; ``ended_at`` None: it goes on, or was cut off."""

    started_at: datetime
    moved_at: datetime
    ended_at: datetime | None = None
    ended_before: datetime
    instances: int = 0
    removed_rows: int = 0


class PurgeStore(Protocol):
    """Deletes what is over; each method but *pick* and the questions is bounded in what it writes."""

    def pick(
        self, partition: Partition, wish: PurgeWish, *, trees: int, rows: int, after: PurgePlace | None = None
    ) -> PurgePick:
        """Look for trees, the oldest end first, among the next few hundred roots and among *trees* at most.

        A tree of more than *rows* rows is no whole one. Only reads.
        """

    def take(self, partition: Partition, trees: Sequence[PurgeTree], wish: PurgeWish, now: datetime) -> Purged:
        """Delete the trees, or mark them; one that has changed meanwhile stays (``where revision = :read``)."""

    def sweep(self, partition: Partition, rows: int, now: datetime) -> Purged:
        """Delete about *rows* rows of what is marked, the oldest mark first; no rows: nothing is marked any more."""

    def backlog(self, partition: Partition, wish: PurgeWish, most: int) -> PurgeBacklog:
        """Return what waits, counted up to *most* each."""

    def last_run(self, partition: Partition) -> PurgeRun | None:
        """Return the partition's last run, or None."""

    def note(self, partition: Partition, run: PurgeRun) -> None:
        """Store how far a run has come."""
