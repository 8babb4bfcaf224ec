"""Claims on deliveries in SQL: which may be sent now, what a claim writes, what becomes of one that is lost (8.10)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Table,
    Text,
    Update,
    and_,
    bindparam,
    case,
    insert,
    literal,
    or_,
    select,
    true,
    union,
    union_all,
    update,
)

from webapp.engine.notifications.model import DeliveryState
from webapp.engine.ports.stores import Partition
from webapp.stores import notice_rows
from webapp.stores.rows import Row, of_table
from webapp.stores.sql.claims import any_of, is_due, is_free, of_served, sets_but, tenants_of
from webapp.stores.sql.database import Transaction
from webapp.stores.sql.dialects import Instant, begins_with
from webapp.stores.sql.queries import columns
from webapp.stores.sql.tables import PLATFORM_SET, SETS, TENANT_SET, TableSet

_CLAIM = ("id", "tenant_id", "sequence", "due_at", "attempts", "attempted_at", "claim_token")
_READ = (*_CLAIM, "state", "next_attempt_at", "receipt", "last_error", "ended_at", "document")
_ORDER = ("due_at", "sequence", "id")

_Found = tuple[TableSet, Mapping[str, Any]]


def _before(table: Table, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the condition that something before the row in its line is open or dead; an index look-up."""
    one = _earlier(table)
    place = and_(one.c.sequence <= table.c.sequence, or_(one.c.sequence < table.c.sequence, one.c.id < table.c.id))
    same = one.c.tenant_id == table.c.tenant_id if "tenant_id" in table.c else true()
    return select(literal(1)).select_from(one).where(same, one.c.open_line == table.c.line, place, *conditions).exists()


@lru_cache(maxsize=2)
def _earlier(table: Table) -> FromClause:
    return table.alias("earlier")


def _waits(table: Table, *, joins: bool) -> ColumnElement[bool]:
    """Return the condition that the row waits for one before it that does not go now with the same bundle.

    *joins*: what the token has claimed already goes now.
    """
    one, now = _earlier(table), bindparam("p_now", type_=Instant())
    # Spelled without NOT: for rows without a bundle that would be neither true nor false.
    apart = or_(table.c.bundle.is_(None), one.c.bundle.is_(None), one.c.bundle != table.c.bundle)
    held = one.c.claimed_until > now
    if joins:
        held = and_(held, one.c.claim_token != bindparam("p_token", type_=Text()))
    return _before(table, or_(apart, one.c.due_at.is_(None), one.c.due_at > now, held))


def _claimable(tables: TableSet, some_without: bool, joins: bool = False) -> Sequence[ColumnElement[bool]]:
    table = tables.deliveries
    others = of_served(tables, table, some_without=some_without)
    bundle = (table.c.bundle == bindparam("p_bundle", type_=Text()),) if joins else ()
    return is_due(table), is_free(table), ~_waits(table, joins=joins), *bundle, *others


@lru_cache(maxsize=8)
def _claim_statement(tenant: bool, some_without: bool, joins: bool) -> Select[*tuple[Any, ...]]:
    tables = TENANT_SET if tenant else PLATFORM_SET
    table = tables.deliveries
    return (
        select(*columns(table, *_READ))
        .where(*_claimable(tables, some_without, joins))
        .order_by(*columns(table, *_ORDER))
        .limit(bindparam("p_limit"))
        .with_for_update(skip_locked=True, of=table)
    )


@lru_cache(maxsize=8)
def _any_statement(platform: bool, some_without: bool) -> Select[*tuple[Any, ...]]:
    chosen = SETS if platform else (TENANT_SET,)
    return any_of((tables.deliveries, _claimable(tables, some_without)) for tables in chosen)


@lru_cache(maxsize=8)
def _next_statement(platform: bool, some_without: bool) -> Select[*tuple[Any, ...]]:
    halves = []
    for tables in SETS if platform else (TENANT_SET,):
        table = tables.deliveries
        others = of_served(tables, table, some_without=some_without)
        halves.append(
            select(table.c.due_at)
            .where(table.c.due_at.is_not(None), table.c.claim_token.is_(None), ~_before(table), *others)
            .order_by(table.c.due_at)
            .limit(1)
            .subquery()
        )
    both = union_all(*(select(half) for half in halves)).subquery()
    return select(both.c.due_at).order_by(both.c.due_at).limit(1)


class Statements:
    """The statements over one set of tables, built once."""

    def __init__(self, tables: TableSet) -> None:
        table = tables.deliveries
        chosen = table.c.id.in_(bindparam("p_ids", expanding=True))
        free = {"claim_token": None, "claimed_until": None}
        own = table.c.claim_token == bindparam("p_token", type_=Text())
        self.mark: Update = (
            update(table)
            .where(chosen)
            .values(
                state=DeliveryState.SENDING.value,
                attempts=table.c.attempts + 1,
                attempted_at=bindparam("p_now", type_=Instant()),
                claim_token=bindparam("p_token", type_=Text()),
                claimed_until=bindparam("p_until", type_=Instant()),
            )
        )
        before = case((table.c.attempts > 1, DeliveryState.FAILED.value), else_=DeliveryState.PENDING.value)
        given_back = {"state": before, "attempts": table.c.attempts - 1, **free}
        until = bindparam("p_until", type_=Instant())
        put_off = {"due_at": until, "next_attempt_at": until, "last_error": bindparam("p_reason", type_=Text())}
        self.give_back = update(table).where(chosen, own).values(**given_back)
        self.put_off = update(table).where(chosen, own).values(**given_back, **put_off)
        self.claimed_by = (
            select(*columns(table, *_CLAIM))
            .where(
                table.c.claim_token.is_not(None), begins_with(table.c.claim_token, bindparam("p_prefix", type_=Text()))
            )
            .with_for_update()
        )
        self.release = update(table).where(chosen).values(state=DeliveryState.FAILED.value, **free)
        self.add_attempts = insert(tables.delivery_attempts)


