"""The bulk store: copies of patterns into an empty partition, in one transaction, indexes after the rows.

One transaction: whoever is interrupted leaves nothing behind. On SQLite it does not go through the log, where it
would be written twice, but through a rollback journal, which holds only what was there before: next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, Protocol

from sqlalchemy import Engine, Table, select
from sqlalchemy.exc import SQLAlchemyError

from webapp.engine.ports.filling import Copy, Pattern
from webapp.stores.sql.bulk.mariadb import MariadbWriter
from webapp.stores.sql.bulk.postgresql import PostgresqlWriter
from webapp.stores.sql.bulk.sqlite import SqliteWriter
from webapp.stores.sql.bulk.templates import Template, Values, Writing, make_template
from webapp.stores.sql.database import failure
from webapp.stores.sql.dialects import DRIVER_ERRORS, MARIADB, POSTGRESQL, SQLITE
from webapp.stores.sql.tables import TableSet, table_set

_CHUNK = 2_000
"""Copies written at once."""


class Writer(Protocol):
    """Writes rows in one transaction of its own."""

    @property
    def writing(self) -> Writing:
        """How it takes values."""

    def write(self, table: Table, rows: Sequence[Values]) -> None:
        """Write the rows of a table, each in the order of its columns."""


class SqlBulk:
    """The bulk store of one database; *engine_of* tells a partition's."""

    def __init__(self, engine_of: Callable[[str | None], Engine]) -> None:
        self._engine_of = engine_of

    def holds_instances(self, partition: str | None) -> bool:
        """Whether the partition has any instance."""
        table = table_set(partition).instances
        statement = select(table.c.id).limit(1)
        if partition is not None:
            statement = statement.where(table.c.tenant_id == partition)
        try:
            with self._engine_of(partition).connect() as connection:
                return connection.execute(statement).first() is not None
        except SQLAlchemyError as error:
            raise failure(error) from error

    def load(
        self,
        partition: str | None,
        patterns: Sequence[Pattern],
        copies: Iterable[Copy],
        told: Callable[[int], None],
    ) -> int:
        """Write the copies, all or none."""
        engine, tables = self._engine_of(partition), table_set(partition)
        try:
            with _writer(engine, tables) as writer:
                templates = [make_template(pattern, partition, tables, writer.writing) for pattern in patterns]
                return _written(writer, templates, iter(copies), told)
        except (SQLAlchemyError, *DRIVER_ERRORS) as error:
            raise failure(error) from error


_WRITERS: dict[str, Callable[[Engine, TableSet], AbstractContextManager[Writer]]] = {
    MARIADB: MariadbWriter,
    POSTGRESQL: PostgresqlWriter,
    SQLITE: SqliteWriter,
}


def _writer(engine: Engine, tables: TableSet) -> AbstractContextManager[Writer]:
    return _WRITERS[engine.dialect.name](engine, tables)


def _written(writer: Writer, templates: Sequence[Template], copies: Iterator[Copy], told: Callable[[int], None]) -> int:
    """Fill in one chunk while another is written; return the number of rows."""
    done = rows = 0
    ahead: Future[None] | None = None
    with ThreadPoolExecutor(1, "bulk") as background:
        while chunk := list(islice(copies, _CHUNK)):
            filled = _filled(templates, chunk)
            if ahead is not None:
                ahead.result()
            ahead = background.submit(_write, writer, filled)
            done += len(chunk)
            rows += sum(map(len, filled.values()))
            told(done)
        if ahead is not None:
            ahead.result()
    return rows


def _filled(templates: Sequence[Template], chunk: Sequence[Copy]) -> dict[Table, list[Any]]:
    found: dict[Table, list[Any]] = {}
    for copy in chunk:
        template = templates[copy.pattern]
        values = template.values(copy)
        for row in template.rows:
            found.setdefault(row.table, []).append(row.pick(values))
    return found


def _write(writer: Writer, filled: dict[Table, list[Any]]) -> None:
    for table, rows in filled.items():
        writer.write(table, rows)
