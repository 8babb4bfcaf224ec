"""The ``stores`` fixture: one test against every set of stores, ids ``memory``, ``sqlite``, ``postgresql``.

Migrations run once a session and database kind: SQLite tests get a copy of a migrated file, PostgreSQL tests share
one migrated database a worker, emptied before each test.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.support.clock import FakeClock
from tests.support.postgresql import new_database, require_server
from webapp.accounts.ports import AccountStore
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.stores import Stores
from webapp.stores.memory import MemoryLeases, MemoryStores
from webapp.stores.sql import SqlLeases, SqlStores, create_database, create_lease_database, upgrade
from webapp.stores.sql.tables import METADATA

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.postgresql)
KINDS = ["memory", "sqlite", POSTGRESQL]

on_databases = pytest.mark.parametrize("stores", ["sqlite", POSTGRESQL], indirect=True)
"""For tests of what memory does not have: statements, plans."""

on_postgresql = pytest.mark.parametrize("stores", [POSTGRESQL], indirect=True)
"""For tests of what only a server does: losing connections."""

_POOL_SIZE = 8


@dataclass
class StoreSet:
    """A fresh, empty set of stores with its leases, accounts and a clock that stands still.

    ``engine`` and ``lease_engine`` are for counting statements and for second processes; None in memory.
    """

    kind: str
    stores: Stores
    leases: Leases
    accounts: AccountStore
    clock: FakeClock
    engine: Engine | None = None
    lease_engine: Engine | None = None


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    engine = create_database(f"sqlite:///{path}", sqlite_synchronous="OFF", pool_size=1)
    upgrade(engine)
    with engine.connect() as connection:
        # The copy takes the main file only.
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    return path


@pytest.fixture(scope="session")
def migrated_postgresql() -> Iterator[Engine]:
    """An engine on a migrated database of this worker's own."""
    require_server()
    with new_database() as url:
        engine = create_database(url, pool_size=_POOL_SIZE)
        upgrade(engine)
        yield engine
        engine.dispose()


def memory_stores() -> StoreSet:
    """Return empty memory stores."""
    clock = FakeClock()
    stores = MemoryStores()
    return StoreSet("memory", stores, MemoryLeases(clock), stores.accounts, clock)


@contextmanager
def sqlite_stores(template: Path, folder: Path) -> Iterator[StoreSet]:
    """Open empty SQLite stores in a folder."""
    shutil.copy(template, folder / "waypost.db")
    engine = create_database(f"sqlite:///{folder / 'waypost.db'}", sqlite_synchronous="OFF", pool_size=_POOL_SIZE)
    lease_engine = create_lease_database(f"sqlite:///{folder / 'leases.db'}", pool_size=_POOL_SIZE)
    with _sql_stores("sqlite", engine, lease_engine) as found:
        yield found
    engine.dispose()
    lease_engine.dispose()


@contextmanager
def _sql_stores(kind: str, engine: Engine, lease_engine: Engine) -> Iterator[StoreSet]:
    clock = FakeClock()
    stores = SqlStores(engine)
    leases = SqlLeases(lease_engine, clock, holder_id="test")
    yield StoreSet(kind, stores, leases, stores.accounts, clock, engine, lease_engine)
    leases.close()


def _emptied(engine: Engine) -> Engine:
    # Far faster than TRUNCATE for a handful of rows.
    statements = [f'DELETE FROM "{table.name}"' for table in reversed(METADATA.sorted_tables)]
    with engine.begin() as connection:
        connection.exec_driver_sql("; ".join(statements))
    return engine


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreSet]:
    """Each set of stores in turn, empty."""
    if request.param == "memory":
        yield memory_stores()
    elif request.param == "sqlite":
        with sqlite_stores(request.getfixturevalue("migrated_sqlite"), tmp_path) as found:
            yield found
    else:
        engine = _emptied(request.getfixturevalue("migrated_postgresql"))
        with _sql_stores("postgresql", engine, engine) as found:
            yield found
