"""Bulk rows into SQLite: one transaction with a rollback journal instead of the log."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Engine, Index, Table
from sqlalchemy.exc import OperationalError

from webapp.engine.ports.stores import StoreFailure
from webapp.stores.sql.bulk.indexes import put_back, set_aside
from webapp.stores.sql.bulk.inserts import Inserts, number_for_bool
from webapp.stores.sql.bulk.templates import Values, Writing, utc_text
from webapp.stores.sql.dialects.sessions import NO_TRANSACTION
from webapp.stores.sql.keyword_index import take_all_over
from webapp.stores.sql.tables import TableSet


class SqliteWriter:
    """Writes rows on one connection that has the file to itself."""

    writing = Writing(instant=utc_text, constant=number_for_bool)

    def __init__(self, engine: Engine, tables: TableSet) -> None:
        self._engine = engine
        self._tables = tables
        self._indexes: list[Index] = []

    def __enter__(self) -> Self:
        # Connections of this process that rest in the pool have the file open too.
        self._engine.dispose()
        self._connection: Connection = self._engine.execution_options(**{NO_TRANSACTION: True}).connect()
        self._inserts = Inserts(self._connection, "?")
        try:
            self._alone()
            self._indexes = set_aside(self._connection, self._tables)
        except BaseException:
            self._give_back()
            raise
        return self

    def _alone(self) -> None:
        self._run("PRAGMA busy_timeout=1000")
        try:
            self._run("PRAGMA journal_mode=DELETE")
            self._run("PRAGMA cache_size=-262144")
            self._run("BEGIN EXCLUSIVE")
        except OperationalError as error:
            if getattr(error.orig, "sqlite_errorname", "") not in ("SQLITE_BUSY", "SQLITE_LOCKED"):
                raise
            raise StoreFailure("other processes have the database file open: stop them, then try again") from error

    def write(self, table: Table, rows: Sequence[Values]) -> None:
        """Write the rows of a table."""
        self._inserts.write(table, rows)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                put_back(self._connection, self._indexes)
                take_all_over(self._connection)
                self._run("COMMIT")
            else:
                self._run("ROLLBACK")
        finally:
            self._give_back()

    def _run(self, statement: str) -> Any:
        found = self._connection.exec_driver_sql(statement)
        return found.scalar() if found.returns_rows else None

    def _give_back(self) -> None:
        # What was set on it is not for others: the next use opens a new connection, which goes back to the log.
        self._connection.invalidate()
        self._connection.close()
        self._engine.dispose()
