"""How a page of a long list is read (spec 8.2 to 8.5, figures of the architecture's "Where the time goes").

Two ways. *Walking*: an index has the list's order, and the page is cut out of it; where several of its ranges take
turns in the order, each is walked as far as the page reaches and they are merged. *Gathering*: the conditions leave few
rows; they are found once, and give the number of all and the page. Both look at the whole rows of the page alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, FromClause, Select, Table, bindparam, func, select, union_all

from webapp.engine.ports.queries import Paging
from webapp.stores.ordering import Order
from webapp.stores.sql.database import Transaction
from webapp.stores.sql.dialects import POSTGRESQL
from webapp.stores.sql.direct import UNPREPARED
from webapp.stores.sql.queries import order_by, window

AnySelect = Select[*tuple[Any, ...]]
Rows = Sequence[Mapping[str, Any]]


class Branch(NamedTuple):
    """A range of an index: the condition that leads to it, and the order of the list within it."""

    condition: ColumnElement[bool]
    order: tuple[Order, ...]


class Listing(NamedTuple):
    """The statements of a list: its first page and any page; the count, None if each row of a page tells the total."""

    first: AnySelect
    page: AnySelect
    counting: AnySelect
    tells_total: bool = False


def walking(
    table: Table,
    shown: Sequence[ColumnElement[Any]],
    conditions: Sequence[ColumnElement[bool]],
    order: Sequence[Order],
    branches: Sequence[Branch] = (),
) -> Listing:
    """Return a list whose pages are cut out of an index, or merged from branches."""
    count = select(func.count()).select_from(table).where(*conditions)
    if branches:
        page = _rows_of(_merged(table, conditions, order, branches), table, shown, order)
        return Listing(page, page, count)
    plain = select(*shown).where(*conditions).order_by(*order_by(table, order)).limit(bindparam("p_limit"))
    chosen = _cut(select(*_keys(table, order)).where(*conditions).order_by(*order_by(table, order)))
    return Listing(plain, _rows_of(chosen, table, shown, order), count)


def gathering(
    dialect: str,
    table: Table,
    shown: Sequence[ColumnElement[Any]],
    conditions: Sequence[ColumnElement[bool]],
    order: Sequence[Order],
) -> Listing:
    """Return a list whose matches are found once; a page's rows have their number as ``total``."""
    found = select(*_keys(table, order)).where(*conditions).cte("found")
    if dialect == POSTGRESQL:
        # Else a plan may walk a million rows in the list's order, to find those few.
        found = found.prefix_with("MATERIALIZED")
    total = select(func.count()).select_from(found).scalar_subquery()
    chosen = _cut(select(found).order_by(*order_by(found, order)))
    page = _rows_of(chosen, table, (*shown, total.label("total")), order)
    count = select(func.count()).select_from(table).where(*conditions)
    # A prepared plan is made for no keyword in particular, and passes over its index.
    searched = page.execution_options(**{UNPREPARED: True})
    return Listing(searched, searched, count.execution_options(**{UNPREPARED: True}), tells_total=True)


def _keys(table: FromClause, order: Sequence[Order]) -> list[ColumnElement[Any]]:
    return [table.c[name] for name in dict.fromkeys(["id", *(item.column for item in order)])]


def _cut(statement: AnySelect) -> FromClause:
    return statement.limit(bindparam("p_limit")).offset(bindparam("p_offset")).subquery("chosen")


def _rows_of(
    chosen: FromClause, table: Table, shown: Sequence[ColumnElement[Any]], order: Sequence[Order]
) -> AnySelect:
    return select(*shown).join_from(chosen, table, table.c.id == chosen.c.id).order_by(*order_by(chosen, order))


def _merged(
    table: Table, conditions: Sequence[ColumnElement[bool]], order: Sequence[Order], branches: Sequence[Branch]
) -> FromClause:
    parts = [
        select(*_keys(table, order))
        .where(*conditions, branch.condition)
        .order_by(*order_by(table, branch.order))
        .limit(bindparam("p_end"))
        .subquery(f"part_{number}")
        for number, branch in enumerate(branches)
    ]
    near = union_all(*(select(part) for part in parts)).subquery("near")
    return _cut(select(near).order_by(*order_by(near, order)))


def read_page(
    transaction: Transaction, listing: Listing, paging: Paging, parameters: Mapping[str, Any]
) -> tuple[Rows, int]:
    """Return the rows of a page and the number of all."""
    part = window(paging)
    statement = listing.page if paging.offset else listing.first
    asked = {**parameters, **part, "p_end": part["p_limit"] + part["p_offset"]}
    found = transaction.mappings(statement, asked)
    if listing.tells_total and found:
        return found, found[0]["total"]
    if len(found) < paging.limit and (found or not paging.offset):
        # A page that is not full tells the total itself.
        return found, paging.offset + len(found)
    total: int = transaction.rows(listing.counting, parameters)[0][0]
    return found, total
