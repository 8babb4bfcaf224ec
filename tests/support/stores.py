"""The ``stores`` fixture: one test against every set of stores, ids ``memory``, ``sqlite``, ``postgresql``.

Migrations run once a session and database kind: SQLite tests get a copy of a migrated file, PostgreSQL tests share
one migrated database a worker, emptied before each test. The tests of the stores themselves run on MariaDB as well,
those of engine and services only with WAYPOST_TEST_MARIADB_EVERYWHERE=1.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Engine

from tests.support import mariadb
from tests.support.clock import FakeClock
from tests.support.postgresql import new_database, require_server
from webapp.accounts.model import Tenant
from webapp.accounts.ports import AccountStore
from webapp.accounts.tenants import TenantCopy, TenantDirectory
from webapp.engine.ports.calendars import CalendarStore
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.notices import NoticeSettingsStore
from webapp.engine.ports.partitions import PartitionDatabases
from webapp.engine.ports.stores import Stores
from webapp.stores.memory import MemoryLeases, MemoryStores
from webapp.stores.routing import FencedStores, RoutedStores
from webapp.stores.sql import SqlLeases, SqlOpening, SqlStores, create_database, create_lease_database, upgrade
from webapp.stores.sql.columns import METADATA

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.postgresql)
MARIADB = pytest.param("mariadb", marks=pytest.mark.mariadb)
_EVERYWHERE = [MARIADB] if os.environ.get("WAYPOST_TEST_MARIADB_EVERYWHERE") == "1" else []
KINDS = ["memory", "sqlite", POSTGRESQL, *_EVERYWHERE]
APART = ["memory-apart", "sqlite-apart", pytest.param("postgresql-apart", marks=pytest.mark.postgresql)]
"""The same, and the tenant ``t1`` has a database of its own."""

also_apart = pytest.mark.parametrize("stores", [*KINDS, *APART], indirect=True)
"""For tests of partitions: whether two share a database must not matter."""

on_databases = pytest.mark.parametrize("stores", ["sqlite", POSTGRESQL, *_EVERYWHERE], indirect=True)
"""For tests of what memory does not have, such as statements."""

on_planned = pytest.mark.parametrize("stores", ["sqlite", POSTGRESQL], indirect=True)
"""For tests of plans that read them as these two write them."""

on_every_database = pytest.mark.parametrize("stores", ["sqlite", POSTGRESQL, MARIADB], indirect=True)
"""For tests of the stores that memory does not run."""

on_postgresql = pytest.mark.parametrize("stores", [POSTGRESQL], indirect=True)
"""For tests of what PostgreSQL does in its own way."""

on_servers = pytest.mark.parametrize("stores", [POSTGRESQL, MARIADB], indirect=True)
"""For tests of what only a server does: losing connections."""

_POOL_SIZE = 8


@dataclass
class StoreSet:
    """A fresh, empty set of stores with its leases, accounts and a clock that stands still.

    ``engine`` and ``lease_engine`` are for counting statements and for second processes; None in memory. ``tenants``
    and ``databases`` are there when a tenant has a database of its own, ``own_engine`` is that one's.
    """

    kind: str
    stores: Stores
    leases: Leases
    accounts: AccountStore
    calendars: CalendarStore
    notice_settings: NoticeSettingsStore
    clock: FakeClock
    engine: Engine | None = None
    lease_engine: Engine | None = None
    tenants: TenantDirectory | None = None
    databases: PartitionDatabases | None = None
    own_engine: Engine | None = None

    @property
    def has_clock(self) -> bool:
        """Whether the database has a clock of its own, by which leases go."""
        return self.kind in ("postgresql", "mariadb")


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


@pytest.fixture(scope="session")
def migrated_mariadb() -> Iterator[Engine]:
    """An engine on a migrated database of this worker's own."""
    mariadb.require_server()
    with mariadb.new_database() as url:
        engine = create_database(url, pool_size=_POOL_SIZE)
        upgrade(engine)
        yield engine
        engine.dispose()


def memory_stores() -> StoreSet:
    """Return empty memory stores."""
    clock = FakeClock()
    stores = MemoryStores()
    leases = MemoryLeases(clock)
    return StoreSet("memory", stores, leases, stores.accounts, stores.calendars, stores.notice_settings, clock)


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
    settings = stores.notice_settings
    yield StoreSet(kind, stores, leases, stores.accounts, stores.calendars, settings, clock, engine, lease_engine)
    leases.close()


