"""Bookmarks in SQL, user tasks among them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    Table,
    Text,
    Update,
    and_,
    bindparam,
    case,
    delete,
    func,
    or_,
    select,
    union,
    union_all,
    update,
)

from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.ports.queries import BookmarkSummary, DueBookmark, Page, TaskQuery, TaskSummary
from webapp.engine.ports.stores import Partition
from webapp.stores import rows
from webapp.stores.keywords import fold_keyword
from webapp.stores.ordering import Order, task_order
from webapp.stores.sql.claims import any_of, claim, free_claims, is_due, is_free
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant, contains, upsert
from webapp.stores.sql.queries import by_key, columns, of_tenant, order_by, total_of, window
from webapp.stores.sql.tables import PLATFORM_SET, SETS, TENANT_SET, TableSet

_TASK_SUMMARY = (
    "id",
    "instance_id",
    "node_id",
    "node_instance_id",
    "title",
    "instance_title",
    "definition_name",
    "definition_title",
    "key",
    "starter_id",
    "claimed_by",
    "correlation_id",
    "priority",
    "created_at",
    "task_due_at",
    "opened_at",
    "signers_done",
    "signers_total",
)
_SUMMARY = (
    "id",
    "kind",
    "key",
    "node_id",
    "node_instance_id",
    "due_at",
    "available_at",
    "correlation_id",
    "created_at",
)
_DUE = ("id", "tenant_id", "instance_id", "kind", "due_at", "sequence")


class Statements:
    """The statements over one set of tables in one dialect, built once."""

    def __init__(self, dialect: str, tables: TableSet) -> None:
        table = tables.bookmarks
        full = (table.c.document, *(table.c[name] for name in rows.BOOKMARK_OVERLAY))
        age = (table.c.created_at, table.c.sequence, table.c.id)
        due = (table.c.due_at, table.c.sequence, table.c.id)
        self.find = select(*full).where(*by_key(table))
        self.by_instance = select(*full).where(*by_key(table, "instance_id")).order_by(*age)
        self.summaries = (
            select(*(table.c[name] for name in _SUMMARY)).where(*by_key(table, "instance_id")).order_by(*age)
        )
        self.by_kind_and_key = (
            select(*full).where(*by_key(table, "key"), table.c.kind == bindparam("p_kind")).order_by(*age)
        )
        self.due = select(*full).where(is_due(table), of_tenant(table)).order_by(*due).limit(bindparam("p_limit"))
        self.claimable = (
            select(*columns(table, *_DUE))
            .where(*_claimable(table))
            .order_by(*due)
            .limit(bindparam("p_limit"))
            .with_for_update(skip_locked=True)
        )
        self.mark_opened = (
            update(table)
            .where(*by_key(table), table.c.opened_at.is_(None))
            .values(opened_at=bindparam("p_at", type_=Instant()))
        )
        record = tables.task_records
        self.mark_record_opened = (
            update(record)
            .where(*by_key(record, "task_id"), record.c.ended_at.is_(None))
            .values(opened_at=bindparam("p_at", type_=Instant()))
        )
        self.push_back = (
            update(table)
            .where(*by_key(table))
            .values(
                due_at=bindparam("p_due_at", type_=Instant()),
                original_due_at=func.coalesce(table.c.original_due_at, table.c.due_at),
                failures=bindparam("p_failures"),
                claim_token=None,
                claimed_until=None,
            )
        )
        self.delete = delete(table).where(*by_key(table))
        self.delete_of_instance = delete(table).where(*by_key(table, "instance_id"))
        self.save = upsert(dialect, table)
        self.follow = _follow(tables)


def _claimable(table: Table) -> Sequence[ColumnElement[bool]]:
    return is_due(table), is_free(table), table.c.kind.in_(bindparam("p_kinds", expanding=True))


def _follow(tables: TableSet) -> Update:
    """Return the statement by which an instance's bookmark rows take over its columns (spec 8.4)."""
    table = tables.bookmarks
    new = {name: bindparam(f"p_{name}", type_=table.c[name].type) for name in rows.INSTANCE_COLUMNS_OF_BOOKMARK}
    correlation = bindparam("p_correlation_id", type_=table.c.correlation_id.type)
    # Only user tasks show their instance's correlation id; a signal's own stays.
    is_task = table.c.kind == BookmarkKind.USER_TASK.value
    differs = [table.c[name].is_distinct_from(value) for name, value in new.items()]
    differs.append(and_(is_task, table.c.correlation_id.is_distinct_from(correlation)))
    shown = case((is_task, correlation), else_=table.c.correlation_id)
    return update(table).where(*by_key(table, "instance_id"), or_(*differs)).values(**new, correlation_id=shown)


