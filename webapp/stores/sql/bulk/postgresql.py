"""Bulk rows into PostgreSQL: COPY, one transaction, then fresh statistics."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import psycopg
from sqlalchemy import Connection, Engine, Index, Table

from webapp.stores.sql.bulk.indexes import put_back, set_aside
from webapp.stores.sql.bulk.templates import Values, Writing, utc_text
from webapp.stores.sql.dialects import written
from webapp.stores.sql.tables import TableSet

_ESCAPED = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def _escape(text: str) -> str:
    return text.translate(_ESCAPED) if not text.isprintable() or "\\" in text else text


def _constant(value: Any) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    return _escape(str(value))


class PostgresqlWriter:
    """Writes rows by COPY on one connection."""

    writing = Writing(instant=utc_text, constant=_constant, escape=_escape)

    def __init__(self, engine: Engine, tables: TableSet) -> None:
        self._engine = engine
        self._tables = tables
        self._indexes: list[Index] = []
        self._filled: dict[Table, str] = {}

    def __enter__(self) -> Self:
        self._connection: Connection = self._engine.connect()
        self._transaction = self._connection.begin()
        self._connection.exec_driver_sql("SET LOCAL maintenance_work_mem = '512MB'")
        self._connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
        self._indexes = set_aside(self._connection, self._tables)
        return self

    def write(self, table: Table, rows: Sequence[Values]) -> None:
        """Write the rows of a table."""
        line = self._filled.get(table)
        if line is None:
            line = self._filled[table] = "\t".join(["%s"] * len(written(table))) + "\n"
        driver = self._connection.connection.driver_connection
        if not isinstance(driver, psycopg.Connection):
            raise TypeError(f"not a connection of psycopg 3: {driver!r}")
        names = ", ".join(f'"{column.name}"' for column in written(table))
        with (
            driver.cursor() as cursor,
            cursor.copy(f'COPY "{table.name}" ({names}) FROM STDIN') as copy,
        ):  # names of our own tables
            copy.write("".join([line % row for row in rows]))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                put_back(self._connection, self._indexes)
                self._transaction.commit()
            else:
                self._transaction.rollback()
        finally:
            self._connection.close()
        if error is None:
            self._take_stock()

    def _take_stock(self) -> None:
        """Give the planner statistics, and counting its map of what everybody sees."""
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for table in self._filled:
                connection.exec_driver_sql(f'VACUUM (ANALYZE) "{table.name}"')
