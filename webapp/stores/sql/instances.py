"""Instances and node instances in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Select,
    Text,
    bindparam,
    func,
    literal,
    null,
    select,
    union,
    union_all,
    update,
)

from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.model import NodeInstance, WorkflowInstance
from webapp.engine.numbers import decode
from webapp.engine.ports.queries import InstanceQuery, InstanceSummary, Page, Paging
from webapp.engine.ports.stores import WHOLE, InstanceSnapshot, Partition
from webapp.stores import rows
from webapp.stores.keywords import fold_keyword
from webapp.stores.ordering import Order, instance_order
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant, contains, upsert
from webapp.stores.sql.purge import purge
from webapp.stores.sql.queries import by_key, of_tenant, order_by, total_of, window
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET, TableSet

_ACTIVE = ("Running", "Suspended")
_SUMMARY = (
    "id",
    "definition_id",
    "definition_name",
    "definition_version",
    "title",
    "status",
    "correlation_id",
    "starter_id",
    "parent_instance_id",
    "root_instance_id",
    "created_at",
    "started_at",
    "ended_at",
    "fault",
    "fault_node_id",
    "cancellation_reason",
    "outcome",
    "revision",
)
_BOOKMARK, _INSTANCE, _NODE = 1, 2, 3


class Statements:
    """The statements over one set of tables in one dialect, built once."""

    def __init__(self, dialect: str, tables: TableSet) -> None:
        table = tables.instances
        node = tables.node_instances
        summary = [table.c[name] for name in _SUMMARY]
        age = (table.c.created_at, table.c.sequence, table.c.id)
        self.find = select(table.c.document).where(*by_key(table))
        self.snapshot = _snapshot(tables)
        self.insert = upsert(dialect, table, replace=False)
        self.update = update(table).where(*by_key(table), table.c.revision == bindparam("p_revision"))
        self.written = select(table.c.revision, table.c.command_id).where(*by_key(table))
        self.columns = select(table.c.document).where(
            table.c.id.in_(bindparam("p_ids", expanding=True)), of_tenant(table)
        )
        self.children = select(*summary).where(*by_key(table, "parent_instance_id")).order_by(*age)
        self.unfinished = (
            select(*summary)
            .where(*by_key(table, "correlation_id"), table.c.status.in_(_ACTIVE), table.c.parent_instance_id.is_(None))
            .order_by(*age)
            .limit(1)
        )
        self.may_read = select(literal(1)).where(*by_key(table), _readable(tables)).limit(1)
        self.save_nodes = upsert(dialect, node)
        of_instance = by_key(node, "instance_id")
        self.nodes = (
            select(node.c.document)
            .where(*of_instance)
            .order_by(node.c.started_at, node.c.sequence, node.c.id)
            .limit(bindparam("p_limit"))
            .offset(bindparam("p_offset"))
        )
        self.count_nodes = select(func.count()).select_from(node).where(*of_instance)


def _snapshot(tables: TableSet) -> CompoundSelect[*tuple[Any, ...]]:
    """Return the one statement that reads what a wave needs, never the history (spec 8.10)."""
    instance, node, bookmark = tables.instances, tables.node_instances, tables.bookmarks
    nothing = [null().label(name) for name in rows.BOOKMARK_OVERLAY]
    overlay = [bookmark.c[name] for name in rows.BOOKMARK_OVERLAY]
    of_bookmarks = by_key(bookmark, "instance_id")
    needed = union(
        select(bookmark.c.node_instance_id).where(*of_bookmarks),
        select(instance.c.fault_node_instance_id).where(
            instance.c.id == bindparam("p_instance_id"), of_tenant(instance)
        ),
    ).subquery("needed")
    nodes = select(literal(_NODE).label("part"), node.c.document, *nothing)
    return union_all(
        select(literal(_BOOKMARK).label("part"), bookmark.c.document, *overlay).where(*of_bookmarks),
        select(literal(_INSTANCE).label("part"), instance.c.document, *nothing).where(
            instance.c.id == bindparam("p_instance_id"), of_tenant(instance)
        ),
        nodes.where(*by_key(node, "instance_id"), node.c.status.in_(_ACTIVE)),
        # By primary key, so that a long history is not walked through.
        nodes.where(node.c.id.in_(select(needed.c.node_instance_id)), node.c.status.not_in(_ACTIVE), of_tenant(node)),
    )


def _readable(tables: TableSet) -> ColumnElement[bool]:
    """Return the condition that the account may read the instance: starter, assignee ever, copied (spec 6.7)."""
    instance, record, copy = tables.instances, tables.task_records, tables.task_copies
    account = bindparam("p_account", type_=Text())
    own = instance.alias("own")
    # One list of ids made from four indexes, so that the instances are not walked through.
    readable = union(
        select(own.c.id).where(own.c.starter_id == account, of_tenant(own)),
        select(record.c.instance_id).where(record.c.assignee_id == account, of_tenant(record)),
        select(record.c.instance_id).where(record.c.actor_id == account, of_tenant(record)),
        select(copy.c.instance_id).where(copy.c.user_id == account, of_tenant(copy)),
    )
    return instance.c.id.in_(readable)


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
        text = self._transaction.read(self._of(partition).find, scope(partition, p_id=instance_id)).scalar()
        return None if text is None else decode(text, WorkflowInstance)

    def snapshot(self, partition: Partition, instance_id: str) -> InstanceSnapshot | None:
        """Return what a wave works on, or None."""
        found = self._transaction.read(self._of(partition).snapshot, scope(partition, p_instance_id=instance_id))
        instance: WorkflowInstance | None = None
        nodes: list[NodeInstance] = []
        bookmarks: list[Bookmark] = []
        for part, text, due_at, original_due_at, failures, opened_at in found:
            if part == _NODE:
                nodes.append(decode(text, NodeInstance))
            elif part == _BOOKMARK:
                bookmarks.append(rows.bookmark_from(text, due_at, original_due_at, failures, opened_at))
            else:
                instance = decode(text, WorkflowInstance)
        if instance is None:
            return None
        nodes.sort(key=lambda node: (node.started_at, node.sequence, node.id))
        bookmarks.sort(key=lambda bookmark: (bookmark.created_at, bookmark.sequence, bookmark.id))
        return InstanceSnapshot(instance=instance, node_instances=nodes, bookmarks=bookmarks)

    def list(self, partition: Partition, query: InstanceQuery) -> Page[InstanceSummary]:
        """Return a page and the total."""
        filters = _filters(query)
        page, count, _ = _list_statements(
            partition is not None, frozenset(filters), query.top_level_only, instance_order(query.paging.sorts)
        )
        parameters = scope(partition, **filters)
        found = self._transaction.read(page, {**parameters, **window(query.paging)}).mappings().all()
        total = total_of(self._transaction, query.paging, len(found), count, parameters)
        return Page([rows.instance_summary(row) for row in found], total)

    def counts(self, partition: Partition, query: InstanceQuery) -> dict[str, int]:
        """Return the number of instances by status under the other filters."""
        filters = _filters(query)
        filters.pop("p_statuses", None)
        _, _, counts = _list_statements(
            partition is not None, frozenset(filters), query.top_level_only, instance_order(())
        )
        found = self._transaction.read(counts, scope(partition, **filters))
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

    def find_unfinished(self, partition: Partition, correlation_id: str) -> InstanceSummary | None:
        """Return the oldest top-level instance of that correlation id that is Running or Suspended, or None."""
        parameters = scope(partition, p_correlation_id=correlation_id)
        row = self._transaction.read(self._of(partition).unfinished, parameters).mappings().first()
        return None if row is None else rows.instance_summary(row)

    def may_read(self, partition: Partition, instance_id: str, account_id: str) -> bool:
        """Whether the account started it, has or had a task of it, or got a copy."""
        parameters = scope(partition, p_id=instance_id, p_account=account_id)
        return self._transaction.read(self._of(partition).may_read, parameters).first() is not None

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete up to *limit* whole ended trees, the oldest end first; return the number of instances."""
        return purge(self._transaction, partition, before, limit)


