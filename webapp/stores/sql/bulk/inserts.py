"""Plain inserts of many rows on the driver's own cursor: one statement a table, made once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Table

from webapp.stores.sql.bulk.templates import Values
from webapp.stores.sql.dialects import written


def number_for_bool(value: Any) -> Any:
    """Return a value as a driver without truth values takes it."""
    return int(value) if isinstance(value, bool) else value


class Inserts:
    """Inserts on one connection; *mark* is what stands for a value in the driver's statements."""

    def __init__(self, connection: Connection, mark: str) -> None:
        self._connection = connection
        self._mark = mark
        self._statements: dict[Table, str] = {}

    @property
    def tables(self) -> Collection[Table]:
        """The tables that got rows."""
        return self._statements.keys()

    def write(self, table: Table, rows: Sequence[Values]) -> None:
        """Write the rows of a table."""
        statement = self._statements.get(table)
        if statement is None:
            statement = self._statements[table] = self._statement(table)
        cursor = self._connection.connection.cursor()
        try:
            cursor.executemany(statement, rows)
        finally:
            cursor.close()

    def _statement(self, table: Table) -> str:
        quoted = self._connection.dialect.identifier_preparer.quote_identifier
        columns = written(table)
        names = ", ".join(quoted(column.name) for column in columns)
        marks = ", ".join([self._mark] * len(columns))
        return f"INSERT INTO {quoted(table.name)} ({names}) VALUES ({marks})"  # noqa: S608  # names of our own tables
