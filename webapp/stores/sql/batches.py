"""Batches in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import BindParameter, Select, Table, bindparam, delete, func, insert, select, update

from webapp.engine.instances.batches import Batch, BatchItem, BatchItemEnd, BatchItemStatus, BatchStatus
from webapp.engine.numbers import encode
from webapp.engine.ports.queries import Page, Paging
from webapp.engine.ports.stores import Partition
from webapp.stores import batch_rows
from webapp.stores.rows import check_partition, of_table
from webapp.stores.sql.chunks import delete_some
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant
from webapp.stores.sql.queries import by_key, of_tenant, total_of, window
from webapp.stores.sql.tables import PLATFORM_SET, SETS, TENANT_SET, TableSet

_SHOWN = ("status", "total", "done", "failed", "ended_at", "document")
OVER_AT_ONCE = 20
_PENDING = BatchItemStatus.PENDING.value


class Statements:
    """The statements over one set of tables, built once."""

    def __init__(self, tables: TableSet) -> None:
        table, item = tables.batches, tables.batch_items
        shown = [table.c[name] for name in _SHOWN]
        self.insert, self.insert_items = insert(table), insert(item)
        self.find = select(*shown).where(*by_key(table))
        every = of_tenant(table)
        self.list: Select[Any] = (
            select(*shown)
            .where(every)
            .order_by(table.c.created_at.desc(), table.c.id.desc())
            .limit(bindparam("p_limit"))
            .offset(bindparam("p_offset"))
        )
        self.count = select(func.count()).select_from(table).where(every)
        self.items = {status: _items(item, status) for status in (None, *BatchItemStatus)}
        self.pending = (
            select(*item.c)
            .where(*by_key(item, "batch_id"), item.c.status == _PENDING, item.c.sequence > bindparam("p_after"))
            .order_by(item.c.sequence)
            .limit(bindparam("p_limit"))
        )
        self.running = (
            select(*shown)
            .where(table.c.status == BatchStatus.RUNNING.value)
            .order_by(table.c.created_at, table.c.id)
            .limit(bindparam("p_limit"))
        )
        self.set_status = (
            update(table)
            .where(*by_key(table), table.c.status.in_(bindparam("p_from", expanding=True)))
            .values(status=bindparam("p_status"), ended_at=bindparam("p_ended_at", type_=Instant()))
        )
        one = (*by_key(item, "batch_id"), item.c.sequence == bindparam("p_sequence"), item.c.status == _PENDING)
        self.end_item = (
            update(item)
            .where(*one)
            .values(
                status=bindparam("p_status"),
                ended_at=bindparam("p_ended_at", type_=Instant()),
                problem=bindparam("p_problem"),
            )
        )
        self.over = (
            select(table.c.id)
            .where(table.c.ended_at < bindparam("p_before", type_=Instant()), every)
            .order_by(table.c.ended_at)
            .limit(OVER_AT_ONCE)
        )
        ids: BindParameter[Any] = bindparam("p_ids", expanding=True)
        self.delete_items = delete_some(item, item.c.batch_id.in_(ids), of_tenant(item))
        self.delete = delete(table).where(table.c.id.in_(ids), every)
        self.counted = {name: _counted(table, name) for name in ("done", "failed")}


def _items(item: Table, status: BatchItemStatus | None) -> tuple[Select[Any], Select[Any]]:
    wanted = [*by_key(item, "batch_id"), *([] if status is None else [item.c.status == status.value])]
    page = select(*item.c).where(*wanted).order_by(item.c.sequence)
    count = select(func.count()).select_from(item).where(*wanted)
    return page.limit(bindparam("p_limit")).offset(bindparam("p_offset")), count


def _counted(table: Table, name: str) -> Any:
    return update(table).where(*by_key(table)).values({name: table.c[name] + 1})


@lru_cache(maxsize=2)
def statements(tenant: bool) -> Statements:
    """Return the statements for a set of tables."""
    return Statements(TENANT_SET if tenant else PLATFORM_SET)


class SqlBatches:
    """The batch store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def insert(self, partition: Partition, batch: Batch, instance_ids: Sequence[str]) -> None:
        """Insert a batch with its items."""
        check_partition(partition, [batch])
        own = statements(partition is not None)
        self._transaction.write(own.insert, [of_table(partition, batch_rows.batch_row(batch))])
        items = [
            BatchItem(batch_id=batch.id, sequence=sequence, instance_id=instance_id)
            for sequence, instance_id in enumerate(instance_ids, start=1)
        ]
        if items:
            rows = [of_table(partition, batch_rows.item_row(item, partition)) for item in items]
            self._transaction.write(own.insert_items, rows)

    def find(self, partition: Partition, batch_id: str) -> Batch | None:
        """Return the batch, or None."""
        found = self._transaction.read(statements(partition is not None).find, scope(partition, p_id=batch_id))
        row = found.mappings().first()
        return None if row is None else batch_rows.batch(row)

    def list(self, partition: Partition, paging: Paging) -> Page[Batch]:
        """Return a page of batches, newest first."""
        own, parameters = statements(partition is not None), scope(partition)
        found = self._transaction.read(own.list, {**parameters, **window(paging)}).mappings().all()
        total = total_of(self._transaction, paging, len(found), own.count, parameters)
        return Page([batch_rows.batch(row) for row in found], total)

    def items(
        self, partition: Partition, batch_id: str, status: BatchItemStatus | None, paging: Paging
    ) -> Page[BatchItem]:
        """Return a page of a batch's items in their order."""
        page, count = statements(partition is not None).items[status]
        parameters = scope(partition, p_batch_id=batch_id)
        found = self._transaction.read(page, {**parameters, **window(paging)}).mappings().all()
        total = total_of(self._transaction, paging, len(found), count, parameters)
        return Page([batch_rows.item(row) for row in found], total)

    def pending(self, partition: Partition, batch_id: str, after: int, limit: int) -> Sequence[BatchItem]:
        """Return pending items after that number, in their order."""
        parameters = scope(partition, p_batch_id=batch_id, p_after=after, p_limit=limit)
        found = self._transaction.read(statements(partition is not None).pending, parameters).mappings()
        return [batch_rows.item(row) for row in found]

    def running(self, limit: int) -> Sequence[Batch]:
        """Return running batches of all partitions, oldest first."""
        found = [
            batch_rows.batch(row)
            for tables in SETS
            for row in self._transaction.read(statements(tables.tenant).running, {"p_limit": limit}).mappings()
        ]
        return sorted(found, key=lambda batch: (batch.created_at, batch.id))[:limit]

    def set_status(
        self,
        partition: Partition,
        batch_id: str,
        status: BatchStatus,
        *,
        only_from: Sequence[BatchStatus],
        ended_at: datetime | None = None,
    ) -> bool:
        """Change the status if it is one of *only_from*; tell whether it was."""
        parameters = scope(
            partition,
            p_id=batch_id,
            p_status=status.value,
            p_ended_at=ended_at,
            p_from=[one.value for one in only_from],
        )
        done = self._transaction.write_counted(statements(partition is not None).set_status, parameters)
        return bool(done)

    def end_items(self, partition: Partition, ends: Iterable[BatchItemEnd]) -> None:
        """End pending items and count them."""
        own = statements(partition is not None)
        for end in ends:
            ended = self._transaction.write_counted(
                own.end_item,
                scope(
                    partition,
                    p_batch_id=end.batch_id,
                    p_sequence=end.sequence,
                    p_status=end.status.value,
                    p_ended_at=end.ended_at,
                    p_problem=None if end.problem is None else encode(end.problem).decode(),
                ),
            )
            if ended:
                counted = own.counted["failed" if end.status is BatchItemStatus.FAILED else "done"]
                self._transaction.write(counted, scope(partition, p_id=end.batch_id))

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* rows of batches that ended before *before*, items first."""
        own, done = statements(partition is not None), 0
        while done < limit:
            ids = list(self._transaction.read(own.over, scope(partition, p_before=before)).scalars())
            if not ids:
                break
            parameters = scope(partition, p_ids=ids)
            items = self._transaction.write(own.delete_items, {**parameters, "p_limit": limit - done}).rowcount
            done += items
            if done < limit:
                done += self._transaction.write(own.delete, parameters).rowcount
        return done