def _emptied(engine: Engine) -> None:
    # Far faster than TRUNCATE for a handful of rows.
    statements = [f'DELETE FROM "{table.name}"' for table in reversed(METADATA.sorted_tables)]
    with engine.begin() as connection:
        connection.exec_driver_sql("; ".join(statements))


@contextmanager
def opened_stores(request: pytest.FixtureRequest, folder: Path) -> Iterator[StoreSet]:
    """Open the empty set of stores that the fixture's parameter names."""
    kind, _, separate = request.param.partition("-")
    if separate:
        request.param = kind
        with opened_stores(request, folder) as found, _apart(request, found, folder) as made:
            yield made
    elif kind == "memory":
        yield memory_stores()
    elif kind == "sqlite":
        with sqlite_stores(request.getfixturevalue("migrated_sqlite"), folder) as found:
            yield found
    else:
        engine = request.getfixturevalue(f"migrated_{kind}")
        (mariadb.empty if kind == "mariadb" else _emptied)(engine)
        with _sql_stores(kind, engine, engine) as found:
            yield found


@pytest.fixture(scope="session")
def second_postgresql() -> Iterator[Engine]:
    """An engine on another migrated database, with the small pool that a tenant's own has."""
    require_server()
    with new_database() as url:
        engine = SqlOpening().engine(url.render_as_string(hide_password=False))
        upgrade(engine)
        yield engine
        engine.dispose()


OWN = "t1"
OWN_URL = "postgresql+psycopg://nowhere/own"


class _Set:
    """A directory in which ``t1`` has a database of its own, beside the tenants that a test adds."""

    def __init__(self, accounts: AccountStore) -> None:
        self._accounts = accounts

    def copy(self) -> TenantCopy:
        found = {one.id: one for one in self._accounts.tenants()}
        own = found.get(OWN) or Tenant(id=OWN, name=OWN, created_at=FakeClock().now())
        found[OWN] = msgspec.structs.replace(own, database_url=OWN_URL)
        return TenantCopy(found, frozenset(one.id for one in found.values() if not one.enabled))


class Directory(TenantDirectory):
    """The directory of an apart set: never old, so that no test waits."""

    def __init__(self, accounts: AccountStore, clock: FakeClock) -> None:
        super().__init__(accounts, clock)
        self._set = _Set(accounts)
        self._known = TenantCopy({}, frozenset())

    def copy(self) -> TenantCopy:
        """Return what stands in the table now."""
        now = self._set.copy()
        if now.tenants != self._known.tenants:
            self._known = now
        return self._known


@dataclass(frozen=True)
class Opened:
    """A tenant's own database that a test has opened already."""

    stores: FencedStores

    def behind(self) -> str | None:
        """Return None."""
        return None

    def rest(self) -> None:
        """Keep what there is."""


@dataclass
class Opens:
    """Opens the one database that there is."""

    stores: FencedStores

    def key(self, url: str) -> str:
        """Return the address."""
        return url

    def open(self, url: str) -> Opened:
        """Return the database."""
        return Opened(self.stores)

    def masked(self, url: str) -> str:
        """Return the address."""
        return url


def apart(found: StoreSet, own: FencedStores, own_engine: Engine | None = None) -> StoreSet:
    """Return the set with *own* as the database of the tenant ``t1``."""
    directory = Directory(found.accounts, found.clock)
    assert isinstance(found.stores, MemoryStores | SqlStores)
    routed = RoutedStores(found.stores, directory=directory, opening=Opens(own), clock=found.clock)
    return replace(
        found, kind=f"{found.kind}-apart", stores=routed, tenants=directory, databases=routed, own_engine=own_engine
    )


@contextmanager
def _apart(request: pytest.FixtureRequest, found: StoreSet, folder: Path) -> Iterator[StoreSet]:
    if found.kind == "memory":
        yield apart(found, MemoryStores())
    elif found.kind == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite"), folder / "own.db")
        engine = SqlOpening(sqlite_synchronous="OFF").engine(f"sqlite:///{folder / 'own.db'}")
        yield apart(found, SqlStores(engine), engine)
        engine.dispose()
    else:
        engine = request.getfixturevalue("second_postgresql")
        _emptied(engine)
        yield apart(found, SqlStores(engine), engine)


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreSet]:
    """Each set of stores in turn, empty."""
    with opened_stores(request, tmp_path) as found:
        yield found
