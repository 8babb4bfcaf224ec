"""Instances and node instances in SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    bindparam,
    func,
    literal,
    not_,
    null,
    or_,
    select,
    union,
    union_all,
    update,
)

from webapp.engine.instances.model import NodeInstance, WorkflowInstance
from webapp.engine.numbers import decode
from webapp.engine.ports.queries import InstanceQuery, InstanceSummary, Page, Paging
from webapp.engine.ports.stores import WHOLE, InstanceSnapshot, Partition
from webapp.stores import rows
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import (
    among,
    insert_once,
    listed,
    update_many,
    upsert,
    upsert_many,
)
from webapp.stores.sql.instance_lists import SUMMARY, asked_of, counts_of, listing_of, readable
from webapp.stores.sql.listing import read_page
from webapp.stores.sql.queries import by_key, of_tenant, total_of, window
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET, TableSet

_ACTIVE = ("Running", "Suspended")
_BOOKMARK, _INSTANCE, _NODE = 1, 2, 3


class Statements:
    """The statements over one set of tables in one dialect, built once."""

    def __init__(self, dialect: str, tables: TableSet) -> None:
        table = tables.instances
        node = tables.node_instances
        summary = [table.c[name] for name in SUMMARY]
        age = (table.c.created_at, table.c.sequence, table.c.id)
        self.find = select(table.c.document).where(*by_key(table))
        self.snapshot = _snapshot(tables, lambda column: column == bindparam("p_instance_id"))
        self.snapshots = _snapshot(tables, lambda column: among(dialect, column, "p_instance_ids"))
        self.insert = insert_once(dialect, table)
        self.update = update(table).where(*by_key(table), table.c.revision == bindparam("p_revision"))
        self.update_many = update_many(dialect, table, "id", expected="revision")
        self.written = select(table.c.revision, table.c.command_id).where(*by_key(table))
        self.columns = select(table.c.document).where(
            table.c.id.in_(bindparam("p_ids", expanding=True)), of_tenant(table)
        )
        self.children = select(*summary).where(*by_key(table, "parent_instance_id")).order_by(*age)
        unfinished = (
            select(*summary)
            .where(*by_key(table, "correlation_id"), table.c.status.in_(_ACTIVE), table.c.parent_instance_id.is_(None))
            .order_by(*age)
            .limit(1)
        )
        self.unfinished = unfinished
        self.unfinished_of = unfinished.where(table.c.definition_name == bindparam("p_definition_name"))
        self.may_read = select(literal(1)).where(*by_key(table), readable(tables)).limit(1)
        self.save_nodes = upsert(dialect, node)
        self.save_many_nodes = upsert_many(dialect, node)
        of_instance = by_key(node, "instance_id")
        self.nodes = (
            select(node.c.document)
            .where(*of_instance)
            .order_by(node.c.started_at, node.c.sequence, node.c.id)
            .limit(bindparam("p_limit"))
            .offset(bindparam("p_offset"))
        )
        self.history = (
            select(node.c.document).where(*of_instance).order_by(node.c.started_at, node.c.sequence, node.c.id)
        )
        self.count_nodes = select(func.count()).select_from(node).where(*of_instance)


def _snapshot(
    tables: TableSet, wanted: Callable[[ColumnElement[str]], ColumnElement[bool]]
) -> CompoundSelect[*tuple[Any, ...]]:
    """Return the one statement that reads what waves of the wanted instances need, never the history (spec 8.10)."""
    instance, node, bookmark = tables.instances, tables.node_instances, tables.bookmarks
    nothing = [null().label(name) for name in rows.BOOKMARK_OVERLAY]
    overlay = [bookmark.c[name] for name in rows.BOOKMARK_OVERLAY]
    of_bookmarks = wanted(bookmark.c.instance_id), of_tenant(bookmark)
    of_instances = wanted(instance.c.id), of_tenant(instance)
    needed = union(
        select(bookmark.c.node_instance_id).where(*of_bookmarks),
        select(instance.c.fault_node_instance_id).where(*of_instances),
    ).subquery("needed")
    nodes = select(literal(_NODE).label("part"), node.c.document, *nothing)
    # Not by IN or OR: only so SQLite walks through the index of instance and status for many instances, too.
    active = [node.c.status == status for status in _ACTIVE]
    return union_all(
        select(literal(_BOOKMARK).label("part"), bookmark.c.document, *overlay).where(*of_bookmarks),
        select(literal(_INSTANCE).label("part"), instance.c.document, *nothing).where(*of_instances),
        *(nodes.where(wanted(node.c.instance_id), of_tenant(node), status) for status in active),
        # By primary key, so that a long history is not walked through.
        nodes.where(node.c.id.in_(select(needed.c.node_instance_id)), not_(or_(*active)), of_tenant(node)),
    )


@lru_cache(maxsize=8)
def statements(dialect: str, tenant: bool) -> Statements:
    """Return the statements for a dialect and a set of tables."""
    return Statements(dialect, TENANT_SET if tenant else PLATFORM_SET)


class SqlInstances:
    """The instance store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def _of(self, partition: Partition) -> Statements:
        return statements(self._transaction.dialect, partition is not None)

    def find(self, partition: Partition, instance_id: str) -> WorkflowInstance | None:
        """Return the instance, or None."""
        found = self._transaction.rows(self._of(partition).find, scope(partition, p_id=instance_id))
        return decode(found[0][0], WorkflowInstance) if found else None

    def snapshot(self, partition: Partition, instance_id: str) -> InstanceSnapshot | None:
        """Return what a wave works on, or None."""
        found = self._transaction.rows(self._of(partition).snapshot, scope(partition, p_instance_id=instance_id))
        return _snapshots(found).get(instance_id)

    def snapshots(self, partition: Partition, instance_ids: Sequence[str]) -> dict[str, InstanceSnapshot]:
        """Return what waves of several instances work on, by id."""
        if not instance_ids:
            return {}
        parameters = scope(partition, p_instance_ids=listed(self._transaction.dialect, instance_ids))
        return _snapshots(self._transaction.rows(self._of(partition).snapshots, parameters))

    def list(self, partition: Partition, query: InstanceQuery) -> Page[InstanceSummary]:
        """Return a page and the total."""
        dialect, tenant = self._transaction.dialect, partition is not None
        asked = asked_of(self._transaction, tenant, query)
        listing = listing_of(dialect, tenant, query, asked)
        found, total = read_page(self._transaction, listing, query.paging, scope(partition, **asked.parameters))
        return Page([rows.instance_summary(row) for row in found], total)

    def counts(self, partition: Partition, query: InstanceQuery) -> dict[str, int]:
        """Return the number of instances by status under the other filters."""
        dialect, tenant = self._transaction.dialect, partition is not None
        asked = asked_of(self._transaction, tenant, query)
        counting = counts_of(dialect, tenant, asked.filters)
        found = self._transaction.rows(counting, scope(partition, **asked.parameters))
        return {row[0]: row[1] for row in found}

    def children(self, partition: Partition, parent_instance_id: str) -> Sequence[InstanceSummary]:
        """Return the children, oldest first."""
        parameters = scope(partition, p_parent_instance_id=parent_instance_id)
        found = self._transaction.read(self._of(partition).children, parameters).mappings()
        return [rows.instance_summary(row) for row in found]

    def node_instances(self, partition: Partition, instance_id: str, paging: Paging = WHOLE) -> Page[NodeInstance]:
        """Return node instances in the order they started."""
        parameters = scope(partition, p_instance_id=instance_id)
        found = self._transaction.read(self._of(partition).nodes, {**parameters, **window(paging)}).scalars().all()
        total = total_of(self._transaction, paging, len(found), self._of(partition).count_nodes, parameters)
        return Page([decode(text, NodeInstance) for text in found], total)

    def history(self, partition: Partition, instance_id: str) -> Sequence[NodeInstance]:
        """Return all node instances in the order they started."""
        found = self._transaction.rows(self._of(partition).history, scope(partition, p_instance_id=instance_id))
        return [decode(text, NodeInstance) for (text,) in found]

    def find_unfinished(
        self, partition: Partition, correlation_id: str, definition_name: str | None = None
    ) -> InstanceSummary | None:
        """Return the oldest top-level instance of that correlation id that is Running or Suspended, or None."""
        statement, parameters = self._of(partition).unfinished, scope(partition, p_correlation_id=correlation_id)
        if definition_name is not None:
            statement = self._of(partition).unfinished_of
            parameters["p_definition_name"] = definition_name
        row = self._transaction.read(statement, parameters).mappings().first()
        return None if row is None else rows.instance_summary(row)

    def may_read(self, partition: Partition, instance_id: str, account_id: str) -> bool:
        """Whether the account started it, has or had a task of it, or got a copy."""
        parameters = scope(partition, p_id=instance_id, p_account=account_id)
        return bool(self._transaction.rows(self._of(partition).may_read, parameters))


def _snapshots(found: Sequence[Sequence[Any]]) -> dict[str, InstanceSnapshot]:
    """Return the snapshots that the rows of the one statement make, by the instances' ids."""
    instances = [decode(row[1], WorkflowInstance) for row in found if row[0] == _INSTANCE]
    made = {one.id: InstanceSnapshot(instance=one, node_instances=[], bookmarks=[]) for one in instances}
    for part, text, *overlay in found:
        # A row without its instance was read while that was being deleted.
        if part == _NODE:
            node = decode(text, NodeInstance)
            if node.instance_id in made:
                made[node.instance_id].node_instances.append(node)
        elif part == _BOOKMARK:
            bookmark = rows.bookmark_from(text, *overlay)
            if bookmark.instance_id in made:
                made[bookmark.instance_id].bookmarks.append(bookmark)
    for snapshot in made.values():
        snapshot.node_instances.sort(key=lambda node: (node.started_at, node.sequence, node.id))
        snapshot.bookmarks.sort(key=lambda bookmark: (bookmark.created_at, bookmark.sequence, bookmark.id))
    return made
