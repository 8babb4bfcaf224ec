"""Purging in memory: whole ended trees and all that hangs on them, the audit trail excepted (spec 3.20, 8.10)."""

from __future__ import annotations

from datetime import datetime

from webapp.engine.ports.stores import Partition
from webapp.stores.memory.lists import by_time
from webapp.stores.memory.tables import KEYS, Transaction
from webapp.stores.rows import PURGEABLE, Row

_OF_INSTANCES = ("node_instances", "bookmarks", "task_copies", "task_records")


def purge(transaction: Transaction, partition: Partition, before: datetime, limit: int) -> int:
    """Delete up to *limit* ended trees; return the number of instances."""

    def over(row: Row) -> bool:
        return row["status"] in PURGEABLE and row["ended_at"] <= before

    trees: dict[str, list[Row]] = {}
    for row in transaction.rows("instances", lambda row: row["tenant_id"] == partition):
        trees.setdefault(row["root_instance_id"], []).append(row)
    roots = [members[0] for members in map(_root_first, trees.values()) if all(map(over, members))]
    doomed = [row for root in by_time(roots, "ended_at")[:limit] for row in trees[root["root_instance_id"]]]
    for row in doomed:
        for table in _OF_INSTANCES:
            for part in transaction.of_instance(table, partition, row["id"]):
                transaction.remove(table, tuple(part[name] for name in KEYS[table]), partition)
        transaction.remove("instances", (row["id"],), partition)
    return len(doomed)


def _root_first(members: list[Row]) -> list[Row]:
    return sorted(members, key=lambda row: row["parent_instance_id"] is not None)
