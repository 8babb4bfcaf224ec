"""Leases in SQL: a table of its own engine and pool, in SQLite a file of its own (spec 8.6, 8.10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from sqlalchemy import (
    URL,
    Engine,
    Text,
    Update,
    bindparam,
    delete,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.exc import DatabaseError, SQLAlchemyError
from sqlalchemy.sql.dml import Insert

from webapp.engine.clock import Clock, IdSource, SystemIds
from webapp.engine.ports.stores import DuplicateRecord
from webapp.stores.leasing import LeaseRow, RowLeases
from webapp.stores.processes import ProcessIdentity, this_process
from webapp.stores.sql.borrowing import borrowed
from webapp.stores.sql.database import Transaction, create_database, failure, is_watched
from webapp.stores.sql.dialects import (
    DRIVER_ERRORS,
    SQLITE,
    among,
    begins_with,
    has_clock,
    lease_clock,
    listed,
    replace_each_if,
    replace_if,
)
from webapp.stores.sql.dialects.migrating import one_at_a_time
from webapp.stores.sql.dialects.sessions import WRITES, autocommitting, normal_url
from webapp.stores.sql.platform_tables import LEASES

_POOL_SIZE = 10
_DAMAGE = ("SQLITE_NOTADB", "SQLITE_CORRUPT")


def create_lease_database(url: str | URL, *, pool_size: int = _POOL_SIZE, apart: bool = False) -> Engine:
    """Return the engine of the leases. An SQLite file is made if missing, and made anew if damaged.

    *apart*: on a server, the database is not the main one, whose migrations make the table; here it is made at once.
    Nothing in it needs to outlive a power cut, so that no step waits for a disk: what a lost lease lets through, the
    instance's revision stops.

    :raises webapp.engine.ports.stores.StoreFailure: it cannot be reached, or the table cannot be made.
    """
    parsed = normal_url(url)
    if parsed.get_backend_name() != SQLITE:
        engine = create_database(parsed, pool_size=pool_size, durable=False)
        if apart:
            _make_table_on_server(engine)
        return engine
    engine = create_database(parsed, sqlite_synchronous="OFF", pool_size=pool_size)
    if not _make_table(engine):
        engine.dispose()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{parsed.database}{suffix}").unlink(missing_ok=True)
        _make_table(engine)
    return engine


def _make_table(engine: Engine) -> bool:
    """Make the table if it is missing; False: the file is damaged or of another shape.

    Two processes that start together take turns. A busy file is not a damaged one: it must never be removed from
    under a process that works.
    """
    try:
        with engine.execution_options(**{WRITES: True}).begin() as connection:
            if connection.execute(text("PRAGMA quick_check")).scalar() != "ok":
                return False
            LEASES.create(connection, checkfirst=True)
            found = {column["name"] for column in inspect(connection).get_columns(LEASES.name)}
            return found == set(LEASES.columns.keys())
    except DatabaseError as error:
        if str(getattr(error.orig, "sqlite_errorname", "")).startswith(_DAMAGE):
            return False
        raise failure(error) from error


def _make_table_on_server(engine: Engine) -> None:
    try:
        with engine.begin() as connection, one_at_a_time(connection):
            LEASES.create(connection, checkfirst=True)
            connection.execute(select(LEASES).limit(1))
    except SQLAlchemyError as error:
        engine.dispose()
        raise failure(error) from error


class SqlLeaseRows:
    """The table of leases; each step commits at once, so that every other process sees it."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = autocommitting(engine)
        self._clock = clock
        dialect = engine.dialect.name
        self._by_parameters = not has_clock(dialect)
        now, until = lease_clock(dialect)
        holder, stamp = bindparam("p_holder", type_=Text()), bindparam("p_stamp", type_=Text())
        new = {"name": bindparam("p_name"), "holder": holder, "stamp": stamp}
        named = LEASES.c.name == bindparam("p_name")
        stamped = LEASES.c.stamp == bindparam("p_old_stamp")
        is_over = LEASES.c.expires_at <= now
        self._take: Insert = replace_if(dialect, LEASES, new | {"expires_at": until}, is_over)
        # Where taking refuses whatever is there already.
        self._take_expired: Update = (
            update(LEASES).where(named, is_over).values(holder=holder, stamp=stamp, expires_at=until)
        )
        self._beat: Insert = replace_if(dialect, LEASES, new | {"expires_at": until})
        self._read = select(LEASES.c.holder, LEASES.c.stamp).where(named)
        self._take_over: Update = (
            update(LEASES).where(named, stamped).values(holder=holder, stamp=stamp, expires_at=until)
        )
        self._renew: Update = update(LEASES).where(named, stamped).values(expires_at=until)
        self._drop = delete(LEASES).where(named, stamped)
        self._drop_many = delete(LEASES).where(among(dialect, LEASES.c.name, "p_names"), stamped)
        self._take_many = replace_each_if(
            dialect, LEASES, "name", {"holder": holder, "stamp": stamp, "expires_at": until}, is_over
        )
        self._holders = select(LEASES.c.holder).where(
            begins_with(LEASES.c.name, bindparam("p_prefix", type_=Text())),
            LEASES.c.expires_at > now,
        )
        self._sweep = delete(LEASES).where(LEASES.c.expires_at <= until)

    def take(self, name: str, row: LeaseRow, seconds: float) -> bool:
        """Insert the row, or take over an expired one."""
        parameters = {"p_name": name, "p_holder": row.holder, "p_stamp": row.stamp, **self._expiry(seconds)}
        with self._connection() as transaction:
            try:
                return transaction.write(self._take, parameters | self._now()).rowcount == 1
            except DuplicateRecord:
                return transaction.write(self._take_expired, parameters | self._now()).rowcount == 1

    def take_many(self, names: Sequence[str], row: LeaseRow, seconds: float) -> list[str]:
        """Do as ``take`` does for each name, in one step where the dialect can."""
        if self._take_many is None:
            return [name for name in names if self.take(name, row, seconds)]
        # In order, so that two who want the same ones cannot wait for each other.
        parameters = {"p_names": listed(self._engine.dialect.name, sorted(names)), **self._expiry(seconds)}
        parameters |= {"p_holder": row.holder, "p_stamp": row.stamp}
        with self._connection() as transaction:
            return [name for (name,) in transaction.write_rows(self._take_many, parameters | self._now())]

    def read(self, name: str) -> LeaseRow | None:
        """Return the row, or None."""
        with self._connection() as transaction:
            found = transaction.rows(self._read, {"p_name": name})
        return LeaseRow(*found[0]) if found else None

    def take_over(self, name: str, row: LeaseRow, old_stamp: str, seconds: float) -> bool:
        """Replace the row that has the old stamp."""
        parameters = {"p_name": name, "p_holder": row.holder, "p_stamp": row.stamp, "p_old_stamp": old_stamp}
        with self._connection() as transaction:
            return transaction.write(self._take_over, {**parameters, **self._expiry(seconds)}).rowcount == 1

    def renew(self, name: str, stamp: str, seconds: float) -> bool:
        """Move the expiry of the row with that stamp."""
        parameters = {"p_name": name, "p_old_stamp": stamp, **self._expiry(seconds)}
        with self._connection() as transaction:
            return transaction.write(self._renew, parameters).rowcount == 1

    def drop(self, name: str, stamp: str) -> None:
        """Delete the row with that stamp."""
        with self._connection() as transaction:
            transaction.write(self._drop, {"p_name": name, "p_old_stamp": stamp})

    def drop_many(self, names: Sequence[str], stamp: str) -> None:
        """Delete the rows of these names that have that stamp."""
        parameters = {"p_names": listed(self._engine.dialect.name, sorted(names)), "p_old_stamp": stamp}
        with self._connection() as transaction:
            transaction.write(self._drop_many, parameters)

    def beat(self, name: str, row: LeaseRow, seconds: float) -> None:
        """Insert or replace a row that only says that somebody is alive."""
        parameters = {"p_name": name, "p_holder": row.holder, "p_stamp": row.stamp, **self._expiry(seconds)}
        with self._connection() as transaction:
            transaction.write(self._beat, parameters)

    def holders(self, prefix: str) -> Sequence[str]:
        """Return who holds the unexpired rows whose names begin so."""
        with self._connection() as transaction:
            return [row[0] for row in transaction.rows(self._holders, {"p_prefix": prefix, **self._now()})]

    def sweep(self, seconds: float) -> int:
        """Delete the rows that have been over for so long."""
        with self._connection() as transaction:
            return transaction.write(self._sweep, self._expiry(-seconds)).rowcount

    def _now(self) -> dict[str, object]:
        return {"p_now": self._clock.now()} if self._by_parameters else {}

    def _expiry(self, seconds: float) -> dict[str, object]:
        if self._by_parameters:
            return {"p_until": self._clock.now() + timedelta(seconds=seconds)}
        return {"p_seconds": seconds}

    @contextmanager
    def _connection(self) -> Iterator[Transaction]:
        try:
            if is_watched(self._engine):
                with self._engine.connect() as connection:
                    yield Transaction(connection, writable=True)
            else:
                with borrowed(self._engine, autocommit=True) as lent:
                    yield Transaction(lent, writable=True)
        except (*DRIVER_ERRORS, SQLAlchemyError) as error:
            raise failure(error) from error


class SqlLeases(RowLeases):
    """Leases that every process on the same database respects."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        *,
        holder_id: str = "",
        lease_seconds: float = 60,
        lock_timeout_seconds: float = 10,
        process_identity: ProcessIdentity | None = None,
        ids: IdSource | None = None,
    ) -> None:
        super().__init__(
            SqlLeaseRows(engine, clock),
            ids=ids or SystemIds(),
            identity=process_identity or this_process(),
            holder_id=holder_id,
            lease_seconds=lease_seconds,
            lock_timeout_seconds=lock_timeout_seconds,
        )
