"""Purging in memory: whole ended trees and all that hangs on them, the audit trail excepted (spec 3.20, 8.10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import structs

from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.purge import (
    PurgeBacklog,
    Purged,
    PurgePick,
    PurgePlace,
    PurgeRun,
    PurgeTree,
    PurgeWish,
    TreeSize,
)
from webapp.engine.ports.stores import Partition
from webapp.stores.memory.deliveries import MemoryDeliveries
from webapp.stores.memory.lists import by_time
from webapp.stores.memory.tables import KEYS, Transaction
from webapp.stores.notice_rows import SETTLED_STATES
from webapp.stores.purging import LOOKED, Tree, choose
from webapp.stores.rows import Row, pick, purgeable

DETAILS = ("notices", "task_records", "task_copies", "bookmarks", "node_instances", "deliveries")
_LOCKED_OUT = -1


class MemoryPurge:
    """Deletes what is over."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def pick(
        self, partition: Partition, wish: PurgeWish, *, trees: int, rows: int, after: PurgePlace | None = None
    ) -> PurgePick:
        """Look for trees, the oldest end first."""
        roots = [
            root for root in self._roots(partition, wish) if after is None or _order(root) > structs.astuple(after)
        ]
        found, limit = [], min(trees, LOOKED)
        for root in roots[:limit]:
            children = self._children(partition, root["id"])
            hanging = sum(len(self._details(partition, one["id"])) for one in (root, *children))
            place = PurgePlace(root["ended_at"], root["sequence"], root["id"])
            found.append(Tree(place, len(children), sum(_lives(one, wish) for one in children), hanging))
        return choose(found, rows=rows, at_end=len(roots) < limit)

    def take(self, partition: Partition, trees: Sequence[PurgeTree], wish: PurgeWish, now: datetime) -> Purged:
        """Delete the trees, or mark them; one that has changed meanwhile stays."""
        done = Purged()
        for tree in trees:
            root = self._transaction.get("instances", (tree.root_id,), partition)
            children = self._children(partition, tree.root_id)
            if root is not None and _is_over(root, wish) and not any(_lives(one, wish) for one in children):
                done += self._take(partition, root, children, tree.size, now)
        return done

    def _take(self, partition: Partition, root: Row, children: list[Row], size: TreeSize, now: datetime) -> Purged:
        if size is TreeSize.WIDE:
            self._lock_out(children)
            children = []
        rows = 0
        for one in (root, *children):
            if size is TreeSize.WHOLE:
                rows += self._remove(partition, self._details(partition, one["id"]))
            else:
                self._mark(partition, one["id"], now, has_children=size is TreeSize.WIDE)
            self._transaction.remove("instances", (one["id"],), partition)
        return Purged(1 + len(children), rows + 1 + len(children))

    def sweep(self, partition: Partition, rows: int, now: datetime) -> Purged:
        """Delete about *rows* rows of what is marked, the oldest mark first."""
        marks = self._transaction.rows("purge_marks", lambda row: row["tenant_id"] == partition)
        marks.sort(key=lambda row: (row["marked_at"], row["id"]))
        left, instances = rows, 0
        for mark in marks:
            left -= self._remove(partition, self._details(partition, mark["id"])[:left])
            if left <= 0:
                return Purged(instances, rows)
            children = self._children(partition, mark["id"])[:left] if mark["has_children"] else []
            for child in children:
                self._mark(partition, child["id"], now)
                self._transaction.remove("instances", (child["id"],), partition)
            left, instances = left - len(children), instances + len(children)
            if not children:
                self._transaction.remove("purge_marks", (mark["id"],), partition)
                left -= 1
            if left <= 0:
                break
        return Purged(instances, rows - left)

    def backlog(self, partition: Partition, wish: PurgeWish, most: int) -> PurgeBacklog:
        """Return what waits, counted up to *most* each."""
        roots = self._roots(partition, wish)
        marks = self._transaction.rows("purge_marks", lambda row: row["tenant_id"] == partition)
        oldest = roots[0]["ended_at"] if roots else None
        return PurgeBacklog(trees=min(most, len(roots)), oldest=oldest, marked=min(most, len(marks)))

    def last_run(self, partition: Partition) -> PurgeRun | None:
        """Return the partition's last run, or None."""
        row = self._transaction.get("purge_runs", (partition,), partition)
        return None if row is None else pick(PurgeRun, row)

    def note(self, partition: Partition, run: PurgeRun) -> None:
        """Store how far a run has come."""
        self._transaction.put("purge_runs", {"tenant_id": partition, **structs.asdict(run)})

    def _roots(self, partition: Partition, wish: PurgeWish) -> list[Row]:
        found = self._transaction.rows(
            "instances",
            lambda row: (
                row["tenant_id"] == partition
                and row["parent_instance_id"] is None
                and wish.definition_name in (None, row["definition_name"])
                and _is_over(row, wish)
            ),
        )
        return by_time(found, "ended_at")

    def _children(self, partition: Partition, root_id: str) -> list[Row]:
        return self._transaction.rows(
            "instances",
            lambda row: (
                row["tenant_id"] == partition
                and row["parent_instance_id"] is not None
                and row["root_instance_id"] == root_id
            ),
        )

    def _lock_out(self, children: Iterable[Row]) -> None:
        """Keep every command away from them."""
        for child in children:
            if child["status"] == InstanceStatus.FAULTED:
                self._transaction.update("instances", child, revision=_LOCKED_OUT)

    def _mark(self, partition: Partition, instance_id: str, now: datetime, *, has_children: bool = False) -> None:
        values = {"id": instance_id, "tenant_id": partition, "has_children": has_children, "marked_at": now}
        self._transaction.put("purge_marks", values)

    def _details(self, partition: Partition, instance_id: str) -> list[tuple[str, Row]]:
        return [
            (table, row)
            for table in DETAILS
            for row in self._transaction.of_instance(table, partition, instance_id)
            if table != "deliveries" or row["state"] in SETTLED_STATES
        ]

    def _remove(self, partition: Partition, found: Sequence[tuple[str, Row]]) -> int:
        for table, row in found:
            if table == "deliveries":
                MemoryDeliveries(self._transaction).remove(partition, row["id"])
            else:
                self._transaction.remove(table, tuple(row[name] for name in KEYS[table]), partition)
        return len(found)


def _is_over(root: Row, wish: PurgeWish) -> bool:
    return root["status"] in wish.statuses and root["ended_at"] <= wish.before


def _lives(child: Row, wish: PurgeWish) -> bool:
    return child["status"] not in purgeable(wish.statuses) or child["ended_at"] > wish.before


def _order(root: Row) -> tuple[object, ...]:
    return root["ended_at"], root["sequence"], root["id"]
