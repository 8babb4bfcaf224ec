"""Engines and transactions: how a database is opened, read without waiting, and written by one transaction at a time.

``db`` is for Flask's side; the stores take a plain Engine, because the poller's threads have no app context.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import psycopg
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import URL, Connection, CursorResult, Engine, Executable, create_engine
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection

from webapp.engine.errors import READ_ONLY, InputInvalid, Unexpected
from webapp.engine.numbers import encode
from webapp.engine.ports.partitions import Fenced
from webapp.engine.ports.stores import DuplicateRecord, Partition, StoreFailure
from webapp.stores.sql.borrowing import Borrowed, borrowed
from webapp.stores.sql.columns import METADATA
from webapp.stores.sql.dialects import (
    DRIVER_ERRORS,
    INTEGRITY_ERRORS,
    MARIADB,
    POSTGRESQL,
    SQLITE,
    DriverError,
    is_duplicate,
    is_fenced,
    is_full,
    is_nul,
    is_transient,
)
from webapp.stores.sql.dialects.sessions import (
    BUSY_SECONDS,
    NO_TRANSACTION,
    WRITES,
    autocommitting,
    begin_statement,
    connect_options,
    normal_url,
    prepare,
    reads_singly,
)
from webapp.stores.sql.direct import Direct, direct
from webapp.stores.sql.fence_table import FAILS_FENCED, IS_FENCED

db = SQLAlchemy(metadata=METADATA)

_OVERFLOW = 5

Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class Written(Protocol):
    """What a statement that changes rows leaves: how many it changed."""

    @property
    def rowcount(self) -> int:
        """The number of rows."""


def engine_options(url: str | URL, *, pool_size: int = 20, durable: bool = True) -> dict[str, Any]:
    """Return what ``create_engine`` takes beside the URL (Flask-SQLAlchemy: SQLALCHEMY_ENGINE_OPTIONS).

    Not *durable*: a commit does not wait for the server's disk.
    """
    sizes = {"pool_size": pool_size, "max_overflow": _OVERFLOW, "pool_timeout": BUSY_SECONDS}
    return sizes | connect_options(normal_url(url), durable=durable)


def create_database(
    url: str | URL, *, sqlite_synchronous: str = "FULL", pool_size: int = 20, durable: bool = True
) -> Engine:
    """Return a plain Engine, ready for the stores."""
    engine = create_engine(normal_url(url), **engine_options(url, pool_size=pool_size, durable=durable))
    prepare(engine, sqlite_synchronous=sqlite_synchronous)
    return engine


def is_watched(source: Engine | Connection) -> bool:
    """Whether somebody listens to the statements, as a test that counts them does: then all go SQLAlchemy's way."""
    return bool(source.dispatch.before_cursor_execute)


