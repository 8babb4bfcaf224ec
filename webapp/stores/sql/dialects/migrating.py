"""Migrations of one database: one at a time, and on MariaDB to be run again after they broke off (spec 8.10)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from alembic.ddl.mysql import MariaDBImpl
from sqlalchemy import Column, Connection, Index, Table, text

from webapp.stores.sql.dialects.names import MARIADB, POSTGRESQL

_KEY = 0x57617970
_MARIADB_NAME = "concat('waypost:', md5(database()))"
_VERY_LONG = 365 * 24 * 3600


@contextmanager
def one_at_a_time(connection: Connection) -> Iterator[None]:
    """Wait until no other process migrates this database, however long that takes, and keep others out of the block.

    No lease: the table of leases is what a first migration makes. The lock is the session's or the transaction's, so
    a process that is killed lets go of it. In SQLite the transaction, which begins IMMEDIATE, is the lock.
    """
    if connection.dialect.name == POSTGRESQL:
        connection.execute(text("SET LOCAL lock_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _KEY})
        yield
    elif connection.dialect.name == MARIADB:
        # Its DDL commits as it goes, so that a transaction would keep nobody out.
        connection.execute(text(f"SELECT get_lock({_MARIADB_NAME}, {_VERY_LONG})"))  # constants
        try:
            yield
        finally:
            connection.execute(text(f"SELECT release_lock({_MARIADB_NAME})"))  # constants
    else:
        yield


class RepeatableDdl(MariaDBImpl):
    """MariaDB's statements of a migration, each harmless when it was carried out before.

    There each commits by itself, so that a migration that was broken off has done a part of its work: it is simply run
    again.
    """

    __dialect__ = MARIADB

    def create_table(self, table: Table, **options: Any) -> None:
        """Make a table unless it is there."""
        super().create_table(table, **{"if_not_exists": True, **options})

    def drop_table(self, table: Table, **options: Any) -> None:
        """Drop a table if it is there."""
        super().drop_table(table, **{"if_exists": True, **options})

    def create_index(self, index: Index, **options: Any) -> None:
        """Make an index unless it is there."""
        super().create_index(index, **{"if_not_exists": True, **options})

    def drop_index(self, index: Index, **options: Any) -> None:
        """Drop an index if it is there."""
        super().drop_index(index, **{"if_exists": True, **options})

    def add_column(self, table_name: str, column: Column[Any], **options: Any) -> None:
        """Add a column unless it is there."""
        super().add_column(table_name, column, **{**options, "if_not_exists": True})

    def drop_column(self, table_name: str, column: Column[Any], **options: Any) -> None:
        """Drop a column if it is there."""
        super().drop_column(table_name, column, **{**options, "if_exists": True})
