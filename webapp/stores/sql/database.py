"""Engines and transactions: how a database is opened, read without waiting, and written by one transaction at a time.

``db`` is for Flask's side; the stores take a plain Engine, because the poller's threads have no app context.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import URL, Connection, CursorResult, Engine, Executable, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import DataError, DBAPIError, DisconnectionError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from webapp.engine.errors import READ_ONLY, InputInvalid, Unexpected
from webapp.engine.ports.stores import DuplicateRecord, Partition, StoreFailure
from webapp.stores.sql.dialects import POSTGRESQL, SQLITE, is_duplicate, is_transient
from webapp.stores.sql.tables import METADATA

db = SQLAlchemy(metadata=METADATA)

WRITES = "waypost_writes"
"""Execution option of connections whose transaction begins IMMEDIATE in SQLite."""

NO_TRANSACTION = "waypost_no_transaction"
"""Execution option of SQLite connections on which each statement commits by itself."""

BUSY_SECONDS = 15
_IDLE_SECONDS = 5.0
_CONNECT_SECONDS = 3
_OVERFLOW = 5
_NOT_DURABLE = " -c synchronous_commit=off"

Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def normal_url(url: str | URL) -> URL:
    """Return the URL with the driver that is used: ``postgresql://`` means psycopg 3."""
    parsed = make_url(url)
    if parsed.drivername in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() == SQLITE and parsed.database in (None, "", ":memory:"):
        raise ValueError("an SQLite database needs a file")
    return parsed


def engine_options(url: str | URL, *, pool_size: int = 20, durable: bool = True) -> dict[str, Any]:
    """Return what ``create_engine`` takes beside the URL (Flask-SQLAlchemy: SQLALCHEMY_ENGINE_OPTIONS).

    Not *durable*: a commit does not wait for the server's disk.
    """
    options: dict[str, Any] = {"pool_size": pool_size, "max_overflow": _OVERFLOW, "pool_timeout": BUSY_SECONDS}
    if normal_url(url).get_backend_name() == SQLITE:
        options["connect_args"] = {"check_same_thread": False, "timeout": BUSY_SECONDS}
    else:
        options["connect_args"] = {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": "waypost",
            "options": f"-c timezone=UTC -c lock_timeout={BUSY_SECONDS * 1000}{'' if durable else _NOT_DURABLE}",
        }
    return options


def create_database(
    url: str | URL, *, sqlite_synchronous: str = "FULL", pool_size: int = 20, durable: bool = True
) -> Engine:
    """Return a plain Engine, ready for the stores."""
    engine = create_engine(normal_url(url), **engine_options(url, pool_size=pool_size, durable=durable))
    prepare(engine, sqlite_synchronous=sqlite_synchronous)
    return engine


def prepare(engine: Engine, *, sqlite_synchronous: str = "FULL") -> None:
    """Install what each connection needs. Call once for an engine that something else has made."""
    if engine.dialect.name == SQLITE:
        _prepare_sqlite(engine, sqlite_synchronous)
    else:
        _prepare_server(engine)


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

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # Only a writer takes the write lock, and it takes it at once: a reader never waits for one, and no
        # transaction that has read fails when it comes to write.
        options = connection.get_execution_options()
        if not options.get(NO_TRANSACTION, False):
            connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(WRITES, False) else "BEGIN")


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


def _prepare_server(engine: Engine) -> None:
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
    if engine.dialect.name == SQLITE:
        # SQLAlchemy's own AUTOCOMMIT costs two more statements at each use, and lets the driver begin afterwards.
        return engine.execution_options(**{NO_TRANSACTION: True})
    return engine.execution_options(isolation_level="AUTOCOMMIT")


