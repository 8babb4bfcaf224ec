"""Migrations and health of a database: upgrade, where it stands, whether it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from webapp.stores.sql.backfills import fill_all
from webapp.stores.sql.columns import METADATA
from webapp.stores.sql.database import Database, create_database, failure
from webapp.stores.sql.dialects import support
from webapp.stores.sql.dialects.migrating import USUAL, Patience, alone
from webapp.stores.sql.dialects.sessions import WRITES
from webapp.stores.sql.dialects.support import Refusal
from webapp.stores.sql.keyword_index import rebuild

Answer = TypeVar("Answer")

_PACKAGE = Path(__file__).resolve().parents[2]


def migrations_folder() -> Path:
    """Return where the migrations lie: beside the package in a checkout, inside it in a wheel."""
    checkout = _PACKAGE.parent / "migrations"
    return checkout if (checkout / "env.py").is_file() else _PACKAGE / "migrations"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def head() -> str | None:
    """Return the newest migration."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def upgrade(target: Engine | str | URL, revision: str = "head", *, patience: Patience = USUAL) -> str | None:
    """Bring the database to head and return the revision it was at; of two that start together one migrates.

    The other waits as long as that one lives, and *patience* lasts.

    Rows from before a column was there get its value afterwards, batch by batch, while others work (``backfills``).

    :raises webapp.engine.ports.stores.StoreFailure: the database cannot be reached or changed, or another process
        upgrades it for longer than that.
    """
    with _engine(target) as engine:
        try:
            with alone(engine, patience) as connection:
                before = _revision(connection)
                config = _config()
                config.attributes["connection"] = connection
                command.upgrade(config, revision)
            if revision == "head":
                fill_all(engine)
            return before
        except SQLAlchemyError as error:
            raise failure(error) from error


def reindex(target: Engine | str | URL) -> list[str]:
    """Make the database's index of keywords anew, and return what was made: nothing where there is none.

    :raises webapp.engine.ports.stores.StoreFailure: the database cannot be reached or changed.
    """
    with _engine(target) as engine:
        try:
            with engine.execution_options(**{WRITES: True}).begin() as connection:
                return rebuild(connection)
        except SQLAlchemyError as error:
            raise failure(error) from error


def unsupported(engine: Engine) -> Refusal | None:
    """Return why the server cannot hold the stores (the key of a message and its parameters), or None."""
    return support.unsupported(engine, sorted(METADATA.tables))


def current(target: Engine | str | URL) -> str | None:
    """Return the migration the database is at, None for an empty one."""
    with _engine(target) as engine:
        try:
            return _ask(engine, _revision)
        except SQLAlchemyError as error:
            raise failure(error) from error


def _ask(engine: Engine, question: Callable[[Connection], Answer]) -> Answer:
    """Ask the database, once more when the connection had died in the pool: that says nothing of the server."""
    try:
        with engine.connect() as connection:
            return question(connection)
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
    with engine.connect() as connection:
        return question(connection)


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


@contextmanager
def _engine(target: Engine | str | URL) -> Iterator[Engine]:
    if isinstance(target, Engine):
        yield target
        return
    engine = create_database(target, pool_size=1)
    try:
        yield engine
    finally:
        engine.dispose()


class SqlMaintenance:
    """What ``/readyz`` asks the stores."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reachable(self) -> bool:
        """Whether the database answers."""
        try:
            _ask(self._database.engine, lambda connection: connection.execute(text("SELECT 1")))
        except SQLAlchemyError:
            return False
        return True

    def at_head(self) -> bool:
        """Whether every migration has run."""
        try:
            return _ask(self._database.engine, _revision) == head()
        except SQLAlchemyError:
            return False
