"""A pooled connection without SQLAlchemy's around it, until somebody asks for that one: the hot path's way (8.10).

SQLAlchemy's connection costs more than most statements of a command: its events, its transaction object, its way back
to the pool. Statements on the driver's own cursor need none of it; an application's statements and savepoints do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, RootTransaction
from sqlalchemy.exc import SQLAlchemyError

from webapp.stores.sql.dialects import DRIVER_ERRORS
from webapp.stores.sql.dialects.sessions import is_lost, of_psycopg


class Borrowed:
    """A connection out of an engine's pool, given back by ``close``.

    *engine* is a view on which SQLAlchemy sends no BEGIN of its own. *autocommit*: each statement is a transaction.
    *begins*: PostgreSQL's BEGIN is sent with the first statement; psycopg would wait for its answer.
    """

    __slots__ = ("_autocommit", "_begins", "_connection", "_engine", "_held_back", "_lent", "_lost", "_root", "driver")

    def __init__(self, engine: Engine, *, autocommit: bool = False, begins: bool = False) -> None:
        self._engine = engine
        self._lent = engine.raw_connection()
        self.driver: Any = self._lent.dbapi_connection
        """The driver's own connection: sqlite3's, psycopg's or PyMySQL's."""
        self._held_back: AbstractContextManager[object] | None = None
        self._connection: Connection | None = None
        self._root: RootTransaction | None = None
        self._lost = False
        # The other drivers are in this state already: they leave every BEGIN to the one who wants it.
        self._autocommit = of_psycopg(self.driver) if autocommit or begins else None
        self._begins = begins and self._autocommit is not None
        if self._autocommit is not None:
            self._autocommit.autocommit = True

    @property
    def dialect(self) -> Dialect:
        """The dialect of the engine."""
        return self._engine.dialect

    @property
    def connection(self) -> Connection:
        """SQLAlchemy's connection, in this transaction; what it is used for ends with it."""
        self.settle()
        self.begin()
        if self._connection is None:
            self._connection = Connection(self._engine, self._lent)
            self._root = self._connection.begin()
            self._root.__enter__()
        return self._connection

    def begin(self) -> None:
        """Send the BEGIN that is owed, if it is."""
        if self._begins:
            self._begins = False
            self.driver.cursor().execute("BEGIN")

    def hold_back(self) -> bool:
        """Send what follows without waiting for its answers, so that the commit travels with it; False: it cannot.

        SQLAlchemy looks at each answer at once.
        """
        driver = of_psycopg(self.driver)
        if driver is None or self._connection is not None:
            return False
        if self._held_back is None:
            self._held_back = driver.pipeline()
            self._held_back.__enter__()
        return True

    def settle(self) -> None:
        """Wait for the answers that were held back, and raise what one of them says."""
        held_back, self._held_back = self._held_back, None
        if held_back is not None:
            held_back.__exit__(None, None, None)

    def commit(self) -> None:
        """Commit."""
        if self._root is not None:
            self._root.__exit__(None, None, None)
        elif self._held_back is None:
            self.driver.commit()
        else:
            self.driver.cursor().execute("COMMIT")
            self.settle()

    def failed(self, error: BaseException) -> None:
        """Roll back because of an error; a connection that is lost leaves the pool, and with it all that rest there."""
        held_back, self._held_back = self._held_back, None
        try:
            if held_back is not None:
                held_back.__exit__(type(error), error, error.__traceback__)
            if self._root is None:
                self.driver.rollback()
            else:
                self._root.__exit__(type(error), error, error.__traceback__)
        except (*DRIVER_ERRORS, SQLAlchemyError):
            # What went wrong first is what is told.
            pass
        if is_lost(self.driver):
            self._lost = True
            if self._lent.is_valid:
                self._lent.invalidate()
            self._engine.dispose()

    def close(self) -> None:
        """Give the connection back; what was not committed is rolled back."""
        if self._autocommit is not None and not self._lost:
            self._autocommit.autocommit = False
        if self._connection is not None:
            self._connection.close()
        elif not self._lost:
            self._lent.close()


@contextmanager
def borrowed(engine: Engine, *, autocommit: bool = False, begins: bool = False) -> Iterator[Borrowed]:
    """Lend a connection to the block; what it does not commit is rolled back."""
    lent = Borrowed(engine, autocommit=autocommit, begins=begins)
    try:
        yield lent
    except BaseException as error:
        lent.failed(error)
        raise
    finally:
        lent.close()
