"""Leases in SQL: a table of its own engine and pool, in SQLite a file of its own (spec 8.6, 8.10)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Text,
    Update,
    bindparam,
    delete,
    inspect,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.exc import DatabaseError, SQLAlchemyError
from sqlalchemy.sql.dml import Insert

from webapp.engine.clock import Clock, IdSource, SystemIds
from webapp.stores.leasing import LeaseRow, RowLeases
from webapp.stores.processes import ProcessIdentity, this_process
from webapp.stores.sql.database import WRITES, autocommitting, create_database, failure, normal_url
from webapp.stores.sql.dialects import POSTGRESQL, SQLITE, Instant, begins_with, insert_into, lease_clock
from webapp.stores.sql.tables import LEASES

_POOL_SIZE = 10
_DAMAGE = ("SQLITE_NOTADB", "SQLITE_CORRUPT")


def create_lease_database(url: str | URL, *, pool_size: int = _POOL_SIZE) -> Engine:
    """Return the engine of the leases. An SQLite file is made if missing, and made anew if damaged.

    Nothing in it needs to outlive a power cut, so that no step waits for a disk: what a lost lease lets through, the
    instance's revision stops.
    """
    parsed = normal_url(url)
    if parsed.get_backend_name() != SQLITE:
        return create_database(parsed, pool_size=pool_size, durable=False)
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


class SqlLeaseRows:
    """The table of leases; each step commits at once, so that every other process sees it."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = autocommitting(engine)
        self._clock = clock
        self._by_parameters = engine.dialect.name != POSTGRESQL
        now, until = lease_clock(engine.dialect.name)
        holder, stamp = bindparam("p_holder", type_=Text()), bindparam("p_stamp", type_=Text())
        new = {"name": bindparam("p_name"), "holder": holder, "stamp": stamp}
        named = LEASES.c.name == bindparam("p_name")
        stamped = LEASES.c.stamp == bindparam("p_old_stamp")
        take = insert_into(engine.dialect.name, LEASES).values(**new, expires_at=until)
        self._take: Insert = take.on_conflict_do_update(
            index_elements=["name"],
            set_={name: take.excluded[name] for name in ("holder", "stamp", "expires_at")},
            where=LEASES.c.expires_at <= now,
        ).execution_options(preserve_rowcount=True)
        beat = insert_into(engine.dialect.name, LEASES).values(**new, expires_at=bindparam("p_until", type_=Instant()))
        self._beat: Insert = beat.on_conflict_do_update(
            index_elements=["name"],
            set_={name: beat.excluded[name] for name in ("holder", "stamp", "expires_at")},
        )
        self._read = select(LEASES.c.holder, LEASES.c.stamp).where(named)
        self._take_over: Update = (
            update(LEASES).where(named, stamped).values(holder=holder, stamp=stamp, expires_at=until)
        )
        self._renew: Update = update(LEASES).where(named, stamped).values(expires_at=until)
        self._drop = delete(LEASES).where(named, stamped)
        self._live = (
            select(literal(1))
            .where(
                begins_with(LEASES.c.name, bindparam("p_prefix", type_=Text())),
                LEASES.c.expires_at > bindparam("p_at", type_=Instant()),
            )
            .limit(1)
        )

    def take(self, name: str, row: LeaseRow, seconds: float) -> bool:
        """Insert the row, or take over an expired one."""
        parameters = {"p_name": name, "p_holder": row.holder, "p_stamp": row.stamp, **self._expiry(seconds)}
        if self._by_parameters:
            parameters["p_now"] = self._clock.now()
        with self._connection() as connection:
            return connection.execute(self._take, parameters).rowcount == 1

    def read(self, name: str) -> LeaseRow | None:
        """Return the row, or None."""
        with self._connection() as connection:
            row = connection.execute(self._read, {"p_name": name}).first()
        return None if row is None else LeaseRow(row.holder, row.stamp)

    def take_over(self, name: str, row: LeaseRow, old_stamp: str, seconds: float) -> bool:
        """Replace the row that has the old stamp."""
        parameters = {"p_name": name, "p_holder": row.holder, "p_stamp": row.stamp, "p_old_stamp": old_stamp}
        with self._connection() as connection:
            return connection.execute(self._take_over, {**parameters, **self._expiry(seconds)}).rowcount == 1

    def renew(self, name: str, stamp: str, seconds: float) -> bool:
        """Move the expiry of the row with that stamp."""
        parameters = {"p_name": name, "p_old_stamp": stamp, **self._expiry(seconds)}
        with self._connection() as connection:
            return connection.execute(self._renew, parameters).rowcount == 1

    def drop(self, name: str, stamp: str) -> None:
        """Delete the row with that stamp."""
        with self._connection() as connection:
            connection.execute(self._drop, {"p_name": name, "p_old_stamp": stamp})

    def beat(self, name: str, row: LeaseRow, until: datetime) -> None:
        """Insert or replace a row that only says that somebody is alive."""
        parameters = {"p_name": name, "p_holder": row.holder, "p_stamp": row.stamp, "p_until": until}
        with self._connection() as connection:
            connection.execute(self._beat, parameters)

    def live(self, prefix: str, now: datetime) -> bool:
        """Whether an unexpired row has a name that begins so."""
        with self._connection() as connection:
            return connection.execute(self._live, {"p_prefix": prefix, "p_at": now}).first() is not None

    def _expiry(self, seconds: float) -> dict[str, object]:
        if self._by_parameters:
            return {"p_until": self._clock.now() + timedelta(seconds=seconds)}
        return {"p_seconds": seconds}

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
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
