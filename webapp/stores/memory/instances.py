"""Instances and node instances in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from webapp.engine.instances.model import NodeInstance, WorkflowInstance
from webapp.engine.numbers import decode
from webapp.engine.ports.queries import InstanceQuery, InstanceSummary, Page, Paging
from webapp.engine.ports.stores import WHOLE, InstanceSnapshot, Partition
from webapp.stores import rows
from webapp.stores.keywords import fold_keyword
from webapp.stores.memory.bookmarks import MemoryBookmarks
from webapp.stores.memory.lists import by_time, ordered, page, within
from webapp.stores.memory.tables import Transaction
from webapp.stores.ordering import instance_order
from webapp.stores.rows import Row

_ACTIVE = ("Running", "Suspended")


class MemoryInstances:
    """The instance store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def find(self, partition: Partition, instance_id: str) -> WorkflowInstance | None:
        """Return the instance, or None."""
        row = self._transaction.get("instances", (instance_id,), partition)
        return None if row is None else decode(row["document"], WorkflowInstance)

    def snapshot(self, partition: Partition, instance_id: str) -> InstanceSnapshot | None:
        """Return what a wave works on, or None."""
        row = self._transaction.get("instances", (instance_id,), partition)
        if row is None:
            return None
        bookmarks = MemoryBookmarks(self._transaction).by_instance(partition, instance_id)
        needed = {bookmark.node_instance_id for bookmark in bookmarks} | {row["fault_node_instance_id"]}
        nodes = [
            node
            for node in self._transaction.of_instance("node_instances", partition, instance_id)
            if node["status"] in _ACTIVE or node["id"] in needed
        ]
        return InstanceSnapshot(
            instance=decode(row["document"], WorkflowInstance),
            node_instances=[decode(node["document"], NodeInstance) for node in by_time(nodes, "started_at")],
            bookmarks=list(bookmarks),
        )

    def snapshots(self, partition: Partition, instance_ids: Sequence[str]) -> dict[str, InstanceSnapshot]:
        """Return what waves of several instances work on, by id."""
        found = {instance_id: self.snapshot(partition, instance_id) for instance_id in instance_ids}
        return {instance_id: snapshot for instance_id, snapshot in found.items() if snapshot is not None}

    def list(self, partition: Partition, query: InstanceQuery) -> Page[InstanceSummary]:
        """Return a page and the total."""
        found = ordered(self._matching(partition, query), instance_order(query.paging.sorts))
        return page(found, query.paging, rows.instance_summary)

    def counts(self, partition: Partition, query: InstanceQuery) -> dict[str, int]:
        """Return the number of instances by status under the other filters."""
        return dict(Counter(row["status"] for row in self._matching(partition, query, with_status=False)))

    def children(self, partition: Partition, parent_instance_id: str) -> Sequence[InstanceSummary]:
        """Return the children, oldest first."""
        found = self._transaction.rows(
            "instances",
            lambda row: row["tenant_id"] == partition and row["parent_instance_id"] == parent_instance_id,
        )
        return [rows.instance_summary(row) for row in by_time(found, "created_at")]

    def node_instances(self, partition: Partition, instance_id: str, paging: Paging = WHOLE) -> Page[NodeInstance]:
        """Return node instances in the order they started."""
        found = self._transaction.of_instance("node_instances", partition, instance_id)
        return page(by_time(found, "started_at"), paging, lambda row: decode(row["document"], NodeInstance))

    def history(self, partition: Partition, instance_id: str) -> Sequence[NodeInstance]:
        """Return all node instances in the order they started."""
        found = self._transaction.of_instance("node_instances", partition, instance_id)
        return [decode(row["document"], NodeInstance) for row in by_time(found, "started_at")]

    def find_unfinished(
        self, partition: Partition, correlation_id: str, definition_name: str | None = None
    ) -> InstanceSummary | None:
        """Return the oldest top-level instance of that correlation id that is Running or Suspended, or None."""
        found = self._transaction.rows(
            "instances",
            lambda row: (
                row["tenant_id"] == partition
                and row["correlation_id"] == correlation_id
                and row["status"] in _ACTIVE
                and row["parent_instance_id"] is None
                and definition_name in (None, row["definition_name"])
            ),
        )
        return rows.instance_summary(by_time(found, "created_at")[0]) if found else None

    def may_read(self, partition: Partition, instance_id: str, account_id: str) -> bool:
        """Whether the account started it, has or had a task of it, or got a copy."""
        row = self._transaction.get("instances", (instance_id,), partition)
        return row is not None and self._readable(partition, row, account_id)

    def _readable(self, partition: Partition, row: Row, account_id: str) -> bool:
        if row["starter_id"] == account_id:
            return True
        records = self._transaction.of_instance("task_records", partition, row["id"])
        copies = self._transaction.of_instance("task_copies", partition, row["id"])
        return any(account_id in (record["assignee_id"], record["actor_id"]) for record in records) or any(
            copy["user_id"] == account_id for copy in copies
        )

    def _matching(self, partition: Partition, query: InstanceQuery, *, with_status: bool = True) -> Sequence[Row]:
        found = self._transaction.rows(
            "instances", lambda row: row["tenant_id"] == partition and _matches(row, query, with_status)
        )
        if query.readable_by is None:
            return found
        account = query.readable_by
        return [row for row in found if self._readable(partition, row, account)]


def _matches(row: Row, query: InstanceQuery, with_status: bool) -> bool:
    keyword = fold_keyword(query.keyword)
    statuses = {status.value for status in query.statuses} if with_status else set()
    equal = (
        ("definition_name", query.definition_name),
        ("definition_version", query.definition_version),
        ("definition_id", query.definition_id),
        ("correlation_id", query.correlation_id),
        ("starter_id", query.starter_id),
        ("parent_instance_id", query.parent_instance_id),
    )
    return (
        (not statuses or row["status"] in statuses)
        and all(value is None or row[column] == value for column, value in equal)
        and (query.ids is None or row["id"] in query.ids)
        and (query.correlation_ids is None or row["correlation_id"] in query.correlation_ids)
        and (not query.top_level_only or row["parent_instance_id"] is None)
        and (keyword is None or keyword in row["search_text"])
        and within(row["created_at"], query.created_from, query.created_to)
        and within(row["ended_at"], query.ended_from, query.ended_to)
    )
