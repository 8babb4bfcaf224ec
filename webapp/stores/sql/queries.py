"""Pieces that the stores' statements are put together from: the tenant's condition, orders, windows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Executable, FromClause, Table, bindparam, literal_column, true
from sqlalchemy.sql.elements import UnaryExpression

from webapp.engine.ports.queries import Paging
from webapp.stores.ordering import Order
from webapp.stores.sql.database import Transaction
from webapp.stores.sql.dialects import placed


def of_tenant(table: FromClause) -> ColumnElement[bool]:
    """Return the condition that keeps a statement inside its partition; the platform's tables need none."""
    return table.c.tenant_id == bindparam("p_tenant") if "tenant_id" in table.c else true()


TASK: ColumnElement[str] = literal_column("'UserTask'")
"""The kind of user tasks, spelled out: a parameter would hide from the database which partial indexes serve a query."""


def by_key(table: Table, column: str = "id") -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the conditions for the partition's row or rows with ``:p_<column>``."""
    return table.c[column] == bindparam(f"p_{column}"), of_tenant(table)


def order_by(table: FromClause, order: Iterable[Order]) -> list[UnaryExpression[Any] | ColumnElement[Any]]:
    """Return the columns of an ORDER BY; where nulls stand is always said, databases differ."""
    result: list[UnaryExpression[Any] | ColumnElement[Any]] = []
    for item in order:
        column = table.c[item.column]
        if item.nullable:
            result.append(placed(column, descending=item.descending, nulls_first=item.nulls_first))
        else:
            result.append(column.desc() if item.descending else column.asc())
    return result


def columns(table: Table, *names: str) -> list[ColumnElement[Any]]:
    """Return the columns of those names, those the table lacks left out."""
    return [table.c[name] for name in names if name in table.c]


def total_of(
    transaction: Transaction, paging: Paging, shown: int, count: Executable, parameters: Mapping[str, Any]
) -> int:
    """Return the number of all rows that match: a page that is not full tells it itself, else the database counts."""
    if shown < paging.limit and (shown or not paging.offset):
        return paging.offset + shown
    total: int = transaction.rows(count, parameters)[0][0]
    return total


MAX_OFFSET = 2**62
"""No list is longer, and every database can count so far."""


def window(paging: Paging) -> dict[str, int]:
    """Return the parameters of LIMIT and OFFSET."""
    return {"p_limit": paging.limit, "p_offset": min(paging.offset, MAX_OFFSET)}