class Transaction:
    """A connection inside a transaction; failures become the port's.

    Made of SQLAlchemy's connection, or of a borrowed one, on which statements take the shorter way.
    """

    __slots__ = ("_borrowed", "_connection", "_dialect", "_sending", "dialect", "has_written", "writable")

    def __init__(self, connection: Connection | Borrowed, *, writable: bool) -> None:
        self._borrowed = connection if isinstance(connection, Borrowed) else None
        self._connection = None if isinstance(connection, Borrowed) else connection
        self._sending = False
        self._dialect = connection.dialect
        self.dialect = self._dialect.name
        self.writable = writable
        self.has_written = False

    @property
    def connection(self) -> Connection:
        """SQLAlchemy's connection."""
        if self._connection is None:
            assert self._borrowed is not None  # noqa: S101  # it is made of one or the other
            with _driver_refusals():
                self._connection = self._borrowed.connection
        return self._connection

    def read(self, statement: Executable, parameters: Parameters | None = None) -> CursorResult[*tuple[Any, ...]]:
        """Run a query. :raises InputInvalid: a text that is looked for holds U+0000."""
        try:
            return self.connection.execute(statement, parameters)
        except DataError as error:
            raise _refusal(error) from error
        except SQLAlchemyError as error:
            raise failure(error) from error

    def rows(self, statement: Executable, parameters: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """Run a query of the hot path and return its rows.

        :raises InputInvalid: a text that is looked for holds U+0000.
        """
        found = None if self._is_watched else direct(statement, self._dialect, parameters)
        if found is None:
            return self.read(statement, parameters).all()
        try:
            return found.fetch(self._driver.cursor(), parameters)
        except DRIVER_ERRORS as error:
            raise _driver_refusal(error) from error

    def mappings(self, statement: Executable, parameters: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Do as ``rows`` does, each row by the names of its columns."""
        found = None if self._is_watched else direct(statement, self._dialect, parameters)
        if found is None:
            return [dict(row) for row in self.read(statement, parameters).mappings()]
        names = found.names
        return [dict(zip(names, row, strict=True)) for row in self.rows(statement, parameters)]

    def write(self, statement: Executable, parameters: Parameters) -> Written:
        """Run a statement that changes rows. :raises DuplicateRecord: a unique key is taken."""
        self._require_writable()
        if not self._is_watched:
            names = parameters if isinstance(parameters, Mapping) else parameters[0]
            found = direct(statement, self._dialect, names)
            if found is not None:
                return self._write_direct(found, parameters)
        return self.write_returning(statement, parameters)

    def write_all(self, single: Executable, many: Executable | None, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert rows, if there are any; *many*, where the dialect has it, takes several as one JSON text ``rows``."""
        if many is not None and len(rows) > 1:
            self.write(many, {"rows": encode(rows).decode()})
        elif rows:
            self.write(single, rows)

    def write_rows(self, statement: Executable, parameters: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """Run a statement that changes rows and return what it tells of them."""
        self._require_writable()
        found = None if self._is_watched else direct(statement, self._dialect, parameters)
        if found is None:
            return self.write_returning(statement, parameters).all()
        try:
            return found.fetch(self._driver.cursor(), parameters)
        except DRIVER_ERRORS as error:
            raise _driver_refusal(error) from error

    def write_returning(self, statement: Executable, parameters: Parameters) -> CursorResult[*tuple[Any, ...]]:
        """Run a statement that changes rows and tells of them. :raises DuplicateRecord: a unique key is taken."""
        self._require_writable()
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

    def _require_writable(self) -> None:
        if not self.writable:
            raise Unexpected("workflow.persistence.read_only", code=READ_ONLY)
        self.has_written = True

    def require_unfenced(self, tenant: str) -> None:
        """Let nobody put up a fence for the tenant before this transaction ends. :raises Fenced: there is one."""
        if self.rows(IS_FENCED, {"p_tenant": tenant}):
            raise Fenced(f"tenant {tenant}")

    def end_unfenced(self, tenant: str) -> None:
        """Do so with what is left of the transaction being its commit, which may be what raises."""
        if self.dialect != POSTGRESQL:
            self.require_unfenced(tenant)
            return
        with self.last():
            self.write(FAILS_FENCED, {"p_tenant": tenant})

    @property
    def _is_watched(self) -> bool:
        return self._borrowed is None and is_watched(self.connection)

    @property
    def _driver(self) -> DBAPIConnection | PoolProxiedConnection:
        if self._borrowed is None:
            return self.connection.connection
        with _driver_refusals():
            if not self._sending:
                self._borrowed.settle()
            self._borrowed.begin()
        driver: DBAPIConnection = self._borrowed.driver
        return driver

    def _write_direct(self, statement: Direct, parameters: Parameters) -> DBAPICursor:
        cursor = self._driver.cursor()
        try:
            if isinstance(parameters, Mapping):
                statement.execute(cursor, parameters)
            else:
                statement.execute_many(cursor, parameters)
        except DRIVER_ERRORS as error:
            raise _driver_refusal(error) from error
        return cursor

    @contextmanager
    def together(self) -> Iterator[None]:
        """Send the block's statements without waiting for each answer, where the driver can: all of them one trip.

        In the block no result may be looked at; what went wrong is raised at its end at the latest.
        """
        if self.dialect != POSTGRESQL:
            yield
            return
        if self._borrowed is None:
            driver = self.connection.connection.driver_connection
        else:
            with _driver_refusals():
                self._borrowed.settle()
            driver = self._borrowed.driver
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

    @contextmanager
    def last(self) -> Iterator[None]:
        """Do as ``together`` does, and have the commit travel in the same trip, unless something is asked before.

        What went wrong is then raised by the commit.
        """
        if self._borrowed is None or not self._borrowed.hold_back():
            with self.together():
                yield
            return
        self._sending = True
        try:
            yield
        finally:
            self._sending = False

    def write_once(self, statement: Executable, parameters: Parameters) -> int:
        """Run an insert of ``insert_once`` or ``replace_if`` and return how many rows it wrote: 1 or none."""
        try:
            return self.write_counted(statement, parameters)
        except DuplicateRecord:
            if self.dialect != MARIADB:
                raise
            # There a statement that fails leaves the transaction as it was.
            return 0

    def write_counted(self, statement: Executable, parameters: Parameters) -> int:
        """Run a statement that changes rows and return how many; BEGIN travels with it."""
        with self.together():
            result = self.write(statement, parameters)
        if isinstance(result, CursorResult) and self.dialect == POSTGRESQL:
            # SQLAlchemy asked for the count before the answer was there.
            return result.context.cursor.rowcount
        return result.rowcount

    def write_many_counted(
        self, single: Executable, many: Executable | None, parameters: Sequence[Mapping[str, Any]]
    ) -> int:
        """Run a statement that changes rows once a set of parameters and return how many rows; BEGIN travels with it.

        *many*, where the dialect has it, does the same at once, with the sets as one JSON text ``rows``.
        """
        if many is not None:
            return self.write_counted(many, {"rows": encode(parameters).decode()})
        if self.dialect == SQLITE:
            return self.write(single, parameters).rowcount
        return sum(self.write_counted(single, values) for values in parameters)


def scope(partition: Partition, **values: Any) -> dict[str, Any]:
    """Return a statement's parameters: the values, and the tenant where the tables hold several."""
    if partition is not None:
        values["p_tenant"] = partition
    return values


def _refusal(error: DataError) -> Exception:
    """Return the refusal of a text that PostgreSQL cannot hold; nobody's fault but its sender's (spec 25)."""
    return InputInvalid("workflow.input.nul") if is_nul(error.orig) else failure(error)


def _driver_refusal(error: DriverError) -> Exception:
    if isinstance(error, INTEGRITY_ERRORS):
        # Perhaps of a statement before this one, whose answer nobody waited for.
        return DuplicateRecord(str(error)) if is_duplicate(error) else failure(error)
    return InputInvalid("workflow.input.nul") if is_nul(error) else failure(error)


@contextmanager
def _driver_refusals() -> Iterator[None]:
    """Tell in the port's words what an answer says that was held back."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise _driver_refusal(error) from error


def failure(error: SQLAlchemyError | DriverError) -> StoreFailure:
    """Return the port's failure for the driver's."""
    original = error.orig if isinstance(error, DBAPIError) else error
    if is_fenced(original):
        return Fenced(str(original))
    return StoreFailure(f"{type(original).__name__}: {original}", transient=is_transient(error), full=is_full(error))


class Database:
    """One database: an engine with its view for reading and its view for writing."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.dialect = engine.dialect.name
        self._readers = autocommitting(engine) if reads_singly(self.dialect) else engine
        self._writers = engine.execution_options(**{WRITES: True})
        # On it nothing begins but what is begun here.
        self._plain = engine.execution_options(**{NO_TRANSACTION: True})
        # SQLite has one writer. Threads of one process queue for it here: its own waiting sleeps and is not fair.
        self._gate = threading.Lock() if self.dialect == SQLITE else None
        self._thread = threading.local()
        self.before_commit: Callable[[Callable[[], Connection]], None] | None = None
        """Called at the end of each transaction for writing, with what gives SQLAlchemy's connection."""

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction for reading; it never waits for a writer."""
        if not is_watched(self.engine):
            with self._borrowed() as borrowed:
                yield Transaction(borrowed, writable=False)
            return
        try:
            with self._readers.connect() as connection:
                yield Transaction(connection, writable=False)
        except SQLAlchemyError as error:
            raise failure(error) from error

    @contextmanager
    def writing(self, tenant: Partition = None) -> Iterator[Transaction]:
        """Open a transaction for writing: commits at the end, rolls back when the block raises.

        :raises Fenced: it has written, and the *tenant* whose rows it writes is fenced off.
        """
        with self._turn():
            if not is_watched(self.engine):
                with self._borrowed(writes=True) as borrowed:
                    transaction = Transaction(borrowed, writable=True)
                    yield transaction
                    self._before_commit(lambda: borrowed.connection, transaction, tenant)
                return
            try:
                with self._writers.begin() as connection:
                    transaction = Transaction(connection, writable=True)
                    yield transaction
                    self._before_commit(lambda: connection, transaction, tenant)
            except SQLAlchemyError as error:
                raise failure(error) from error

    def _before_commit(self, connection: Callable[[], Connection], transaction: Transaction, tenant: Partition) -> None:
        if self.before_commit is not None:
            self.before_commit(connection)
        if tenant is not None and transaction.has_written:
            transaction.end_unfenced(tenant)

    @contextmanager
    def _borrowed(self, *, writes: bool = False) -> Iterator[Borrowed]:
        """Lend a connection, in a transaction unless it is only read and needs none."""
        singly = not writes and reads_singly(self.dialect)
        begin = None if singly else begin_statement(self.dialect, writes=writes)
        try:
            with borrowed(self._plain, autocommit=singly, begins=writes) as lent:
                if begin is not None:
                    lent.driver.cursor().execute(begin)
                yield lent
                if writes:
                    lent.commit()
        except (*DRIVER_ERRORS, SQLAlchemyError) as error:
            if isinstance(error, INTEGRITY_ERRORS) and is_duplicate(error):
                # Told by the commit, because nobody waited for the statement's own answer.
                raise DuplicateRecord(str(error)) from error
            raise failure(error) from error

    @contextmanager
    def turn_taken(self) -> Iterator[None]:
        """Refuse transactions for writing in this thread: it is in another one, which they would wait for."""
        with self._marked(writes=True):
            yield

    @contextmanager
    def turn_given_back(self) -> Iterator[None]:
        """Allow them again, although the thread was marked."""
        with self._marked(writes=False):
            yield

    @contextmanager
    def _marked(self, *, writes: bool) -> Iterator[None]:
        before = getattr(self._thread, "writes", False)
        self._thread.writes = writes
        try:
            yield
        finally:
            self._thread.writes = before

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
