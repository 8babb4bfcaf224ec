"""Claims of pollers on due rows: marked and committed first, worked on afterwards (spec 8.10)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
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
    func,
    literal,
    or_,
    select,
    union_all,
    update,
)

from webapp.engine.instances.bookmarks import BACKGROUND_KEY, POLLED_KINDS, SLOW_TIMEOUT_KEYS, BookmarkKind, Lane
from webapp.engine.ports.stores import Partition
from webapp.stores.rows import Columns
from webapp.stores.sql.database import Transaction
from webapp.stores.sql.dialects import Instant, begins_with
from webapp.stores.sql.fence_table import is_unfenced
from webapp.stores.sql.tables import SETS, TableSet

Claimable = tuple[Table, Columns]
"""A row of one of the tables that can be claimed."""


def is_due(table: Table) -> ColumnElement[bool]:
    """Return the condition that the row is due at ``:p_now``."""
    return table.c.due_at <= bindparam("p_now", type_=Instant())


def is_free(table: Table) -> ColumnElement[bool]:
    """Return the condition that nobody holds a claim on the row at ``:p_now``."""
    return or_(table.c.claimed_until.is_(None), table.c.claimed_until <= bindparam("p_now", type_=Instant()))


def of_lanes(table: Table, lanes: Iterable[Lane]) -> ColumnElement[bool]:
    """Return the condition that one of these lanes runs the bookmark; ``lane_of`` in the engine says the same."""
    return or_(*(_of_lane(table, lane) for lane in lanes))


def _of_lane(table: Table, lane: Lane) -> ColumnElement[bool]:
    kind, key = table.c.kind, table.c.key
    background = and_(kind == BookmarkKind.RETRY.value, key == BACKGROUND_KEY)
    slow = and_(kind == BookmarkKind.NODE_TIMEOUT.value, key.in_(SLOW_TIMEOUT_KEYS))
    if lane is Lane.BACKGROUND:
        return background
    if lane is Lane.WORKFLOW_TIMER:
        return or_(kind == BookmarkKind.REMINDER.value, slow)
    plain = [one.value for one in POLLED_KINDS if one not in (BookmarkKind.RETRY, BookmarkKind.NODE_TIMEOUT)]
    # Spelled without NOT: for a row without a key that would be neither true nor false.
    return or_(
        kind.in_(plain),
        and_(kind == BookmarkKind.RETRY.value, or_(key.is_(None), key != BACKGROUND_KEY)),
        and_(kind == BookmarkKind.NODE_TIMEOUT.value, or_(key.is_(None), key.not_in(SLOW_TIMEOUT_KEYS))),
    )


def sets_but(without: Collection[Partition]) -> list[TableSet]:
    """Return the sets of tables that hold other partitions than these."""
    return [tables for tables in SETS if tables.tenant or None not in without]


def of_served(tables: TableSet, table: Table, *, some_without: bool) -> Sequence[ColumnElement[bool]]:
    """Return the conditions that a row may be worked on here: of none of the tenants ``:p_without``, and no fenced one.

    A process that has not heard yet that a tenant is disabled, or lies elsewhere, does not name it; its fence does.
    """
    if not tables.tenant:
        return ()
    without = (table.c.tenant_id.not_in(bindparam("p_without", expanding=True)),) if some_without else ()
    return is_unfenced(table), *without


def tenants_of(partitions: Collection[Partition]) -> list[str]:
    """Return the tenants among these partitions, in order."""
    return sorted(one for one in partitions if one is not None)


def any_of(places: Iterable[tuple[Table, Iterable[ColumnElement[bool]]]]) -> Select[*tuple[Any, ...]]:
    """Return the statement that tells whether one of the tables has a row under its conditions."""
    return select(
        or_(*(select(literal(1)).select_from(table).where(*conditions).exists() for table, conditions in places))
    )


def earliest_of(places: Iterable[tuple[Table, Iterable[ColumnElement[bool]]]]) -> Select[*tuple[Any, ...]]:
    """Return the statement for the earliest due time of unclaimed rows of the tables under their conditions."""
    earliest = [
        select(func.min(table.c.due_at, type_=Instant()).label("due_at")).where(
            table.c.due_at.is_not(None), table.c.claim_token.is_(None), *conditions
        )
        for table, conditions in places
    ]
    found = union_all(*earliest).subquery()
    return select(func.min(found.c.due_at, type_=Instant()))


@lru_cache(maxsize=16)
def _mark(table: Table) -> Update:
    return (
        update(table)
        .where(table.c.id.in_(bindparam("p_ids", expanding=True)))
        .values(claim_token=bindparam("p_token", type_=Text()), claimed_until=bindparam("p_until", type_=Instant()))
    )


@lru_cache(maxsize=16)
def _give_back(table: Table) -> Update:
    return (
        update(table)
        .where(
            table.c.id.in_(bindparam("p_ids", expanding=True)),
            table.c.claim_token == bindparam("p_token", type_=Text()),
        )
        .values(claim_token=None, claimed_until=None)
    )


@lru_cache(maxsize=16)
def _free(table: Table) -> Update:
    return (
        update(table)
        .where(
            table.c.claim_token.is_not(None),
            begins_with(table.c.claim_token, bindparam("p_prefix", type_=Text())),
        )
        .values(claim_token=None, claimed_until=None)
    )


def claim(transaction: Transaction, found: Iterable[Claimable], token: str, until: datetime) -> None:
    """Mark rows that this transaction has selected for update."""
    ids: dict[Table, list[str]] = {}
    for table, row in found:
        ids.setdefault(table, []).append(row["id"])
    for table, chosen in ids.items():
        transaction.write(_mark(table), {"p_ids": chosen, "p_token": token, "p_until": until})


def give_back(transaction: Transaction, table: Table, token: str, ids: Sequence[str]) -> int:
    """Free the claims of these rows as far as they are still that token's; return their number."""
    return transaction.write(_give_back(table), {"p_ids": list(ids), "p_token": token}).rowcount


def free_claims(transaction: Transaction, table: Table, token_prefix: str) -> int:
    """Free the claims of a table whose token begins so; return their number."""
    return transaction.write(_free(table), {"p_prefix": token_prefix}).rowcount
