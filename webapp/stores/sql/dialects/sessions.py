"""How a connection is opened and what it is told first: durable, in UTC, strict, never waiting for long (spec 8.10).

On SQLite and MariaDB the driver begins nothing by itself: each statement is a transaction of its own until a BEGIN is
sent. psycopg begins by itself unless it is told not to, which costs it nothing.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any

import psycopg
import pymysql
from sqlalchemy import URL, Connection, Dialect, Engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from webapp.stores.sql.dialects.names import MARIADB, POSTGRESQL, SQLITE
from webapp.stores.sql.dialects.types import COLLATION

WRITES = "waypost_writes"
"""Execution option of connections whose transaction begins IMMEDIATE in SQLite."""

NO_TRANSACTION = "waypost_no_transaction"
"""Execution option of connections of SQLite and MariaDB on which each statement commits by itself."""

POOLER = "pooler"
"""Parameter of a PostgreSQL URL: ``pooler=transaction`` where it leads to PgBouncer in that mode, or to its like."""

BUSY_SECONDS = 15
"""How long a statement waits for another transaction."""

_IDLE_SECONDS = 5.0
_CONNECT_SECONDS = 3
_NOT_DURABLE = " -c synchronous_commit=off"
_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mariadb": "mariadb+pymysql",
}

SQL_MODE = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,SIMULTANEOUS_ASSIGNMENT"
"""MariaDB refuses what does not fit, and an UPDATE's assignments all see the row as it was, as everywhere else."""


def normal_url(url: str | URL) -> URL:
    """Return the URL with the driver that is used: ``postgresql://`` means psycopg 3, ``mariadb://`` PyMySQL."""
    parsed = make_url(url)
    if parsed.drivername in _DRIVERS:
        return parsed.set(drivername=_DRIVERS[parsed.drivername])
    if parsed.get_backend_name() == SQLITE and parsed.database in (None, "", ":memory:"):
        raise ValueError("an SQLite database needs a file")
    return parsed


def connect_options(url: URL, *, durable: bool) -> dict[str, Any]:
    """Return what ``create_engine`` takes for this database beside the pool's sizes."""
    backend = url.get_backend_name()
    if backend == SQLITE:
        return {"connect_args": {"check_same_thread": False, "timeout": BUSY_SECONDS}}
    if backend == MARIADB:
        arguments = {"connect_timeout": _CONNECT_SECONDS, "charset": "utf8mb4", "program_name": "waypost"}
        joined = joined_options(url)
        return {**joined, "connect_args": {**joined["connect_args"], **arguments}}
    return {
        "connect_args": {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": "waypost",
            "options": f"-c timezone=UTC -c lock_timeout={BUSY_SECONDS * 1000}{'' if durable else _NOT_DURABLE}",
        }
    }


def joined_options(url: str | URL) -> dict[str, Any]:
    """Return what ``create_engine`` takes for sessions of an application whose transactions are joined.

    What MariaDB does by itself is not what the statements here rely on; the other databases do it.
    """
    if normal_url(url).get_backend_name() != MARIADB:
        return {}
    # SQLAlchemy goes back to this level after somebody has asked for another one.
    return {"isolation_level": "READ COMMITTED", "connect_args": {"sql_mode": SQL_MODE}}


def prepare(engine: Engine, *, sqlite_synchronous: str = "FULL") -> None:
    """Install what each connection needs. Call once for an engine that something else has made."""
    if engine.dialect.name == SQLITE:
        _prepare_sqlite(engine, sqlite_synchronous)
        return
    if engine.dialect.name == MARIADB:
        _prepare_mariadb(engine)
    elif POOLER in engine.url.query:
        _leave_no_session_state(engine)
    _ping_the_rested(engine)


