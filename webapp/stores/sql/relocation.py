"""Backups and copies of databases, named by their URLs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

from webapp.engine.errors import InputInvalid
from webapp.engine.ports.relocation import CopiedTable, Heard
from webapp.stores.sql.backup import backup
from webapp.stores.sql.copying import copy_database
from webapp.stores.sql.database import create_database
from webapp.stores.sql.dialects import SQLITE


def is_sqlite(url: str) -> bool:
    """Whether a URL names an SQLite file."""
    return make_url(url).get_backend_name() == SQLITE


def _for_reading(url: str) -> Engine:
    """Return an engine that leaves an SQLite file as it is: a backup is read, not switched to a log."""
    engine = create_engine(f"sqlite:///file:{quote(str(make_url(url).database))}?mode=ro&uri=true")

    @event.listens_for(engine, "connect")
    def configure(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


class SqlRelocation:
    """Takes the installation's database, or one that a URL names, elsewhere."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def backup(self, source: str | None, path: str, heard: Heard) -> int:
        """Copy an SQLite database to a new file."""
        with self._opened(source) as engine:
            return backup(engine, Path(path), lambda done, total: heard(Path(path).name, done, total))

    def copy(self, source: str | None, target: str, heard: Heard) -> Sequence[CopiedTable]:
        """Copy a database into an empty one."""
        with self._opened(source, read_only=True) as reading, self._opened(target) as writing:
            return copy_database(reading, writing, heard, locked=source is None)

    @contextmanager
    def _opened(self, url: str | None, *, read_only: bool = False) -> Iterator[Engine]:
        if url is None:
            yield self._engine
            return
        try:
            engine = _for_reading(url) if read_only and is_sqlite(url) else create_database(url, pool_size=2)
        except (ArgumentError, ValueError, ImportError) as error:
            raise InputInvalid("copy.url", params={"reason": _why(error)}) from error
        try:
            yield engine
        finally:
            engine.dispose()


def _why(error: Exception) -> str:
    """Return what kind of failure it is: its own words may repeat a piece of the URL, such as the password."""
    return "not the address of a database" if isinstance(error, ArgumentError | ValueError) else type(error).__name__
