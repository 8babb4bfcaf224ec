"""Deleting some rows of many: bounded, so that nobody waits long for whoever deletes."""

from __future__ import annotations

from sqlalchemy import BindParameter, ColumnElement, Delete, Table, bindparam, delete, select, tuple_


def delete_some(table: Table, *conditions: ColumnElement[bool], order: ColumnElement[object] | None = None) -> Delete:
    """Return the statement that deletes at most ``:p_limit`` of the rows that match, the first ones by *order*."""
    limit: BindParameter[int] = bindparam("p_limit")
    keys = list(table.primary_key)
    some = select(*keys).where(*conditions).limit(limit)
    if order is not None:
        some = some.order_by(order)
    # One more level: MariaDB takes no LIMIT in the subquery of an IN, nor the table itself that is deleted from.
    found = some.subquery("found")
    chosen = select(*(found.c[key.name] for key in keys))
    return delete(table).where((tuple_(*keys) if len(keys) > 1 else keys[0]).in_(chosen))