@lru_cache(maxsize=8)
def statements(dialect: str, tenant: bool) -> Statements:
    """Return the statements for a dialect and a set of tables."""
    return Statements(dialect, TENANT_SET if tenant else PLATFORM_SET)


class SqlBookmarks:
    """The bookmark store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def _of(self, partition: Partition) -> Statements:
        return statements(self._transaction.dialect, partition is not None)

    def find(self, partition: Partition, bookmark_id: str) -> Bookmark | None:
        """Return the bookmark, or None."""
        row = self._transaction.read(self._of(partition).find, scope(partition, p_id=bookmark_id)).first()
        return None if row is None else rows.bookmark_from(*row)

    def by_instance(self, partition: Partition, instance_id: str) -> Sequence[Bookmark]:
        """Return all bookmarks of the instance, oldest first."""
        return self._bookmarks(self._of(partition).by_instance, scope(partition, p_instance_id=instance_id))

    def summaries(self, partition: Partition, instance_id: str) -> Sequence[BookmarkSummary]:
        """Return all waiting points of the instance, oldest first."""
        parameters = scope(partition, p_instance_id=instance_id)
        found = self._transaction.read(self._of(partition).summaries, parameters).mappings()
        return [rows.bookmark_summary(row) for row in found]

    def by_kind_and_key(self, partition: Partition, kind: BookmarkKind, key: str) -> Sequence[Bookmark]:
        """Return the bookmarks of that kind and key, oldest first."""
        return self._bookmarks(self._of(partition).by_kind_and_key, scope(partition, p_kind=kind.value, p_key=key))

    def due(self, partition: Partition, now: datetime, limit: int) -> Sequence[Bookmark]:
        """Return the due bookmarks, longest due first."""
        return self._bookmarks(self._of(partition).due, scope(partition, p_now=now, p_limit=limit))

    def list_tasks(self, partition: Partition, query: TaskQuery) -> Page[TaskSummary]:
        """Return open user tasks and the total."""
        filters = _filters(query)
        page, count = _list_statements(partition is not None, frozenset(filters), task_order(query.paging.sorts))
        parameters = scope(partition, **filters)
        found = self._transaction.read(page, {**parameters, **window(query.paging)}).mappings().all()
        total = total_of(self._transaction, query.paging, len(found), count, parameters)
        return Page([rows.task_summary(row) for row in found], total)

    def count_tasks(self, partition: Partition, query: TaskQuery) -> int:
        """Return the number of open user tasks."""
        filters = _filters(query)
        _, count = _list_statements(partition is not None, frozenset(filters), task_order(()))
        total: int = self._transaction.read(count, scope(partition, **filters)).scalar_one()
        return total

    def mark_opened(self, partition: Partition, task_id: str, at: datetime) -> None:
        """Note the first opening, on the task and on its open round."""
        statement = self._of(partition)
        if self._transaction.write(statement.mark_opened, scope(partition, p_id=task_id, p_at=at)).rowcount:
            self._transaction.write(statement.mark_record_opened, scope(partition, p_task_id=task_id, p_at=at))

    def any_due(self, now: datetime, kinds: Sequence[BookmarkKind]) -> bool:
        """Whether there is something to claim."""
        parameters = {"p_now": now, "p_kinds": [kind.value for kind in kinds]}
        return bool(self._transaction.read(_ANY_DUE, parameters).scalar())

    def claim_due(
        self, now: datetime, limit: int, token: str, until: datetime, kinds: Sequence[BookmarkKind]
    ) -> Sequence[DueBookmark]:
        """Claim due bookmarks of all partitions; the claim stands from the commit on."""
        parameters = {"p_now": now, "p_limit": limit, "p_kinds": [kind.value for kind in kinds]}
        found = [
            (tables.bookmarks, row)
            for tables in SETS
            for row in self._transaction.read(self._of_set(tables).claimable, parameters).mappings()
        ]
        found.sort(key=lambda item: (item[1]["due_at"], item[1]["sequence"], item[1]["id"]))
        claim(self._transaction, found[:limit], token, until)
        return [rows.due_bookmark(row) for _, row in found[:limit]]

    def release_claims(self, token_prefix: str) -> int:
        """Free every claim whose token begins so."""
        return sum(free_claims(self._transaction, tables.bookmarks, token_prefix) for tables in SETS)

    def claim_tokens(self) -> Sequence[str]:
        """Return the distinct tokens of claims, of follow-ups too."""
        return self._transaction.read(_CLAIM_TOKENS).scalars().all()

    def push_back(self, partition: Partition, bookmark_id: str, due_at: datetime, failures: int) -> None:
        """Set a new due time and drop the claim."""
        parameters = scope(partition, p_id=bookmark_id, p_due_at=due_at, p_failures=failures)
        self._transaction.write(self._of(partition).push_back, parameters)

    def delete(self, partition: Partition, bookmark_ids: Sequence[str]) -> None:
        """Delete bookmarks."""
        if bookmark_ids:
            keys = [scope(partition, p_id=bookmark_id) for bookmark_id in bookmark_ids]
            self._transaction.write(self._of(partition).delete, keys)

    def next_due(self) -> datetime | None:
        """Return the earliest due time of unclaimed bookmarks."""
        return self._transaction.read(_NEXT_DUE).scalar()

    def _of_set(self, tables: TableSet) -> Statements:
        return statements(self._transaction.dialect, tables.tenant)

    def _bookmarks(self, statement: Select[*tuple[Any, ...]], parameters: dict[str, Any]) -> list[Bookmark]:
        return [rows.bookmark_from(*row) for row in self._transaction.read(statement, parameters)]


def _claim_tokens() -> Select[*tuple[Any, ...]]:
    claimed = [
        select(table.c.claim_token.label("token")).where(table.c.claim_token.is_not(None))
        for tables in SETS
        for table in (tables.bookmarks, tables.follow_ups)
    ]
    found = union(*claimed).subquery()
    return select(found.c.token).order_by(found.c.token)


def _next_due() -> Select[*tuple[Any, ...]]:
    earliest = [
        select(func.min(table.c.due_at, type_=Instant()).label("due_at")).where(
            table.c.due_at.is_not(None), table.c.claim_token.is_(None)
        )
        for table in (tables.bookmarks for tables in SETS)
    ]
    found = union_all(*earliest).subquery()
    return select(func.min(found.c.due_at, type_=Instant()))


_ANY_DUE = any_of((tables.bookmarks, _claimable(tables.bookmarks)) for tables in SETS)
_CLAIM_TOKENS = _claim_tokens()
_NEXT_DUE = _next_due()


def _filters(query: TaskQuery) -> dict[str, Any]:
    """Return the parameters of the filters in use; their names choose the conditions."""
    values: dict[str, Any] = {
        "p_key": query.assignee,
        "p_definition_name": query.definition_name,
        "p_instance_id": query.instance_id,
        "p_keyword": fold_keyword(query.keyword),
        "p_created_from": query.created_from,
        "p_created_to": query.created_to,
        "p_due_before": query.due_before,
    }
    result = {name: value for name, value in values.items() if value is not None}
    if query.instance_ids is not None:
        result["p_instance_ids"] = list(query.instance_ids)
    if query.mine is not None:
        result["p_mine"] = query.mine[0] if query.mine else None
    if query.claimable is not None:
        result["p_me"] = query.claimable[0] if query.claimable else None
        result["p_principals"] = list(query.claimable)
    return result


@lru_cache(maxsize=256)
def _list_statements(
    tenant: bool, filters: frozenset[str], order: tuple[Order, ...]
) -> tuple[Select[*tuple[Any, ...]], Select[*tuple[Any, ...]]]:
    tables = TENANT_SET if tenant else PLATFORM_SET
    table = tables.bookmarks
    conditions = [
        table.c.kind == BookmarkKind.USER_TASK.value,
        table.c.instance_status == "Running",
        of_tenant(table),
        *_conditions(tables, filters),
    ]
    page = (
        select(*(table.c[name] for name in _TASK_SUMMARY))
        .where(*conditions)
        .order_by(*order_by(table, order))
        .limit(bindparam("p_limit"))
        .offset(bindparam("p_offset"))
    )
    return page, select(func.count()).select_from(table).where(*conditions)


def _conditions(tables: TableSet, filters: frozenset[str]) -> list[ColumnElement[bool]]:
    column = tables.bookmarks.c
    keyword = bindparam("p_keyword", type_=Text())
    mine = bindparam("p_mine", type_=column.key.type)
    known: dict[str, ColumnElement[bool]] = {
        "p_key": column.key == bindparam("p_key"),
        "p_definition_name": column.definition_name == bindparam("p_definition_name"),
        "p_instance_id": column.instance_id == bindparam("p_instance_id"),
        "p_instance_ids": column.instance_id.in_(bindparam("p_instance_ids", expanding=True)),
        "p_keyword": or_(contains(column.search_title, keyword), contains(column.search_instance_text, keyword)),
        "p_created_from": column.created_at >= bindparam("p_created_from", type_=Instant()),
        "p_created_to": column.created_at < bindparam("p_created_to", type_=Instant()),
        "p_due_before": column.task_due_at < bindparam("p_due_before", type_=Instant()),
        "p_mine": and_(column.key == mine, or_(column.claimed_by.is_(None), column.claimed_by == mine)),
        "p_me": and_(
            column.claimed_by.is_(None),
            column.key.in_(bindparam("p_principals", expanding=True)),
            or_(column.claimable, column.key != bindparam("p_me", type_=column.key.type)),
        ),
    }
    return [known[name] for name in sorted(filters) if name in known]
