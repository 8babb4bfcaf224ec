"""Indexes of a set of tables, taken away while many rows come in and made anew from all of them."""

from __future__ import annotations

from sqlalchemy import Connection, Index, Table, select
from sqlalchemy.schema import CreateIndex, DropIndex

from webapp.stores.sql.dialects import indexes_of
from webapp.stores.sql.tables import TableSet


def set_aside(connection: Connection, tables: TableSet) -> list[Index]:
    """Drop the indexes of the tables that are filled, where those are empty, and return them; keys stay."""
    dropped = []
    for table in _filled(tables):
        if connection.execute(select(table.c.id if "id" in table.c else table.c.task_id).limit(1)).first() is None:
            for index in indexes_of(table, connection.dialect.name):
                connection.execute(DropIndex(index))
                dropped.append(index)
    return dropped


def _filled(tables: TableSet) -> tuple[Table, ...]:
    return (
        tables.instances,
        tables.node_instances,
        tables.bookmarks,
        tables.task_records,
        tables.audit,
        tables.notices,
    )


def put_back(connection: Connection, indexes: list[Index]) -> None:
    """Make the indexes again."""
    for index in indexes:
        connection.execute(CreateIndex(index))
