"""Claims of pollers on due rows: marked and committed first, worked on afterwards (spec 8.10)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, Text, Update, bindparam, literal, or_, select, update

from webapp.stores.rows import Columns
from webapp.stores.sql.database import Transaction
from webapp.stores.sql.dialects import Instant, begins_with

Claimable = tuple[Table, Columns]
"""A row of one of the tables that can be claimed."""


def is_due(table: Table) -> ColumnElement[bool]:
    """Return the condition that the row is due at ``:p_now``."""
    return table.c.due_at <= bindparam("p_now", type_=Instant())


def is_free(table: Table) -> ColumnElement[bool]:
    """Return the condition that nobody holds a claim on the row at ``:p_now``."""
    return or_(table.c.claimed_until.is_(None), table.c.claimed_until <= bindparam("p_now", type_=Instant()))


def any_of(places: Iterable[tuple[Table, Iterable[ColumnElement[bool]]]]) -> Select[*tuple[Any, ...]]:
    """Return the statement that tells whether one of the tables has a row under its conditions."""
    return select(
        or_(*(select(literal(1)).select_from(table).where(*conditions).exists() for table, conditions in places))
    )


@lru_cache(maxsize=16)
def _mark(table: Table) -> Update:
    return (
        update(table)
        .where(table.c.id.in_(bindparam("p_ids", expanding=True)))
        .values(claim_token=bindparam("p_token", type_=Text()), claimed_until=bindparam("p_until", type_=Instant()))
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


def free_claims(transaction: Transaction, table: Table, token_prefix: str) -> int:
    """Free the claims of a table whose token begins so; return their number."""
    return transaction.write(_free(table), {"p_prefix": token_prefix}).rowcount