def _version(version: int | None) -> int | None:
    """Return a number that the column can be compared with; none but those within bounds is ever found."""
    return None if version is None else min(max(version, 0), 2**31 - 1)


def _filters(query: InstanceQuery) -> dict[str, Any]:
    """Return the parameters of the filters in use; their names choose the conditions."""
    values: dict[str, str | int | datetime | list[str] | None] = {
        "p_statuses": [status.value for status in query.statuses] or None,
        "p_definition_name": query.definition_name,
        "p_definition_version": _version(query.definition_version),
        "p_definition_id": query.definition_id,
        "p_correlation_id": query.correlation_id,
        "p_correlation_ids": None if query.correlation_ids is None else list(query.correlation_ids),
        "p_starter_id": query.starter_id,
        "p_parent_instance_id": query.parent_instance_id,
        "p_keyword": fold_keyword(query.keyword),
        "p_created_from": query.created_from,
        "p_created_to": query.created_to,
        "p_ended_from": query.ended_from,
        "p_ended_to": query.ended_to,
        "p_account": query.readable_by,
    }
    return {name: value for name, value in values.items() if value is not None}


@lru_cache(maxsize=256)
def _list_statements(
    tenant: bool, filters: frozenset[str], top_level_only: bool, order: tuple[Order, ...]
) -> tuple[Select[*tuple[Any, ...]], Select[*tuple[Any, ...]], Select[*tuple[Any, ...]]]:
    tables = TENANT_SET if tenant else PLATFORM_SET
    table = tables.instances
    conditions = [of_tenant(table), *_conditions(tables, filters)]
    if top_level_only:
        conditions.append(table.c.parent_instance_id.is_(None))
    page = (
        select(*(table.c[name] for name in _SUMMARY))
        .where(*conditions)
        .order_by(*order_by(table, order))
        .limit(bindparam("p_limit"))
        .offset(bindparam("p_offset"))
    )
    count = select(func.count()).select_from(table).where(*conditions)
    counts = select(table.c.status, func.count()).where(*conditions).group_by(table.c.status)
    return page, count, counts


def _conditions(tables: TableSet, filters: frozenset[str]) -> list[ColumnElement[bool]]:
    column = tables.instances.c
    equal = ("definition_name", "definition_version", "definition_id", "correlation_id", "starter_id")
    known: dict[str, ColumnElement[bool]] = {
        f"p_{name}": column[name] == bindparam(f"p_{name}") for name in (*equal, "parent_instance_id")
    }
    known |= {
        "p_statuses": column.status.in_(bindparam("p_statuses", expanding=True)),
        "p_correlation_ids": column.correlation_id.in_(bindparam("p_correlation_ids", expanding=True)),
        "p_keyword": contains(column.search_text, bindparam("p_keyword", type_=Text())),
        "p_created_from": column.created_at >= bindparam("p_created_from", type_=Instant()),
        "p_created_to": column.created_at < bindparam("p_created_to", type_=Instant()),
        "p_ended_from": column.ended_at >= bindparam("p_ended_from", type_=Instant()),
        "p_ended_to": column.ended_at < bindparam("p_ended_to", type_=Instant()),
        "p_account": _readable(tables),
    }
    return [known[name] for name in sorted(filters)]
