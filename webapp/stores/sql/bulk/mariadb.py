"""Bulk rows into MariaDB: inserts of many rows in one transaction, then fresh statistics.

The indexes stay: there DDL would commit what was written so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine, Table

from webapp.stores.sql.bulk.inserts import Inserts, number_for_bool
from webapp.stores.sql.bulk.templates import Values, Writing
from webapp.stores.sql.dialects.sessions import WRITES
from webapp.stores.sql.tables import TableSet


def _instant(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


class MariadbWriter:
    """Writes rows on one connection; the driver makes one statement of many."""

    writing = Writing(instant=_instant, constant=number_for_bool)

    def __init__(self, engine: Engine, tables: TableSet) -> None:
        self._engine = engine

    def __enter__(self) -> Self:
        self._connection: Connection = self._engine.execution_options(**{WRITES: True}).connect()
        self._inserts = Inserts(self._connection, "%s")
        self._transaction = self._connection.begin()
        return self

    def write(self, table: Table, rows: Sequence[Values]) -> None:
        """Write the rows of a table."""
        self._inserts.write(table, rows)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._transaction.commit()
                for table in self._inserts.tables:
                    self._connection.exec_driver_sql(f"ANALYZE TABLE `{table.name}`")
            else:
                self._transaction.rollback()
        finally:
            self._connection.close()
