"""Claims on deliveries in SQL: which may be sent now, what a claim writes, what becomes of one that is lost (8.10)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
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
    union,
    union_all,
    update,
)

from webapp.engine.notifications.model import DeliveryState
from webapp.engine.ports.stores import Partition
from webapp.stores import notice_rows
from webapp.stores.rows import Row, of_table
from webapp.stores.sql.claims import is_due, is_free, of_served, sets_but, tenants_of
from webapp.stores.sql.database import Transaction
from webapp.stores.sql.delivery_lines import Key, before, chosen, key_of, of_tenants, put_aside, waits
from webapp.stores.sql.dialects import Instant, begins_with
from webapp.stores.sql.queries import columns
from webapp.stores.sql.tables import PLATFORM_SET, SETS, TENANT_SET, TableSet

_CLAIM = ("id", "tenant_id", "sequence", "due_at", "attempts", "attempted_at", "claim_token")
LOOKED_THROUGH = 1_000
"""How many due rows one look, or one statement of a claim, goes through."""

MOST_PUT_ASIDE = 5_000
"""How many waiting rows one claim puts aside before it gives up finding one that does not wait."""

_READ = (*_CLAIM, "state", "next_attempt_at", "receipt", "last_error", "ended_at", "document")
_ORDER = ("due_at", "sequence", "id")

_Found = tuple[TableSet, Mapping[str, Any]]


def _due(tables: TableSet, some_without: bool) -> Sequence[ColumnElement[bool]]:
    """Return the conditions of what may be sent now if nothing of its line stands before it."""
    table = tables.deliveries
    return is_due(table), is_free(table), *of_served(tables, table, some_without=some_without)


@lru_cache(maxsize=8)
def _due_statement(tenant: bool, some_without: bool, behind: bool) -> Select[*tuple[Any, ...]]:
    """Return the statement for the next ones that are due, those that wait too; *behind* the last ones looked at."""
    tables = TENANT_SET if tenant else PLATFORM_SET
    table = tables.deliveries
    conditions = [*_due(tables, some_without), *([_is_behind(table)] if behind else ())]
    return _locking(table, conditions)


@lru_cache(maxsize=8)
def _bundle_statement(tenant: bool, some_without: bool) -> Select[*tuple[Any, ...]]:
    """Return the statement for what is due of a bundle, and goes with what the token has of it."""
    tables = TENANT_SET if tenant else PLATFORM_SET
    table = tables.deliveries
    bundle = table.c.bundle == bindparam("p_bundle", type_=Text())
    return _locking(table, [*_due(tables, some_without), bundle, ~waits(table, joins=True)])


def _locking(table: Table, conditions: Iterable[ColumnElement[bool]]) -> Select[*tuple[Any, ...]]:
    found = select(*columns(table, *_READ)).where(*conditions).order_by(*columns(table, *_ORDER))
    return found.limit(bindparam("p_limit")).with_for_update(skip_locked=True, of=table)


def _is_behind(table: Table) -> ColumnElement[bool]:
    at, number = bindparam("p_due_at", type_=Instant()), bindparam("p_sequence", type_=BigInteger())
    same_number = and_(table.c.sequence == number, table.c.id > bindparam("p_id", type_=Text()))
    same_time = and_(table.c.due_at == at, or_(table.c.sequence > number, same_number))
    return and_(table.c.due_at >= at, or_(table.c.due_at > at, same_time))


@lru_cache(maxsize=8)
def _any_statement(platform: bool, some_without: bool) -> Select[*tuple[Any, ...]]:
    """Return the statement that tells whether a claim would find something, or more than a look goes through."""
    found = []
    for tables in SETS if platform else (TENANT_SET,):
        table, conditions = tables.deliveries, _due(tables, some_without)
        order = columns(table, *_ORDER)
        first = select(table).where(*conditions).order_by(*order).limit(LOOKED_THROUGH).subquery()
        found.append(select(literal(1)).select_from(first).where(~waits(table, row=first)).exists())
        found.append(select(table.c.id).where(*conditions).order_by(*order).limit(1).offset(LOOKED_THROUGH).exists())
    return select(or_(*found))


@lru_cache(maxsize=8)
def _next_statement(platform: bool, some_without: bool) -> Select[*tuple[Any, ...]]:
    halves = []
    for tables in SETS if platform else (TENANT_SET,):
        table = tables.deliveries
        others = of_served(tables, table, some_without=some_without)
        halves.append(
            select(table.c.due_at)
            .where(table.c.due_at.is_not(None), table.c.claim_token.is_(None), ~before(table), *others)
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
        some = table.c.id.in_(bindparam("p_ids", expanding=True))
        named = (of_tenants(table), some)
        free = {"claim_token": None, "claimed_until": None}
        own = table.c.claim_token == bindparam("p_token", type_=Text())
        self.mark: Update = (
            update(table)
            .where(*named)
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
        self.give_back = update(table).where(some, own).values(**given_back)
        self.put_off = update(table).where(some, own).values(**given_back, **put_off)
        self.claimed_by = (
            select(*columns(table, *_CLAIM))
            .where(
                table.c.claim_token.is_not(None), begins_with(table.c.claim_token, bindparam("p_prefix", type_=Text()))
            )
            .with_for_update()
        )
        self.release = update(table).where(*named).values(state=DeliveryState.FAILED.value, **free)
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
    tenants, found = tenants_of(without), list[_Found]()
    for tables in sets_but(without):
        some_without = tables.tenant and bool(tenants)
        asked = {"p_now": now, "p_limit": limit, **({"p_without": tenants} if some_without else {})}
        if bundle is None:
            rows = _first_of_lines(transaction, tables, some_without, asked)
        else:
            statement = _bundle_statement(tables.tenant, some_without)
            rows = transaction.mappings(statement, {**asked, "p_bundle": bundle, "p_token": token})
        found += [(tables, row) for row in rows]
    found.sort(key=lambda item: (item[1]["due_at"], item[1]["sequence"], item[1]["id"]))
    taken = found[:limit]
    _note_lost(transaction, taken)
    for tables, keys in _keys(taken):
        values = chosen(tables, keys, p_now=now, p_token=token, p_until=until)
        transaction.write(_STATEMENTS[tables.tenant].mark, values)
    sending = DeliveryState.SENDING.value
    return [{**row, "state": sending, "attempts": row["attempts"] + 1} for _, row in taken]


def _first_of_lines(
    transaction: Transaction, tables: TableSet, some_without: bool, asked: Mapping[str, Any]
) -> Sequence[Mapping[str, Any]]:
    """Return the first ones that are due and wait for nothing; those on the way that wait are put aside.

    Where it has found something it goes through some rows only, and where everything waits through some thousands:
    they are put aside, and the next claim goes on behind them.
    """
    found: list[Mapping[str, Any]] = []
    limit, now = asked["p_limit"], asked["p_now"]
    number, looked, place = limit, 0, dict[str, Any]()
    while True:
        statement = _due_statement(tables.tenant, some_without, bool(place))
        rows = transaction.mappings(statement, {**asked, "p_limit": number, **place})
        waiting = put_aside(transaction, tables, rows, now)
        going = [row for row in rows if key_of(row) not in waiting]
        found += going
        looked += len(rows)
        enough = looked >= (LOOKED_THROUGH if found else MOST_PUT_ASIDE)
        if len(rows) < number or len(found) >= limit or enough:
            return found[:limit]
        place = {f"p_{name}": rows[-1][name] for name in _ORDER}
        # No more is locked than is wanted, except where rows wait in long rows.
        number = limit - len(found) if going else min(4 * number, LOOKED_THROUGH)


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
    for tables, keys in _keys(found):
        transaction.write(_STATEMENTS[tables.tenant].release, chosen(tables, keys))
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


def _keys(found: Iterable[_Found]) -> Iterable[tuple[TableSet, list[Key]]]:
    keys: dict[bool, list[Key]] = {}
    for tables, row in found:
        keys.setdefault(tables.tenant, []).append(key_of(row))
    return [(TENANT_SET if tenant else PLATFORM_SET, own) for tenant, own in keys.items()]


def _claim_tokens() -> Select[*tuple[Any, ...]]:
    claimed = [
        select(tables.deliveries.c.claim_token.label("token")).where(tables.deliveries.c.claim_token.is_not(None))
        for tables in SETS
    ]
    found = union(*claimed).subquery()
    return select(found.c.token).order_by(found.c.token)


_CLAIM_TOKENS = _claim_tokens()