_STATEMENTS = {tables.tenant: Statements(tables) for tables in SETS}


def any_due(transaction: Transaction, now: datetime, without: Collection[Partition]) -> bool:
    """Whether there is something to claim."""
    tenants = tenants_of(without)
    parameters = {"p_now": now, **({"p_without": tenants} if tenants else {})}
    return bool(transaction.read(_any_statement(None not in without, bool(tenants)), parameters).scalar())


def next_due(transaction: Transaction, without: Collection[Partition]) -> datetime | None:
    """Return the earliest time at which something unclaimed may be sent."""
    tenants = tenants_of(without)
    statement = _next_statement(None not in without, bool(tenants))
    return transaction.read(statement, {"p_without": tenants} if tenants else {}).scalar()


def claim_due(
    transaction: Transaction,
    now: datetime,
    limit: int,
    token: str,
    until: datetime,
    without: Collection[Partition],
    bundle: str | None = None,
) -> Sequence[Row]:
    """Claim what may be sent, and return its rows as they are then."""
    tenants, joins = tenants_of(without), bundle is not None
    joined = {"p_bundle": bundle, "p_token": token} if joins else {}
    found: list[_Found] = []
    for tables in sets_but(without):
        some_without = tables.tenant and bool(tenants)
        parameters = {"p_now": now, "p_limit": limit, **({"p_without": tenants} if some_without else {}), **joined}
        statement = _claim_statement(tables.tenant, some_without, joins)
        found += [(tables, row) for row in transaction.mappings(statement, parameters)]
    found.sort(key=lambda item: (item[1]["due_at"], item[1]["sequence"], item[1]["id"]))
    chosen = found[:limit]
    _note_lost(transaction, chosen)
    for tables, ids in _ids(chosen):
        values = {"p_ids": ids, "p_now": now, "p_token": token, "p_until": until}
        transaction.write(_STATEMENTS[tables.tenant].mark, values)
    sending = DeliveryState.SENDING.value
    return [{**row, "state": sending, "attempts": row["attempts"] + 1} for _, row in chosen]


def give_back(
    transaction: Transaction, token: str, ids: Sequence[str], until: datetime | None, reason: str | None
) -> int:
    """Free claims of deliveries that were not tried."""
    if not ids:
        return 0
    values: dict[str, Any] = {"p_ids": list(ids), "p_token": token}
    if until is None:
        return sum(transaction.write(_STATEMENTS[tables.tenant].give_back, values).rowcount for tables in SETS)
    values |= {"p_until": until, "p_reason": reason}
    return sum(transaction.write(_STATEMENTS[tables.tenant].put_off, values).rowcount for tables in SETS)


def release_claims(transaction: Transaction, token_prefix: str) -> int:
    """Free every claim whose token begins so."""
    found: list[_Found] = []
    for tables in SETS:
        statement = _STATEMENTS[tables.tenant].claimed_by
        found += [(tables, row) for row in transaction.mappings(statement, {"p_prefix": token_prefix})]
    _note_lost(transaction, found)
    for tables, ids in _ids(found):
        transaction.write(_STATEMENTS[tables.tenant].release, {"p_ids": ids})
    return len(found)


def claim_tokens(transaction: Transaction) -> Sequence[str]:
    """Return the distinct tokens of claims, sorted."""
    return transaction.read(_CLAIM_TOKENS).scalars().all()


def _note_lost(transaction: Transaction, found: Iterable[_Found]) -> None:
    """Keep that the last attempt's end is unknown, of each delivery whose claim was never settled."""
    lost: dict[bool, list[dict[str, Any]]] = {}
    for tables, row in found:
        if row["claim_token"] is not None:
            partition = row["tenant_id"] if tables.tenant else None
            own = of_table(partition, notice_rows.lost_attempt_row(partition, row))
            lost.setdefault(tables.tenant, []).append(own)
    for tenant, values in lost.items():
        transaction.write(_STATEMENTS[tenant].add_attempts, values)


def _ids(found: Iterable[_Found]) -> Iterable[tuple[TableSet, list[str]]]:
    ids: dict[bool, list[str]] = {}
    for tables, row in found:
        ids.setdefault(tables.tenant, []).append(row["id"])
    return [(TENANT_SET if tenant else PLATFORM_SET, own) for tenant, own in ids.items()]


def _claim_tokens() -> Select[*tuple[Any, ...]]:
    claimed = [
        select(tables.deliveries.c.claim_token.label("token")).where(tables.deliveries.c.claim_token.is_not(None))
        for tables in SETS
    ]
    found = union(*claimed).subquery()
    return select(found.c.token).order_by(found.c.token)


_CLAIM_TOKENS = _claim_tokens()
