"""Bookmarks in SQL, user tasks among them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    Update,
    and_,
    bindparam,
    case,
    delete,
    func,
    or_,
    select,
    union,
    update,
)

from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind, Lane
from webapp.engine.ports.queries import BookmarkSummary, DueBookmark, Page, TaskQuery, TaskSummary
from webapp.engine.ports.stores import Partition
from webapp.stores import rows
from webapp.stores.sql import task_lists
from webapp.stores.sql.claims import (
    any_of,
    claim,
    earliest_of,
    free_claims,
    give_back,
    is_due,
    is_free,
    of_lanes,
    of_served,
    sets_but,
    tenants_of,
)
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant, upsert
from webapp.stores.sql.listing import read_page
from webapp.stores.sql.queries import TASK, by_key, columns, of_tenant
from webapp.stores.sql.tables import PLATFORM_SET, SETS, TENANT_SET, TableSet

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
    "failures",
)
_DUE = ("id", "tenant_id", "instance_id", "kind", "key", "due_at", "failures", "sequence")


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
        of_key = select(*full).where(*by_key(table, "key")).order_by(*age)
        self.tasks_by_key = of_key.where(table.c.kind == TASK)
        self.by_kind_and_key = of_key.where(table.c.kind == bindparam("p_kind"), table.c.kind != TASK)
        self.due = select(*full).where(is_due(table), of_tenant(table)).order_by(*due).limit(bindparam("p_limit"))
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
        self.save = upsert(dialect, table, kept=rows.LOCK_COLUMNS)
        self.follow = _follow(tables)


def _claimable(tables: TableSet, lanes: Sequence[Lane], some_without: bool) -> Sequence[ColumnElement[bool]]:
    table = tables.bookmarks
    others = of_served(tables, table, some_without=some_without)
    return is_due(table), is_free(table), of_lanes(table, lanes), *others


@lru_cache(maxsize=32)
def _claim_statement(tenant: bool, lanes: tuple[Lane, ...], some_without: bool) -> Select[*tuple[Any, ...]]:
    tables = TENANT_SET if tenant else PLATFORM_SET
    table = tables.bookmarks
    return (
        select(*columns(table, *_DUE))
        .where(*_claimable(tables, lanes, some_without))
        .order_by(table.c.due_at, table.c.sequence, table.c.id)
        .limit(bindparam("p_limit"))
        .with_for_update(skip_locked=True)
    )


@lru_cache(maxsize=32)
def _any_statement(platform: bool, lanes: tuple[Lane, ...], some_without: bool) -> Select[*tuple[Any, ...]]:
    chosen = SETS if platform else (TENANT_SET,)
    return any_of((tables.bookmarks, _claimable(tables, lanes, some_without)) for tables in chosen)


@lru_cache(maxsize=32)
def _next_statement(platform: bool, lanes: tuple[Lane, ...], some_without: bool) -> Select[*tuple[Any, ...]]:
    places = []
    for tables in SETS if platform else (TENANT_SET,):
        table = tables.bookmarks
        others = of_served(tables, table, some_without=some_without)
        places.append((table, (of_lanes(table, lanes), *others)))
    return earliest_of(places)


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
        found = self._transaction.rows(self._of(partition).find, scope(partition, p_id=bookmark_id))
        return rows.bookmark_from(*found[0]) if found else None

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
        if kind is BookmarkKind.USER_TASK:
            return self._bookmarks(self._of(partition).tasks_by_key, scope(partition, p_key=key))
        return self._bookmarks(self._of(partition).by_kind_and_key, scope(partition, p_kind=kind.value, p_key=key))

    def due(self, partition: Partition, now: datetime, limit: int) -> Sequence[Bookmark]:
        """Return the due bookmarks, longest due first."""
        return self._bookmarks(self._of(partition).due, scope(partition, p_now=now, p_limit=limit))

    def list_tasks(self, partition: Partition, query: TaskQuery) -> Page[TaskSummary]:
        """Return open user tasks and the total."""
        dialect, tenant = self._transaction.dialect, partition is not None
        asked = task_lists.asked_of(self._transaction, tenant, query)
        listing = task_lists.listing_of(dialect, tenant, query, asked)
        found, total = read_page(self._transaction, listing, query.paging, scope(partition, **asked.parameters))
        return Page([rows.task_summary(row) for row in found], total)

    def count_tasks(self, partition: Partition, query: TaskQuery) -> int:
        """Return the number of open user tasks."""
        dialect, tenant = self._transaction.dialect, partition is not None
        asked = task_lists.asked_of(self._transaction, tenant, query)
        count = task_lists.count_of(dialect, tenant, asked.filters)
        total: int = self._transaction.rows(count, scope(partition, **asked.parameters))[0][0]
        return total

    def mark_opened(self, partition: Partition, task_id: str, at: datetime) -> None:
        """Note the first opening, on the task and on its open round."""
        statement = self._of(partition)
        if self._transaction.write(statement.mark_opened, scope(partition, p_id=task_id, p_at=at)).rowcount:
            self._transaction.write(statement.mark_record_opened, scope(partition, p_task_id=task_id, p_at=at))

    def any_due(self, now: datetime, lanes: Sequence[Lane], without: Collection[Partition] = ()) -> bool:
        """Whether there is something to claim."""
        tenants = tenants_of(without)
        statement = _any_statement(None not in without, tuple(lanes), bool(tenants))
        parameters = {"p_now": now, **({"p_without": tenants} if tenants else {})}
        return bool(self._transaction.read(statement, parameters).scalar())

    def claim_due(
        self,
        now: datetime,
        limit: int,
        token: str,
        until: datetime,
        lanes: Sequence[Lane],
        without: Collection[Partition] = (),
    ) -> Sequence[DueBookmark]:
        """Claim due bookmarks of all partitions but some; the claim stands from the commit on."""
        tenants = tenants_of(without)
        found = []
        for tables in sets_but(without):
            some_without = tables.tenant and bool(tenants)
            parameters = {"p_now": now, "p_limit": limit, **({"p_without": tenants} if some_without else {})}
            statement = _claim_statement(tables.tenant, tuple(lanes), some_without)
            found += [(tables.bookmarks, row) for row in self._transaction.read(statement, parameters).mappings()]
        found.sort(key=lambda item: (item[1]["due_at"], item[1]["sequence"], item[1]["id"]))
        claim(self._transaction, found[:limit], token, until)
        return [rows.due_bookmark(row) for _, row in found[:limit]]

    def give_back(self, token: str, bookmark_ids: Sequence[str]) -> int:
        """Free the claims of these bookmarks."""
        if not bookmark_ids:
            return 0
        return sum(give_back(self._transaction, tables.bookmarks, token, bookmark_ids) for tables in SETS)

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

    def next_due(self, lanes: Sequence[Lane], without: Collection[Partition] = ()) -> datetime | None:
        """Return the earliest due time of unclaimed bookmarks."""
        tenants = tenants_of(without)
        statement = _next_statement(None not in without, tuple(lanes), bool(tenants))
        return self._transaction.read(statement, {"p_without": tenants} if tenants else {}).scalar()

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


_CLAIM_TOKENS = _claim_tokens()