def _prepare_sqlite(engine: Engine, synchronous: str) -> None:
    if synchronous not in ("OFF", "NORMAL", "FULL", "EXTRA"):
        raise ValueError(f"not a value of synchronous: {synchronous!r}")

    @event.listens_for(engine, "connect")
    def configure(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
        # The driver would begin transactions by itself, and never IMMEDIATE.
        connection.isolation_level = None
        cursor = connection.cursor()
        _write_ahead(cursor)
        cursor.execute(f"PRAGMA synchronous={synchronous}")
        # Pages that every command touches are copied back four times less often than by default; 16 MB of WAL.
        cursor.execute("PRAGMA wal_autocheckpoint=4000")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA temp_store=MEMORY")
        cursor.execute("PRAGMA cache_size=-16000")
        cursor.close()

    _begin_by_statement(engine)


def _write_ahead(cursor: DBAPICursor) -> None:
    """Switch the file to WAL. SQLite does not wait for the lock that the first switch needs, so this does."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _prepare_mariadb(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def configure(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
        connection.autocommit(True)
        cursor = connection.cursor()
        cursor.execute(
            f"SET collation_connection = {COLLATION}, time_zone = '+00:00', default_storage_engine = InnoDB,"
            f" innodb_lock_wait_timeout = {BUSY_SECONDS}, lock_wait_timeout = {BUSY_SECONDS}"
        )
        cursor.close()

    @event.listens_for(engine, "checkout")
    def begin_nothing(connection: DBAPIConnection, entry: ConnectionPoolEntry, proxy: object) -> None:
        # An application that set an isolation level has left it off; asking costs no round trip.
        if not connection.get_autocommit():
            connection.autocommit(True)

    _begin_by_statement(engine)


def _leave_no_session_state(engine: Engine) -> None:
    """Ask of a pooler nothing that lasts longer than a transaction: the next one may run on another connection."""

    @event.listens_for(engine, "do_connect")
    def connect(dialect: Dialect, entry: ConnectionPoolEntry, arguments: object, options: dict[str, Any]) -> None:
        options.pop(POOLER, None)
        # Poolers refuse it; what it sets is set for the role or the database then.
        options.pop("options", None)
        options["prepare_threshold"] = None


def _begin_by_statement(engine: Engine) -> None:
    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        statement = begin_statement(engine.dialect.name, writes=options.get(WRITES, False))
        if statement is not None and not options.get(NO_TRANSACTION, False):
            connection.exec_driver_sql(statement)


def begin_statement(dialect: str, *, writes: bool) -> str | None:
    """Return what begins a transaction, None where the driver does that itself.

    In SQLite only a writer takes the write lock, and it takes it at once: a reader never waits for one, and no
    transaction that has read fails when it comes to write.
    """
    if dialect == SQLITE:
        return "BEGIN IMMEDIATE" if writes else "BEGIN"
    return "BEGIN" if dialect == MARIADB else None


def reads_singly(dialect: str) -> bool:
    """Whether reading goes without a transaction: a server then answers in one round trip instead of three.

    Each store method is one statement, and READ COMMITTED promises no more.
    """
    return dialect != SQLITE


def _ping_the_rested(engine: Engine) -> None:
    @event.listens_for(engine, "checkin")
    def remember(connection: DBAPIConnection | None, entry: ConnectionPoolEntry) -> None:
        entry.info["waypost_used"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def check(connection: DBAPIConnection, entry: ConnectionPoolEntry, proxy: object) -> None:
        # A ping costs a round trip, so only a connection that rested long enough to have died is asked.
        used = entry.info.get("waypost_used")
        if used is not None and time.monotonic() - used > _IDLE_SECONDS:
            try:
                alive = engine.dialect.do_ping(connection)
            except Exception as error:
                if isinstance(error, engine.dialect.loaded_dbapi.Error):
                    raise DisconnectionError from error
                raise
            if not alive:
                raise DisconnectionError


def autocommitting(engine: Engine) -> Engine:
    """Return the engine's view on which each statement is a transaction of its own."""
    if engine.dialect.name == POSTGRESQL:
        return engine.execution_options(isolation_level="AUTOCOMMIT")
    # SQLAlchemy's own AUTOCOMMIT costs more statements at each use, and lets the driver begin afterwards.
    return engine.execution_options(**{NO_TRANSACTION: True})


def is_lost(driver: object) -> bool:
    """Whether a driver's connection to its server is gone."""
    if isinstance(driver, psycopg.Connection):
        return driver.closed
    return isinstance(driver, pymysql.Connection) and not driver.open


def of_psycopg(driver: object) -> psycopg.Connection[Any] | None:
    """Return PostgreSQL's connection, which can be told to begin nothing and to send without waiting."""
    return driver if isinstance(driver, psycopg.Connection) else None
