"""Indexes that only some of the databases have."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Dialect, Index, Table
from sqlalchemy.schema import BaseDDLElement, SchemaItem
from sqlalchemy.sql.compiler import DDLCompiler

_LIMIT = "waypost_dialects"


def limited(index: Index, *dialects: str) -> Index:
    """Have the index in these databases alone, and return it."""
    index.info[_LIMIT] = dialects
    index.ddl_if(callable_=_is_there, state=dialects)
    return index


def indexes_of(table: Table, dialect: str) -> list[Index]:
    """Return a table's indexes in a database, by name."""
    found = [index for index in table.indexes if dialect in index.info.get(_LIMIT, (dialect,))]
    return sorted(found, key=lambda index: str(index.name))


def _is_there(
    ddl: BaseDDLElement,
    target: SchemaItem | str,
    bind: Connection | None,
    tables: list[Table] | None = None,
    state: Any | None = None,
    *,
    dialect: Dialect,
    compiler: DDLCompiler | None = None,
    checkfirst: bool = False,
) -> bool:
    return state is not None and dialect.name in state
