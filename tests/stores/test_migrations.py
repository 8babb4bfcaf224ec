"""Migrations lead from nothing to exactly what tables.py describes (spec 8.10, 25)."""

import logging
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import event, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from tests.support.stores import MARIADB, POSTGRESQL
from webapp.engine.ports.stores import StoreFailure
from webapp.stores.sql import Patience, create_database, current, head, unsupported, upgrade
from webapp.stores.sql.columns import METADATA
from webapp.stores.sql.database import Database
from webapp.stores.sql.dialects import support
from webapp.stores.sql.dialects.migrating import alone
from webapp.stores.sql.maintenance import SqlMaintenance, migrations_folder
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET


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


INDEXES = {
    "sqlite": "SELECT sql FROM sqlite_master WHERE name LIKE 'ix%' OR name LIKE 'uq%' OR type = 'trigger'"
    " OR sql LIKE '%fts5%' ORDER BY name",
    "postgresql": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
    " ORDER BY 1",
    "mariadb": "SELECT concat_ws('/', table_name, index_name, seq_in_index, column_name, non_unique) AS indexed"
    " FROM information_schema.statistics WHERE table_schema = database() AND table_name <> 'alembic_version'"
    " ORDER BY indexed",
}


def _definitions(engine):
    with engine.connect() as connection:
        return connection.execute(text(INDEXES[engine.dialect.name])).scalars().all()


@pytest.fixture
def whole(request, new_url):
    """An engine on a database of the same kind that has been migrated from nothing."""
    kind = request.node.callspec.params["new_url"]
    found = request.getfixturevalue(f"migrated_{kind}")
    engine = create_database(f"sqlite:///{found}") if kind == "sqlite" else found
    yield engine
    engine.dispose()


def test_upgrading_nothing_gives_the_tables_described(new_url, whole):
    made = create_database(new_url())
    METADATA.create_all(made)
    try:
        assert described(whole) == described(made)
        # SQLite has besides: four indexes of keywords, each a table of rows, one of words, four of its own.
        besides = 4 * 6 if whole.dialect.name == "sqlite" else 0
        assert len(described(whole)[0]) == len(METADATA.tables) + besides
    finally:
        made.dispose()


@pytest.mark.postgresql
def test_the_table_of_leases_is_the_one_that_is_not_logged(migrated_postgresql):
    query = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relpersistence = 'u'"
    with migrated_postgresql.connect() as connection:
        assert connection.execute(text(query)).scalars().all() == ["leases"]


def test_an_upgrade_says_where_it_began_and_a_second_does_nothing(new_url):
    url = new_url()
    assert current(url) is None
    assert upgrade(url) is None
    assert current(url) == head()
    assert upgrade(url) == head()


START_ON_A_WORD = """
import sys
from webapp.stores.sql import upgrade
print("ready", flush=True)
sys.stdin.readline()
print(upgrade(sys.argv[1]))
"""


def test_of_two_processes_that_start_together_one_migrates(new_url):
    url = new_url()
    address = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    command = [sys.executable, "-c", START_ON_A_WORD, address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen(command, cwd=Path(__file__).parents[2], **pipes)) for _ in range(2)
        ]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [process.communicate(timeout=120) for process in processes]
    assert sorted(out for out, _ in answers) == sorted(["None\n", f"{head()}\n"]), answers


def test_who_comes_second_waits_as_long_as_the_first_lives_and_says_so(new_url):
    url = new_url()
    first = create_database(url)
    told = threading.Event()
    waits = Patience(seconds=120, told_every=0.0)

    class Telling(logging.Handler):
        def emit(self, record):
            if "waiting for another process" in record.getMessage():
                told.set()

    log = logging.getLogger("waypost.stores")
    log.addHandler(handler := Telling())
    try:
        with ThreadPoolExecutor(1) as thread:
            with alone(first, Patience()):
                second = thread.submit(upgrade, url, patience=waits)
                assert told.wait(60)
                assert not second.done()
            # The first has gone without having migrated anything: killed, for all the second knows.
            assert second.result() is None
    finally:
        log.removeHandler(handler)
        first.dispose()
    assert current(url) == head()


def test_who_has_waited_long_enough_says_for_whom_and_changes_nothing(new_url):
    url = new_url()
    first = create_database(url)
    with alone(first, Patience()), pytest.raises(StoreFailure, match=r"for 1 seconds.*--wait") as caught:
        upgrade(url, patience=Patience(seconds=1))
    assert not caught.value.transient
    assert current(url) is None
    # The connection it waited on is as it was.
    assert upgrade(url, patience=Patience(seconds=0)) is None
    first.dispose()


def test_a_migration_that_broke_off_is_run_again(new_url, whole):
    engine = create_database(new_url())
    made, places = [], [3, 40, 95]

    @event.listens_for(engine, "before_cursor_execute")
    def break_off(connection, cursor, statement, parameters, context, executemany):
        if statement.lstrip().startswith(("CREATE", "DROP", "ALTER")):
            made.append(statement)
            if len(made) in places:
                raise SQLAlchemyError("the server is gone")

    try:
        for _ in places:
            with pytest.raises(StoreFailure):
                upgrade(engine)
            assert current(engine) != head()
        upgrade(engine)
        assert current(engine) == head()
        assert described(engine) == described(whole)
    finally:
        engine.dispose()


@pytest.mark.parametrize("new_url", ["sqlite", POSTGRESQL], indirect=True)
def test_readiness_sees_a_database_that_is_behind(new_url):
    engine = create_database(new_url())
    maintenance = SqlMaintenance(Database(engine))
    assert maintenance.reachable()
    assert not maintenance.at_head()
    upgrade(engine)
    assert maintenance.at_head()
    engine.dispose()


@pytest.mark.parametrize("scheme", ["postgresql", "mariadb"])
def test_a_server_that_is_not_there_is_a_passing_failure(scheme):
    url = f"{scheme}://nobody@127.0.0.1:1/none"
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


@pytest.mark.parametrize("new_url", [MARIADB], indirect=True)
def test_a_mariadb_that_compares_otherwise_is_refused(new_url, migrated_mariadb):
    assert unsupported(migrated_mariadb) is None
    engine = create_database(new_url())
    with engine.connect() as connection:
        # As somebody may have converted it.
        connection.execute(text("CREATE TABLE instances (id VARCHAR(9) CHARACTER SET utf8mb4)"))
    key, params = unsupported(engine)
    assert key == "config.mariadb_collation"
    assert [params[name] for name in ("table", "column", "collation")] == ["instances", "id", "utf8mb4_general_ci"]
    engine.dispose()


@pytest.mark.mariadb
@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("OLDEST_MARIADB", (99, 1), "config.mariadb_version"),
        ("SMALLEST_PACKET", 2**40, "config.mariadb_packet"),
    ],
)
def test_a_mariadb_that_is_too_old_or_too_small_is_refused(migrated_mariadb, monkeypatch, name, value, key):
    monkeypatch.setattr(support, name, value)
    assert unsupported(migrated_mariadb)[0] == key


@pytest.mark.mariadb
def test_mysql_is_refused(migrated_mariadb, monkeypatch):
    engine = create_database(migrated_mariadb.url)

    parse = type(engine.dialect)._parse_server_version
    monkeypatch.setattr(type(engine.dialect), "_parse_server_version", lambda dialect, _: parse(dialect, "8.0.36"))
    assert unsupported(engine) == ("config.mariadb_is_mysql", {})
    engine.dispose()


def test_a_server_that_does_not_answer_is_not_refused():
    engine = create_database("mariadb://nobody@127.0.0.1:1/none")
    assert unsupported(engine) is None
