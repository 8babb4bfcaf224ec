"""A host application's SQLAlchemy session, joined: its connection, its commit, its savepoints (spec 3.1, 8.10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pymysql
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, SessionTransaction, scoped_session

from webapp.engine.errors import Unexpected
from webapp.stores.sql.database import Database, Transaction, failure
from webapp.stores.sql.dialects import MARIADB, POSTGRESQL, SQLITE
from webapp.stores.sql.dialects.sessions import SQL_MODE, WRITES
from webapp.stores.sql.unit_of_work import SqlUnitOfWork

_JOINED = "waypost_joined"
_LISTENS = "waypost_listens"
_IMMEDIATE = "waypost_immediate"

_FACTS_POSTGRESQL = text(
    "SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only') = 'on',"
    " pg_postmaster_start_time()::text, (SELECT oid::text FROM pg_database WHERE datname = current_database()),"
    " to_regclass('instances')::oid::text"
)

_FACTS_MARIADB = text(
    "SELECT replace(lower(@@session.tx_isolation), '-', ' '), @@session.tx_read_only = 1,"
    " @@hostname, @@port, @@datadir, database()"
)
_MODE_MARIADB = text("SELECT @@session.sql_mode")
_FACTS = {POSTGRESQL: (_FACTS_POSTGRESQL, psycopg.Connection), MARIADB: (_FACTS_MARIADB, pymysql.Connection)}
"""Isolation, whether only reading is allowed, and what tells the server and the database; the driver that is known."""

Call = Callable[[], None]


class SqlHostTransaction:
    """One root transaction of a session."""

    def __init__(self, database: Database, session: Session, root: SessionTransaction, connection: Connection) -> None:
        self.root = root
        self._transaction = Transaction(connection, writable=True)
        self.work = SqlUnitOfWork(self._transaction)
        self._database = database
        self._session = session
        self._committed: set[SessionTransaction] = set()
        self._tells: dict[SessionTransaction, list[Call]] = {}
        self._releases: list[Call] = []
        if not session.info.get(_LISTENS):
            # Once a session: what listens cannot be removed while it is being told.
            session.info[_LISTENS] = True
            event.listen(session, "after_commit", _after_commit)
            event.listen(session, "after_transaction_end", _after_transaction_end)

    def require_unfenced(self, tenant: str) -> None:
        """Let nobody put up a fence for the tenant before the end. :raises Fenced: there is one."""
        self._transaction.require_unfenced(tenant)

    def at_end(self, release: Call) -> None:
        """Note what is done at the end."""
        self._releases.append(release)

    def after_commit(self, tell: Call) -> None:
        """Note what is done after the commit, with the savepoint that it depends on."""
        self._tells.setdefault(self._session.get_nested_transaction() or self.root, []).append(tell)

    def abandon(self) -> None:
        """Let go of everything."""
        self._end(committed=False)

    def committed(self) -> None:
        """Note that the innermost savepoint, or the root, was committed; its end follows."""
        self._committed.add(self._session.get_nested_transaction() or self.root)

    def ended(self, ended: SessionTransaction) -> None:
        """Settle what depends on a savepoint, or on the root."""
        if ended is self.root:
            self._end(committed=ended in self._committed)
        elif ended.nested:
            tells = self._tells.pop(ended, [])
            if ended in self._committed:
                self._tells.setdefault(self._session.get_nested_transaction() or self.root, []).extend(tells)

    def _end(self, *, committed: bool) -> None:
        if self._session.info.get(_JOINED) is not self:
            return
        del self._session.info[_JOINED]
        tells = self._tells.get(self.root, []) if committed else []
        with self._database.turn_given_back():
            for call in (*self._releases, *tells):
                call()


def _after_commit(session: Session) -> None:
    joined: SqlHostTransaction | None = session.info.get(_JOINED)
    if joined is not None:
        # Told for savepoints too: only the root's end after its commit is the commit.
        joined.committed()


def _after_transaction_end(session: Session, ended: SessionTransaction) -> None:
    joined: SqlHostTransaction | None = session.info.get(_JOINED)
    if joined is not None:
        joined.ended(ended)


class SqlHostSession:
    """A session that calls of services join."""

    def __init__(self, database: Database, session: object, *, read_only: bool) -> None:
        found = session() if isinstance(session, scoped_session) else session
        if not isinstance(found, Session):
            raise TypeError(f"not a session of SQLAlchemy: {session!r}")
        self.read_only = read_only
        self._session: Session = found
        self._database = database

    def begin(self) -> None:
        """Begin the session's transaction so that it may be joined for writing: in SQLite, IMMEDIATE."""
        session = self._session
        if session.in_transaction():
            connection = session.connection()
        else:
            connection = session.connection(execution_options={WRITES: True})
        self._begin_immediate(connection)

    def transaction(self) -> SqlHostTransaction:
        """Return the present root transaction."""
        session = self._session
        if session.autoflush:
            # As a query of the session would; what fails here is the host's own, and stays what it is.
            session.flush()
        try:
            connection = session.connection() if session.in_transaction() else self._begun()
        except SQLAlchemyError as error:
            raise failure(error) from error
        root = session.get_transaction()
        known: SqlHostTransaction | None = session.info.get(_JOINED)
        if known is not None and known.root is root:
            return known
        if known is not None:
            known.abandon()
        assert root is not None  # noqa: S101  # a session with a connection has one
        self._check(connection)
        joined = SqlHostTransaction(self._database, session, root, connection)
        session.info[_JOINED] = joined
        return joined

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Let this thread write in no other transaction."""
        with self._database.turn_taken():
            yield

    def _begun(self) -> Connection:
        self.begin()
        return self._session.connection()

    def _begin_immediate(self, connection: Connection) -> None:
        if connection.dialect.name != SQLITE:
            return
        if not _driver(connection).in_transaction:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        elif not connection.get_execution_options().get(WRITES, False):
            raise _refused("not_immediate")
        self._session.info[_IMMEDIATE] = self._session.get_transaction()

    def _check(self, connection: Connection) -> None:
        name, own = connection.dialect.name, self._database.dialect
        if name != own:
            raise _refused("other_database", host=str(connection.engine.url), own=str(self._database.engine.url))
        if name == SQLITE:
            self._check_file(connection)
        else:
            self._check_server(connection)

    def _check_file(self, connection: Connection) -> None:
        own = Path(self._database.engine.url.database or "")
        files = [Path(row[2]) for row in connection.exec_driver_sql("PRAGMA database_list") if row[1] == "main"]
        if not (files and files[0].is_file() and own.is_file() and files[0].samefile(own)):
            raise _refused("other_database", host=str(connection.engine.url), own=str(self._database.engine.url))
        if not self.read_only and not self._immediate(connection):
            raise _refused("not_immediate")

    def _immediate(self, connection: Connection) -> bool:
        begun = self._session.info.get(_IMMEDIATE)
        if begun is not None and begun is self._session.get_transaction():
            return True
        if not _driver(connection).in_transaction:
            # The session has begun, but nothing has reached the database yet.
            self._begin_immediate(connection)
            return True
        return bool(connection.get_execution_options().get(WRITES, False))

    def _check_server(self, connection: Connection) -> None:
        facts, driver = _FACTS[connection.dialect.name]
        if not isinstance(_driver(connection), driver):
            wanted = {"wanted": driver.__module__.partition(".")[0], "scheme": self._database.engine.url.drivername}
            raise _refused("driver", driver=connection.dialect.driver, **wanted)
        isolation, only_reads, *place = connection.execute(facts).one()
        with self._database.reading() as own:
            _, _, *own_place = own.read(facts).one()
        if place != own_place:
            raise _refused("other_database", host=str(connection.engine.url), own=str(self._database.engine.url))
        if isolation != "read committed" and not self.read_only:
            raise _refused("isolation", isolation=isolation)
        if connection.dialect.name == MARIADB and not self.read_only:
            missing = set(SQL_MODE.split(",")) - set(connection.execute(_MODE_MARIADB).scalar_one().split(","))
            if missing:
                raise _refused("sql_mode", missing=", ".join(sorted(missing)))
        self.read_only = self.read_only or bool(only_reads)


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


def _refused(reason: str, **params: object) -> Unexpected:
    return Unexpected(f"workflow.host.{reason}", params=params)
