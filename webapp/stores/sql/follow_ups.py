"""Follow-ups in SQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, delete, select, update

from webapp.engine.instances.journal import FollowUp
from webapp.engine.ports.stores import Partition
from webapp.stores import journal_rows
from webapp.stores.sql.claims import (
    any_of,
    claim,
    earliest_of,
    free_claims,
    is_due,
    is_free,
    of_served,
    sets_but,
    tenants_of,
)
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import Instant, upsert
from webapp.stores.sql.queries import by_key, columns
from webapp.stores.sql.tables import PLATFORM_SET, SETS, TENANT_SET, TableSet

_MODEL = (
    "id",
    "tenant_id",
    "action",
    "source_instance_id",
    "target_instance_id",
    "payload",
    "created_at",
    "due_at",
    "failures",
)


class Statements:
    """The statements over one set of tables in one dialect, built once."""

    def __init__(self, dialect: str, tables: TableSet) -> None:
        table = tables.follow_ups
        full = columns(table, *_MODEL)
        self.claimable_one = select(*full).where(*by_key(table), is_free(table)).with_for_update(skip_locked=True)
        self.save = upsert(dialect, table)
        self.delete = delete(table).where(*by_key(table))
        self.push_back = (
            update(table)
            .where(*by_key(table))
            .values(
                due_at=bindparam("p_due_at", type_=Instant()),
                failures=bindparam("p_failures"),
                claim_token=None,
                claimed_until=None,
            )
        )


def _claimable(tables: TableSet, some_without: bool) -> Sequence[ColumnElement[bool]]:
    table = tables.follow_ups
    others = of_served(tables, table, some_without=some_without)
    return is_due(table), is_free(table), *others


@lru_cache(maxsize=8)
def _claim_statement(tenant: bool, some_without: bool) -> Select[*tuple[Any, ...]]:
    tables = TENANT_SET if tenant else PLATFORM_SET
    table = tables.follow_ups
    return (
        select(*columns(table, *_MODEL))
        .where(*_claimable(tables, some_without))
        .order_by(table.c.due_at, table.c.id)
        .limit(bindparam("p_limit"))
        .with_for_update(skip_locked=True)
    )


@lru_cache(maxsize=8)
def _any_statement(platform: bool, some_without: bool) -> Select[*tuple[Any, ...]]:
    chosen = SETS if platform else (TENANT_SET,)
    return any_of((tables.follow_ups, _claimable(tables, some_without)) for tables in chosen)


@lru_cache(maxsize=8)
def _next_statement(platform: bool, some_without: bool) -> Select[*tuple[Any, ...]]:
    chosen = SETS if platform else (TENANT_SET,)
    return earliest_of(
        (tables.follow_ups, of_served(tables, tables.follow_ups, some_without=some_without)) for tables in chosen
    )


@lru_cache(maxsize=8)
def statements(dialect: str, tenant: bool) -> Statements:
    """Return the statements for a dialect and a set of tables."""
    return Statements(dialect, TENANT_SET if tenant else PLATFORM_SET)


class SqlFollowUps:
    """The follow-up store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def _of(self, partition: Partition) -> Statements:
        return statements(self._transaction.dialect, partition is not None)

    def any_due(self, now: datetime, without: Collection[Partition] = ()) -> bool:
        """Whether there is something to claim."""
        tenants = tenants_of(without)
        parameters = {"p_now": now, **({"p_without": tenants} if tenants else {})}
        statement = _any_statement(None not in without, bool(tenants))
        return bool(self._transaction.read(statement, parameters).scalar())

    def next_due(self, without: Collection[Partition] = ()) -> datetime | None:
        """Return the earliest due time of unclaimed follow-ups."""
        tenants = tenants_of(without)
        statement = _next_statement(None not in without, bool(tenants))
        return self._transaction.read(statement, {"p_without": tenants} if tenants else {}).scalar()

    def claim_due(
        self, now: datetime, limit: int, token: str, until: datetime, without: Collection[Partition] = ()
    ) -> Sequence[FollowUp]:
        """Claim due follow-ups of all partitions but some; the claim stands from the commit on."""
        tenants = tenants_of(without)
        found = []
        for tables in sets_but(without):
            some_without = tables.tenant and bool(tenants)
            parameters = {"p_now": now, "p_limit": limit, **({"p_without": tenants} if some_without else {})}
            statement = _claim_statement(tables.tenant, some_without)
            found += [(tables.follow_ups, row) for row in self._transaction.read(statement, parameters).mappings()]
        found.sort(key=lambda item: (item[1]["due_at"], item[1]["id"]))
        claim(self._transaction, found[:limit], token, until)
        return [journal_rows.follow_up(row) for _, row in found[:limit]]

    def claim(
        self, partition: Partition, follow_up_id: str, now: datetime, token: str, until: datetime
    ) -> FollowUp | None:
        """Claim one follow-up if it is there and unclaimed."""
        parameters = scope(partition, p_id=follow_up_id, p_now=now)
        row = self._transaction.read(self._of(partition).claimable_one, parameters).mappings().first()
        if row is None:
            return None
        tables = TENANT_SET if partition is not None else PLATFORM_SET
        claim(self._transaction, [(tables.follow_ups, row)], token, until)
        return journal_rows.follow_up(row)

    def delete(self, partition: Partition, follow_up_id: str) -> bool:
        """Delete a follow-up; False: it was gone."""
        return self._transaction.write_counted(self._of(partition).delete, scope(partition, p_id=follow_up_id)) > 0

    def push_back(self, partition: Partition, follow_up_id: str, due_at: datetime, failures: int) -> None:
        """Set a new due time and drop the claim."""
        parameters = scope(partition, p_id=follow_up_id, p_due_at=due_at, p_failures=failures)
        self._transaction.write(self._of(partition).push_back, parameters)

    def release_claims(self, token_prefix: str) -> int:
        """Free every claim whose token begins so."""
        return sum(free_claims(self._transaction, tables.follow_ups, token_prefix) for tables in SETS)
