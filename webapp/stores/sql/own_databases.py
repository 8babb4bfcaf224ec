"""Databases of tenants' own: small pools that give up soon, and whether their tables are this version's (spec 8.10)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from sqlalchemy import URL, Engine, create_engine
from sqlalchemy.exc import ArgumentError

from webapp.config.kinds import DatabaseUrl
from webapp.engine.ports.stores import StoreFailure
from webapp.stores.sql.database import engine_options
from webapp.stores.sql.dialects import POSTGRESQL, SQLITE
from webapp.stores.sql.dialects.migrating import USUAL, Patience
from webapp.stores.sql.dialects.sessions import normal_url, prepare
from webapp.stores.sql.maintenance import current, head, upgrade
from webapp.stores.sql.unit_of_work import SqlStores

POOL_SIZE = 2
_NOTICE_LOSS = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""A server that no longer answers must not hold a thread for the system's two hours."""


class SqlOwnDatabase:
    """A tenant's own database."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.stores = SqlStores(engine)

    def behind(self) -> str | None:
        """Return None when the tables are this version's. :raises StoreFailure: the database cannot be reached."""
        at = current(self.engine)
        return None if at == _head() else f"it is at {at or 'nothing'}, this version needs {_head()}: run db upgrade"

    def rest(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()


class SqlOpening:
    """Opens tenants' databases, SQLite or on a server, whatever the platform's is."""

    def __init__(self, *, sqlite_synchronous: str = "FULL", pool_size: int = POOL_SIZE) -> None:
        self._sqlite_synchronous = sqlite_synchronous
        self._pool_size = pool_size

    def key(self, url: str) -> str:
        """Return the address in its one form. :raises ValueError: it is none."""
        parsed = _parsed(url)
        if parsed.get_backend_name() == SQLITE:
            return f"{SQLITE}:{Path(parsed.database or '').absolute()}"
        return parsed.render_as_string(hide_password=False)

    def open(self, url: str) -> SqlOwnDatabase:
        """Return the database. :raises ValueError: the address is none."""
        return SqlOwnDatabase(self.engine(url))

    def engine(self, url: str) -> Engine:
        """Return an engine with a small pool. :raises ValueError: the address is none."""
        parsed = _parsed(url)
        options = {**engine_options(parsed, pool_size=self._pool_size), "max_overflow": 0}
        if parsed.get_backend_name() == POSTGRESQL:
            options["connect_args"] = {**options["connect_args"], **_NOTICE_LOSS}
        engine = create_engine(parsed, **options)
        prepare(engine, sqlite_synchronous=self._sqlite_synchronous)
        return engine

    def upgrade(self, url: str, patience: Patience = USUAL) -> str | None:
        """Make the database's tables, or bring them up to this version; return where they were.

        :raises StoreFailure: it cannot be reached or changed.
        """
        parsed = _parsed(url)
        if parsed.get_backend_name() == SQLITE:
            _make_folder(Path(parsed.database or "").parent)
        return self._with_engine(url, lambda engine: upgrade(engine, patience=patience))

    def current(self, url: str) -> str | None:
        """Return where the tables are, None for an empty database. :raises StoreFailure: it cannot be reached."""
        return self._with_engine(url, current)

    def _with_engine(self, url: str, ask: Callable[[Engine], str | None]) -> str | None:
        engine = self.engine(url)
        try:
            return ask(engine)
        finally:
            engine.dispose()

    def masked(self, url: str) -> str:
        """Return the address without its password."""
        return DatabaseUrl().mask(url)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreFailure(f"{type(error).__name__}: {folder}: {error.strerror}") from error


def _parsed(url: str) -> URL:
    try:
        return normal_url(url)
    except ArgumentError as error:
        raise ValueError("not the address of a database") from error


@cache
def _head() -> str | None:
    return head()
