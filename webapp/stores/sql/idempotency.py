"""Stored answers in SQL."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from sqlalchemy import bindparam, select

from webapp.engine.numbers import decode, encode
from webapp.engine.ports.stores import IdempotencyRecord, Partition
from webapp.stores.rows import of_table
from webapp.stores.sql.chunks import delete_some
from webapp.stores.sql.database import Transaction
from webapp.stores.sql.database import scope as scoped
from webapp.stores.sql.dialects import Instant, upsert
from webapp.stores.sql.queries import by_key, of_tenant
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET, TableSet


class Statements:
    """The statements over one set of tables in one dialect, built once."""

    def __init__(self, dialect: str, tables: TableSet) -> None:
        table = tables.idempotency
        self.find = select(
            table.c.scope, table.c.body_hash, table.c.status, table.c.headers, table.c.body, table.c.created_at
        ).where(*by_key(table, "scope"), table.c.created_at >= bindparam("p_not_before", type_=Instant()))
        self.save = upsert(dialect, table)
        old = table.c.created_at < bindparam("p_before", type_=Instant())
        self.purge = delete_some(table, old, of_tenant(table), order=table.c.created_at)


@lru_cache(maxsize=8)
def statements(dialect: str, tenant: bool) -> Statements:
    """Return the statements for a dialect and a set of tables."""
    return Statements(dialect, TENANT_SET if tenant else PLATFORM_SET)


class SqlIdempotency:
    """The store of answers to commands with an Idempotency-Key."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def _of(self, partition: Partition) -> Statements:
        return statements(self._transaction.dialect, partition is not None)

    def find(self, partition: Partition, scope: str, not_before: datetime) -> IdempotencyRecord | None:
        """Return the stored answer if it is not older than *not_before*."""
        parameters = scoped(partition, p_scope=scope, p_not_before=not_before)
        row = self._transaction.read(self._of(partition).find, parameters).mappings().first()
        if row is None:
            return None
        values = {**row, "headers": decode(row["headers"], dict[str, str]), "body": bytes(row["body"])}
        return IdempotencyRecord(**values)

    def insert(self, partition: Partition, record: IdempotencyRecord) -> None:
        """Store an answer, replacing one of the same scope."""
        row = {
            "tenant_id": partition,
            "scope": record.scope,
            "body_hash": record.body_hash,
            "status": record.status,
            "headers": encode(record.headers).decode(),
            "body": record.body,
            "created_at": record.created_at,
        }
        self._transaction.write(self._of(partition).save, of_table(partition, row))

    def purge(self, partition: Partition, before: datetime, limit: int) -> int:
        """Delete at most *limit* records older than *before*."""
        parameters = scoped(partition, p_before=before, p_limit=limit)
        return self._transaction.write(self._of(partition).purge, parameters).rowcount
