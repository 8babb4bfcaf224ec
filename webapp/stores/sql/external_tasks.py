"""External tasks in SQL: fetching locks rows by one conditional update (spec 6.7)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Select,
    Table,
    Text,
    Update,
    bindparam,
    literal,
    or_,
    select,
    union_all,
    update,
)

from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.ports.external_tasks import LockedTask, TopicLock
from webapp.engine.ports.stores import Partition
from webapp.stores import rows
from webapp.stores.rows import Row
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant, can_update_returning
from webapp.stores.sql.queries import TASK, by_key, of_tenant
from webapp.stores.sql.tables import table_set

_TOKEN = bindparam("p_token", type_=Text())
_WORKER = bindparam("p_worker", type_=Text())


class SqlExternalTasks:
    """The store of external tasks."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def any_available(self, partition: Partition, topics: Sequence[str], now: datetime) -> bool:
        """Whether there is something to lock."""
        parameters = scope(partition, p_topics=list(topics), p_now=now)
        return bool(self._transaction.read(_any_available(partition is not None), parameters).scalar())

    def lock_available(
        self,
        partition: Partition,
        topics: Sequence[TopicLock],
        now: datetime,
        limit: int,
        worker_id: str,
        token: str,
    ) -> Sequence[LockedTask]:
        """Lock up to *limit* tasks and return them, oldest first."""
        parameters = scope(partition, p_now=now, p_limit=limit, p_worker=worker_id, p_token=token)
        for number, asked in enumerate(topics):
            parameters |= {f"p_topic_{number}": asked.topic, f"p_until_{number}": asked.until}
        found = self._locked(partition is not None, len(topics), parameters)
        locked = [
            LockedTask(
                bookmark=rows.bookmark_from(row["document"], *(row[name] for name in rows.BOOKMARK_OVERLAY)),
                definition_name=row["definition_name"] or "",
            )
            for row in found
        ]
        return sorted(locked, key=lambda one: (one.bookmark.created_at, one.bookmark.sequence, one.bookmark.id))

    def _locked(self, tenant: bool, topics: int, parameters: Row) -> list[Row]:
        if can_update_returning(self._transaction.dialect):
            return [
                dict(row) for row in self._transaction.write_returning(_lock(tenant, topics), parameters).mappings()
            ]
        table = _bookmarks(tenant)
        found = [
            {**row, "available_at": parameters[f"p_until_{number}"]}
            for number in range(topics)
            for row in self._transaction.read(_locked_choice(tenant, number), parameters).mappings()
        ]
        found.sort(key=lambda row: (row["created_at"], row["sequence"], row["id"]))
        marks = {"worker_id": parameters["p_worker"], "lock_token": parameters["p_token"]}
        chosen = [{**row, **marks} for row in found[: parameters["p_limit"]]]
        for until in sorted({row["available_at"] for row in chosen}):
            ids = [row["id"] for row in chosen if row["available_at"] == until]
            self._transaction.write(_mark(table), {**parameters, "p_ids": ids, "p_available_at": until})
        return chosen


def _available(table: Table) -> Sequence[ColumnElement[bool]]:
    return (
        table.c.kind == BookmarkKind.EXTERNAL_TASK.value,
        table.c.kind != TASK,
        or_(table.c.available_at.is_(None), table.c.available_at <= bindparam("p_now", type_=Instant())),
        table.c.instance_status == "Running",
        of_tenant(table),
    )


@lru_cache(maxsize=4)
def _any_available(tenant: bool) -> Select[*tuple[Any, ...]]:
    table = _bookmarks(tenant)
    topics = table.c.key.in_(bindparam("p_topics", expanding=True))
    return select(select(literal(1)).where(topics, *_available(table)).exists())


@lru_cache(maxsize=64)
def _lock(tenant: bool, topics: int) -> Update:
    """Return the one statement: what is chosen is locked, passed over where another holds it, and marked.

    Each topic is walked through by its own index range, and no further than the limit.
    """
    table = _bookmarks(tenant)
    chosen = [_choice(table, number).cte(f"topic_{number}") for number in range(topics)]
    picked = chosen[0] if topics == 1 else _oldest(chosen).cte("picked")
    return (
        update(table)
        .where(table.c.id == picked.c.id)
        .values(worker_id=_WORKER, lock_token=_TOKEN, available_at=picked.c.until)
        .returning(*_returned(table))
    )


def _returned(table: Table) -> Sequence[ColumnElement[Any]]:
    return (table.c.document, table.c.definition_name, *(table.c[name] for name in rows.BOOKMARK_OVERLAY))


def _choice(table: Table, number: int) -> Select[*tuple[Any, ...]]:
    until = bindparam(f"p_until_{number}", type_=Instant())
    return (
        select(table.c.id, table.c.created_at, table.c.sequence, until.label("until"))
        .where(table.c.key == bindparam(f"p_topic_{number}", type_=table.c.key.type), *_available(table))
        .order_by(table.c.created_at, table.c.sequence, table.c.id)
        .limit(bindparam("p_limit"))
        .with_for_update(skip_locked=True)
    )


@lru_cache(maxsize=64)
def _locked_choice(tenant: bool, number: int) -> Select[*tuple[Any, ...]]:
    """Return what locks the rows of one topic for a database whose UPDATE returns nothing."""
    table = _bookmarks(tenant)
    shown = (table.c.id, table.c.created_at, table.c.sequence, *_returned(table))
    return _choice(table, number).with_only_columns(*shown)


@lru_cache(maxsize=4)
def _mark(table: Table) -> Update:
    return (
        update(table)
        .where(table.c.id.in_(bindparam("p_ids", expanding=True)))
        .values(worker_id=_WORKER, lock_token=_TOKEN, available_at=bindparam("p_available_at", type_=Instant()))
    )


def _oldest(chosen: Sequence[CTE]) -> Select[*tuple[Any, ...]]:
    found = union_all(*(select(one.c.id, one.c.created_at, one.c.sequence, one.c.until) for one in chosen)).subquery()
    age = (found.c.created_at, found.c.sequence, found.c.id)
    return select(found.c.id, found.c.until).order_by(*age).limit(bindparam("p_limit"))


@lru_cache(maxsize=4)
def change_lock(tenant: bool) -> Update:
    """Return the statement that gives a lock back or moves it, while it is still the one that was read."""
    table = _bookmarks(tenant)
    return (
        update(table)
        .where(*by_key(table), table.c.lock_token.is_not_distinct_from(bindparam("p_expected", type_=Text())))
        .values(worker_id=_WORKER, lock_token=_TOKEN, available_at=bindparam("p_available_at", type_=Instant()))
    )


def _bookmarks(tenant: bool) -> Table:
    return table_set("" if tenant else None).bookmarks
