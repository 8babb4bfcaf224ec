"""Inserts that meet a row that is there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    ColumnClause,
    Table,
    TableValuedAlias,
    Text,
    bindparam,
    cast,
    func,
    insert,
    select,
    true,
    update,
)
from sqlalchemy import column as sql_column
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.dml import Insert, Update

from webapp.stores.sql.dialects.lists import each
from webapp.stores.sql.dialects.names import MARIADB, SQLITE


def written(table: Table) -> list[Column[Any]]:
    """Return the columns that a row is written with: all but those that the database computes."""
    return [column for column in table.columns if column.computed is None]


def insert_once(dialect: str, table: Table) -> Insert:
    """Return an insert that leaves a row with the same primary key alone.

    ``rowcount`` tells whether it was written; MariaDB, where that count tells nothing but a failed statement leaves
    its transaction whole, raises DuplicateRecord instead.
    """
    if dialect == MARIADB:
        return insert(table)
    return _conflicting(dialect, table).on_conflict_do_nothing(index_elements=_keys(table))


def upsert(dialect: str, table: Table, *, replace: bool = True, kept: Sequence[str] = ()) -> Insert:
    """Return an insert that replaces the row with the same primary key, or leaves it alone.

    *kept* are columns that a row keeps once it is there. A row of another partition that has the key is never touched.
    Its ``rowcount`` means nothing.
    """
    keys = _keys(table)
    names = [column.name for column in written(table) if column.name not in (*keys, *kept)]
    if dialect == MARIADB:
        return _replacing(table, names if replace else [], _same_partition(table))
    statement = _conflicting(dialect, table)
    if not replace:
        return statement.on_conflict_do_nothing(index_elements=keys)
    values = {name: statement.excluded[name] for name in names}
    same_partition = table.c.tenant_id == statement.excluded.tenant_id if "tenant_id" in table.c else None
    return statement.on_conflict_do_update(index_elements=keys, set_=values, where=same_partition)


def replace_if(
    dialect: str, table: Table, values: Mapping[str, Any], condition: ColumnElement[bool] | None = None
) -> Insert:
    """Return an insert of these values that replaces the row with the same primary key, if the condition holds for it.

    Its ``rowcount`` tells whether it was written. With a condition MariaDB raises DuplicateRecord where there is a
    row, whatever the condition says of it.
    """
    names = [name for name in values if name not in _keys(table)]
    if dialect == MARIADB:
        return (insert(table) if condition is not None else _replacing(table, names, None)).values(**values)
    statement = _conflicting(dialect, table).values(**values)
    replaced = {name: statement.excluded[name] for name in names}
    return statement.on_conflict_do_update(index_elements=_keys(table), set_=replaced, where=condition)


def upsert_many(dialect: str, table: Table, *, replace: bool = True) -> Insert | None:
    """Return an insert of many rows from one JSON text: one parameter and one execution, however many.

    The parameter ``rows`` is a JSON list of objects with the columns' names; rows with a known key are replaced, or
    left alone. None for a driver that sends many rows as one statement itself, or need not send them anywhere.
    """
    if dialect in (SQLITE, MARIADB):
        return None
    names = [column.name for column in written(table)]
    source = _given(table)
    keys = _keys(table)
    statement = postgresql.insert(table).from_select(names, select(*(source.c[name] for name in names)))
    if not replace:
        return statement.on_conflict_do_nothing(index_elements=keys)
    replaced = {name: statement.excluded[name] for name in names if name not in keys}
    same_partition = table.c.tenant_id == statement.excluded.tenant_id if "tenant_id" in names else None
    return statement.on_conflict_do_update(index_elements=keys, set_=replaced, where=same_partition)


def replace_each_if(
    dialect: str, table: Table, key: str, values: Mapping[str, Any], condition: ColumnElement[bool]
) -> Insert | None:
    """Return an insert of a row for each key of the list parameter ``p_<key>s``, with the same values otherwise.

    It replaces those rows that are there and for which the condition holds, and returns the keys of what it wrote.
    None where the database cannot tell these.
    """
    keys = each(dialect, f"p_{key}s")
    if keys is None:
        return None
    # SQLite takes ON CONFLICT after a SELECT for a join's ON, unless there is a WHERE.
    rows = select(keys, *values.values()).where(true())
    statement = _conflicting(dialect, table).from_select([key, *values], rows)
    replaced = {name: statement.excluded[name] for name in values}
    return statement.on_conflict_do_update(index_elements=[key], set_=replaced, where=condition).returning(table.c[key])


def update_many(dialect: str, table: Table, key: str, *, expected: str) -> Update | None:
    """Return an update of many rows from one JSON text, each where the column *expected* is as it was read.

    The parameter ``rows`` is a JSON list of objects with the columns' names, ``p_<key>`` and ``p_<expected>``; a row of
    another partition is never touched. None for a driver that sends many rows as one statement itself, or need not
    send them anywhere.
    """
    if dialect in (SQLITE, MARIADB):
        return None
    more = [sql_column(f"p_{name}", table.c[name].type) for name in (key, expected)]
    source = _given(table, *more)
    wanted = [table.c[key] == source.c[f"p_{key}"], table.c[expected] == source.c[f"p_{expected}"]]
    if "tenant_id" in table.c:
        wanted.append(table.c.tenant_id == source.c.tenant_id)
    return update(table).where(*wanted).values({column.name: source.c[column.name] for column in written(table)})


def can_update_returning(dialect: str) -> bool:
    """Whether an UPDATE may return what it has changed."""
    return dialect != MARIADB


def _given(table: Table, *more: ColumnClause[Any]) -> TableValuedAlias:
    """Return the rows of the parameter ``rows`` with a table's columns and some more."""
    columns = [*(sql_column(column.name, column.type) for column in written(table)), *more]
    given = func.json_to_recordset(cast(bindparam("rows", type_=Text()), postgresql.JSON()))
    return given.table_valued(*columns, name="given").render_derived(with_types=True)


def _keys(table: Table) -> list[str]:
    return [column.name for column in table.primary_key]


def _conflicting(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    statement = sqlite.insert(table) if dialect == SQLITE else postgresql.insert(table)
    # Without the option the count of an INSERT is not kept.
    return statement.execution_options(preserve_rowcount=True)


def _same_partition(table: Table) -> str | None:
    return "tenant_id" if "tenant_id" in table.c and "tenant_id" not in _keys(table) else None


def _replacing(table: Table, names: Sequence[str], guard: str | None) -> Insert:
    """Return MariaDB's insert; it has no condition of its own, so each column keeps its value where *guard* differs."""
    statement = mysql.insert(table)
    new = statement.inserted
    values: list[tuple[str, ColumnElement[Any]]]
    if guard is None:
        values = [(name, new[name]) for name in names]
    else:
        # The guard itself is not assigned: what is assigned first would be seen by what comes after it.
        same = table.c[guard] == new[guard]
        values = [(name, func.if_(same, new[name], table.c[name])) for name in names if name != guard]
    # Something must be assigned; a key to itself changes nothing.
    return statement.on_duplicate_key_update(values or [(name, table.c[name]) for name in _keys(table)[:1]])
