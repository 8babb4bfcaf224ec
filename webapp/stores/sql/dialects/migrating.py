"""Migrations of one database: one at a time, and on MariaDB to be run again after they broke off (spec 8.10)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from alembic.ddl.mysql import MariaDBImpl
from sqlalchemy import Column, Connection, Engine, Index, Table, text
from sqlalchemy.exc import OperationalError

from webapp.engine.ports.stores import StoreFailure
from webapp.stores.sql.dialects.errors import is_transient
from webapp.stores.sql.dialects.names import MARIADB, POSTGRESQL, SQLITE
from webapp.stores.sql.dialects.sessions import BUSY_SECONDS, WRITES

log = logging.getLogger("waypost.stores")

WAIT_SECONDS = 3600
"""How long a process waits for another one that migrates: longer than any migration takes, shorter than for ever."""

_KEY = 0x57617970
_MARIADB_NAME = "concat('waypost:', md5(database()))"
_PAUSE_SECONDS = 0.25
_TOLD_EVERY = 5.0


@dataclass(frozen=True)
class Patience:
    """How long somebody waits for his turn, and how often he says so in the log."""

    seconds: float = WAIT_SECONDS
    told_every: float = _TOLD_EVERY

    def turn(self, take: Callable[[], bool], pause_seconds: float = _PAUSE_SECONDS) -> None:
        """Try until it is this process's turn. :raises StoreFailure: another one has had it for too long."""
        began = told = time.monotonic()
        while not take():
            now = time.monotonic()
            if now - began >= self.seconds:
                raise StoreFailure(
                    f"Busy: another process has been upgrading this database, or writing to it, for "
                    f"{self.seconds:,.0f} seconds. Nothing was changed. If it works, wait longer (--wait); else end it."
                )
            if now - told >= self.told_every:
                told = now
                log.warning(
                    "waiting for another process that upgrades this database, or writes to it: "
                    "%d seconds so far, at most %d",
                    now - began,
                    self.seconds,
                )
            time.sleep(pause_seconds)


USUAL = Patience()


@contextmanager
def alone(engine: Engine, patience: Patience) -> Iterator[Connection]:
    """Open a transaction in which this process alone migrates the database; commits at the end.

    It waits as long as the process before it lives, whose lock ends with it, and says so now and then.

    :raises StoreFailure: that one took too long.
    """
    writers = engine.execution_options(**{WRITES: True})
    if engine.dialect.name == SQLITE:
        with writers.connect() as connection, _begun(connection, patience):
            yield connection
        return
    with writers.begin() as connection, one_at_a_time(connection, patience):
        yield connection


@contextmanager
def _begun(connection: Connection, patience: Patience) -> Iterator[None]:
    """Begin SQLite's transaction, which is its lock; the file's own waiting is neither told of nor long enough."""
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101  # it is connected
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        patience.turn(lambda: _begins(connection))
    finally:
        driver.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    transaction = connection.get_transaction()
    assert transaction is not None  # noqa: S101  # it was just begun
    with transaction:
        yield


def _begins(connection: Connection) -> bool:
    try:
        connection.begin()
    except OperationalError as error:
        if not is_transient(error):
            raise
        return False
    return True


@contextmanager
def one_at_a_time(connection: Connection, patience: Patience = USUAL) -> Iterator[None]:
    """Wait until no other process migrates this database, and keep others out of the block.

    No lease: the table of leases is what a first migration makes. The lock is the session's or the transaction's, so
    a process that is killed lets go of it. In SQLite the transaction, which begins IMMEDIATE, is the lock.
    """
    if connection.dialect.name == POSTGRESQL:
        lock = text("SELECT pg_try_advisory_xact_lock(:key)")
        patience.turn(lambda: bool(connection.execute(lock, {"key": _KEY}).scalar()))
        # What a migration itself waits for are readers and writers, not another migration.
        connection.execute(text("SET LOCAL lock_timeout = 0"))
        yield
    elif connection.dialect.name == MARIADB:
        # Its DDL commits as it goes, so that a transaction would keep nobody out.
        lock = text(f"SELECT get_lock({_MARIADB_NAME}, 0)")  # constants
        patience.turn(lambda: bool(connection.execute(lock).scalar()))
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
