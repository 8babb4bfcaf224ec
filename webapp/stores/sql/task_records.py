"""Task records in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, Text, bindparam, func, or_, select, update

from webapp.engine.instances.journal import EndReason, TaskRecord
from webapp.engine.ports.queries import DoneTaskSummary, Page, Paging
from webapp.engine.ports.stores import Partition
from webapp.stores import journal_rows
from webapp.stores.keywords import fold_keyword
from webapp.stores.ordering import DONE_ORDER
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import contains, upsert
from webapp.stores.sql.queries import by_key, columns, of_tenant, order_by, total_of, window
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET, TableSet

_FOLDED = ("title_sort_key", "search_title", "search_instance_text")
_END = ("ended_at", "end_reason", "actor_id", "on_behalf_of", "as_operator", "outcome", "comment")


class Statements:
    """The statements over one set of tables in one dialect, built once."""

    def __init__(self, dialect: str, tables: TableSet) -> None:
        table = tables.task_records
        full = columns(table, *(column.name for column in table.c if column.name not in _FOLDED))
        self.latest = select(*full).where(*by_key(table, "task_id")).order_by(table.c.round.desc()).limit(1)
        self.by_instance = (
            select(*full)
            .where(*by_key(table, "instance_id"))
            .order_by(table.c.created_at, table.c.sequence, table.c.round, table.c.task_id)
        )
        self.save = upsert(dialect, table)
        self.end = (
            update(table)
            .where(*by_key(table, "task_id"), table.c.round == bindparam("p_round"), table.c.ended_at.is_(None))
            .values({name: bindparam(f"p_{name}", type_=table.c[name].type) for name in _END})
        )
        self.copy = upsert(dialect, tables.task_copies, replace=False)
        self.move = (
            update(table)
            .where(*by_key(table, "task_id"), table.c.ended_at.is_(None))
            .values(node_id=bindparam("p_node_id"), definition_title=bindparam("p_definition_title"))
        )


@lru_cache(maxsize=8)
def statements(dialect: str, tenant: bool) -> Statements:
    """Return the statements for a dialect and a set of tables."""
    return Statements(dialect, TENANT_SET if tenant else PLATFORM_SET)


class SqlTaskRecords:
    """The task record store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def _of(self, partition: Partition) -> Statements:
        return statements(self._transaction.dialect, partition is not None)

    def latest(self, partition: Partition, task_id: str) -> TaskRecord | None:
        """Return the last round of the task, or None."""
        parameters = scope(partition, p_task_id=task_id)
        row = self._transaction.read(self._of(partition).latest, parameters).mappings().first()
        return None if row is None else journal_rows.task_record(row)

    def by_instance(self, partition: Partition, instance_id: str) -> Sequence[TaskRecord]:
        """Return all rounds of all tasks of the instance, oldest first."""
        parameters = scope(partition, p_instance_id=instance_id)
        found = self._transaction.read(self._of(partition).by_instance, parameters).mappings()
        return [journal_rows.task_record(row) for row in found]

    def done_by(
        self, partition: Partition, account_id: str, keyword: str | None, paging: Paging
    ) -> Page[DoneTaskSummary]:
        """Return the rounds this account completed, newest end first."""
        folded = fold_keyword(keyword)
        page, count = _done_statements(partition is not None, folded is not None)
        parameters = scope(partition, p_actor_id=account_id)
        if folded is not None:
            parameters["p_keyword"] = folded
        found = self._transaction.read(page, {**parameters, **window(paging)}).mappings().all()
        total = total_of(self._transaction, paging, len(found), count, parameters)
        return Page([journal_rows.done_task_summary(row) for row in found], total)


@lru_cache(maxsize=8)
def _done_statements(tenant: bool, with_keyword: bool) -> tuple[Select[*tuple[Any, ...]], Select[*tuple[Any, ...]]]:
    table = (TENANT_SET if tenant else PLATFORM_SET).task_records
    conditions = [*by_key(table, "actor_id"), table.c.end_reason == EndReason.COMPLETED.value, of_tenant(table)]
    if with_keyword:
        keyword = bindparam("p_keyword", type_=Text())
        conditions.append(or_(contains(table.c.search_title, keyword), contains(table.c.search_instance_text, keyword)))
    page = (
        select(*(column for column in table.c if column.name not in _FOLDED))
        .where(*conditions)
        .order_by(*order_by(table, DONE_ORDER))
        .limit(bindparam("p_limit"))
        .offset(bindparam("p_offset"))
    )
    return page, select(func.count()).select_from(table).where(*conditions)