class Transaction:
    """A connection inside a transaction; failures become the port's."""

    __slots__ = ("connection", "dialect", "writable")

    def __init__(self, connection: Connection, *, writable: bool) -> None:
        self.connection = connection
        self.dialect = connection.dialect.name
        self.writable = writable

    def read(self, statement: Executable, parameters: Parameters | None = None) -> CursorResult[*tuple[Any, ...]]:
        """Run a query. :raises InputInvalid: a text that is looked for holds U+0000."""
        try:
            return self.connection.execute(statement, parameters)
        except DataError as error:
            raise _refusal(error) from error
        except SQLAlchemyError as error:
            raise failure(error) from error

    def write(self, statement: Executable, parameters: Parameters | None = None) -> CursorResult[*tuple[Any, ...]]:
        """Run a statement that changes rows. :raises DuplicateRecord: a unique key is taken."""
        if not self.writable:
            raise Unexpected("workflow.persistence.read_only", code=READ_ONLY)
        try:
            return self.connection.execute(statement, parameters)
        except IntegrityError as error:
            if is_duplicate(error.orig):
                raise DuplicateRecord(str(error.orig)) from error
            raise failure(error) from error
        except DataError as error:
            raise _refusal(error) from error
        except SQLAlchemyError as error:
            raise failure(error) from error

    @contextmanager
    def together(self) -> Iterator[None]:
        """Send the block's statements without waiting for each answer, where the driver can: all of them one trip.

        In the block no result may be looked at; what went wrong is raised at its end at the latest.
        """
        if self.dialect != POSTGRESQL:
            yield
            return
        driver = self.connection.connection.driver_connection
        if not isinstance(driver, psycopg.Connection):
            raise TypeError(f"not a connection of psycopg 3: {driver!r}")
        try:
            with driver.pipeline():
                yield
        except psycopg.IntegrityError as error:
            if is_duplicate(error):
                raise DuplicateRecord(str(error)) from error
            raise failure(error) from error
        except psycopg.Error as error:
            raise failure(error) from error

    def write_counted(self, statement: Executable, parameters: Parameters) -> int:
        """Run a statement that changes rows and return how many; BEGIN travels with it."""
        with self.together():
            result = self.write(statement, parameters)
        return result.context.cursor.rowcount if self.dialect == POSTGRESQL else result.rowcount


def scope(partition: Partition, **values: Any) -> dict[str, Any]:
    """Return a statement's parameters: the values, and the tenant where the tables hold several."""
    if partition is not None:
        values["p_tenant"] = partition
    return values


def _refusal(error: DataError) -> Exception:
    """Return the refusal of a text that PostgreSQL cannot hold; nobody's fault but its sender's (spec 25)."""
    if "NUL" in str(error.orig):
        return InputInvalid("workflow.input.nul")
    return failure(error)


def failure(error: SQLAlchemyError | psycopg.Error) -> StoreFailure:
    """Return the port's failure for the driver's."""
    original = error.orig if isinstance(error, DBAPIError) else error
    return StoreFailure(f"{type(original).__name__}: {original}", transient=is_transient(error))


class Database:
    """One database: an engine with its view for reading and its view for writing."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.dialect = engine.dialect.name
        # PostgreSQL answers a single SELECT in one round trip instead of three when nothing is begun; each store
        # method is one statement, and READ COMMITTED promises no more.
        self._readers = autocommitting(engine) if self.dialect == POSTGRESQL else engine
        self._writers = engine.execution_options(**{WRITES: True})
        # SQLite has one writer. Threads of one process queue for it here: its own waiting sleeps and is not fair.
        self._gate = threading.Lock() if self.dialect == SQLITE else None
        self._thread = threading.local()

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction for reading; it never waits for a writer."""
        try:
            with self._readers.connect() as connection:
                yield Transaction(connection, writable=False)
        except SQLAlchemyError as error:
            raise failure(error) from error

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Open a transaction for writing: commits at the end, rolls back when the block raises."""
        with self._turn():
            try:
                with self._writers.begin() as connection:
                    yield Transaction(connection, writable=True)
            except SQLAlchemyError as error:
                raise failure(error) from error

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if getattr(self._thread, "writes", False):
            raise RuntimeError("a unit of work for writing is open in this thread already")
        if self._gate is not None and not self._gate.acquire(timeout=BUSY_SECONDS):
            raise StoreFailure("the database is busy", transient=True)
        self._thread.writes = True
        try:
            yield
        finally:
            self._thread.writes = False
            if self._gate is not None:
                self._gate.release()
