"""Migrations lead from nothing to exactly what tables.py describes (spec 8.10, 25)."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from tests.support.postgresql import new_database, require_server
from webapp.engine.ports.stores import StoreFailure
from webapp.stores.sql import create_database, current, head, upgrade
from webapp.stores.sql.database import Database
from webapp.stores.sql.maintenance import SqlMaintenance, migrations_folder
from webapp.stores.sql.tables import METADATA, PLATFORM_SET, TENANT_SET


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def new_url(request, tmp_path):
    """Makes addresses of empty databases."""
    made = []

    def sqlite():
        made.append(f"sqlite:///{tmp_path / f'db{len(made)}.db'}")
        return made[-1]

    def postgresql():
        made.append(new_database())
        return made[-1].__enter__()

    if request.param == "sqlite":
        yield sqlite
    else:
        require_server()
        yield postgresql
        for each in made:
            each.__exit__(None, None, None)


def described(engine):
    """Return everything the database says of its tables."""
    found = inspect(engine)
    names = sorted(name for name in found.get_table_names() if name != "alembic_version")
    result = {
        name: (
            [(column["name"], repr(column["type"]), column["nullable"]) for column in found.get_columns(name)],
            found.get_pk_constraint(name),
            sorted(found.get_foreign_keys(name), key=str),
            sorted(found.get_unique_constraints(name), key=str),
        )
        for name in names
    }
    return result, _definitions(engine)


def _definitions(engine):
    query = (
        "SELECT sql FROM sqlite_master WHERE name LIKE 'ix%' OR name LIKE 'uq%' ORDER BY name"
        if engine.dialect.name == "sqlite"
        else "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'alembic_version' ORDER BY 1"
    )
    with engine.connect() as connection:
        return connection.execute(text(query)).scalars().all()


def test_upgrading_nothing_gives_the_tables_described(new_url):
    migrated, made = create_database(new_url()), create_database(new_url())
    upgrade(migrated)
    METADATA.create_all(made)
    try:
        assert described(migrated) == described(made)
        assert len(described(migrated)[0]) == 26
    finally:
        migrated.dispose()
        made.dispose()


def test_an_upgrade_says_where_it_began_and_a_second_does_nothing(new_url):
    url = new_url()
    assert current(url) is None
    assert upgrade(url) is None
    assert current(url) == head() == "0001"
    assert upgrade(url) == "0001"


def test_of_two_starts_one_migrates(new_url):
    url = new_url()
    began, failures = [], []
    ready = threading.Barrier(3)

    def start():
        ready.wait()
        try:
            began.append(upgrade(url))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert sorted(began, key=str) == ["0001", "0001", None]


def test_readiness_sees_a_database_that_is_behind(new_url):
    engine = create_database(new_url())
    maintenance = SqlMaintenance(Database(engine))
    assert maintenance.reachable()
    assert not maintenance.at_head()
    upgrade(engine)
    assert maintenance.at_head()
    engine.dispose()


def test_a_server_that_is_not_there_is_a_passing_failure():
    url = "postgresql://nobody@127.0.0.1:1/none"
    with pytest.raises(StoreFailure) as caught:
        current(url)
    assert caught.value.transient
    engine = create_database(url)
    maintenance = SqlMaintenance(Database(engine))
    assert not maintenance.reachable()
    assert not maintenance.at_head()


def test_a_file_that_cannot_be_opened_is_a_failure(tmp_path):
    with pytest.raises(StoreFailure) as caught:
        upgrade(f"sqlite:///{tmp_path / 'no' / 'such' / 'folder.db'}")
    assert not caught.value.transient


def test_both_sets_have_the_same_columns_but_for_the_tenant():
    for name in (table for table in TENANT_SET.__dataclass_fields__ if table != "tenant"):
        tenant, platform = getattr(TENANT_SET, name), getattr(PLATFORM_SET, name)
        assert platform.name == f"platform_{tenant.name}"
        assert ["tenant_id", *platform.columns.keys()] == tenant.columns.keys()


def test_the_migrations_lie_where_they_are_looked_for():
    assert (migrations_folder() / "versions" / "0001_first.py").is_file()


def test_alembic_itself_refuses_to_run_without_a_connection(tmp_path):
    config = tmp_path / "alembic.ini"
    config.write_text(f"[alembic]\nscript_location = {migrations_folder()}\npath_separator = os\n")
    done = subprocess.run(
        [sys.executable, "-m", "alembic", "-c", str(config), "upgrade", "head"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert "flask --app webapp db upgrade" in done.stderr
