"""``copy``: an installation in another database, row by row the same, and running there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, inspect, select

from tests.support import mariadb, postgresql
from tests.support.clock import FakeClock
from tests.support.engine import actor
from tests.support.server import ROOT
from tests.support.stores import StoreSet, sqlite_stores
from tests.support.web import Site, make_settings, make_site
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.app import create_app
from webapp.cli.fill import samples
from webapp.engine.errors import Conflict, InputInvalid
from webapp.engine.instances.model import InstanceStatus
from webapp.services.filling import Amounts
from webapp.services.queries import InstanceQuery, Paging, TaskQuery
from webapp.services.relocation import RelocationService
from webapp.stores.sql import create_database
from webapp.stores.sql.columns import METADATA
from webapp.stores.sql.copying import copied_tables
from webapp.stores.sql.dialects import indexes_of
from webapp.stores.sql.tables import table_set

SMALL = Amounts(tasks=30, instances=60, users=6, groups=3)
PARTITIONS = (None, "north")
ALL = Paging(limit=1_000)


def silent(step: str, done: int, total: int) -> None:
    """Hear nothing."""


@pytest.fixture(scope="module")
def filled_sqlite(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file to copy, with something in both sets of tables: filling it costs more than copying it."""
    folder = tmp_path_factory.mktemp("filled")
    with sqlite_stores(migrated_sqlite, folder) as found:
        made = make_site(folder, found)
        assert made.installation.filling is not None
        for partition in PARTITIONS:
            made.installation.filling.fill(partition, SMALL, samples(), told=silent)
        assert found.engine is not None
        with found.engine.connect() as connection:
            # The copy takes the main file only.
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder / "waypost.db"


@pytest.fixture
def source(filled_sqlite: Path, tmp_path: Path) -> Iterator[StoreSet]:
    (tmp_path / "source").mkdir()
    with sqlite_stores(filled_sqlite, tmp_path / "source") as found:
        yield found


@pytest.fixture
def site(source: StoreSet, tmp_path: Path) -> Site:
    """An installation on SQLite with something in both sets of tables."""
    return make_site(tmp_path / "source", source)


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.postgresql),
        pytest.param("mariadb", marks=pytest.mark.mariadb),
    ]
)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'target.db'}"
        return
    server = postgresql if request.param == "postgresql" else mariadb
    server.require_server()
    with server.new_database() as url:
        yield url.render_as_string(hide_password=False)


def relocation_of(site: Site) -> RelocationService:
    found = site.installation.relocation
    assert found is not None
    return found


@contextmanager
def engine_of(url: str) -> Iterator[Engine]:
    engine = create_database(url, pool_size=2)
    yield engine
    engine.dispose()


@contextmanager
def site_on(url: str, folder: Path) -> Iterator[Site]:
    clock = FakeClock()
    app = create_app(make_settings(folder, WAYPOST_DATABASE_URL=url), clock=clock)
    yield Site(app, clock)
    app.extensions["waypost"].close()


def all_rows(engine: Engine) -> dict[str, list[tuple[object, ...]]]:
    with engine.connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in copied_tables()
        }


def test_every_row_is_there_and_the_copy_says_so(site: Site, source: StoreSet, target: str) -> None:
    copied = relocation_of(site).copy(target, silent)
    assert source.engine is not None
    with engine_of(target) as engine:
        there = all_rows(engine)
        assert there == all_rows(source.engine)
        assert {table.name: table.rows for table in copied} == {name: len(rows) for name, rows in there.items()}
        inspector = inspect(engine)
        assert not inspector.has_table("waypost_copy")
        for table in copied_tables():
            there_are = {str(found["name"]) for found in inspector.get_indexes(table.name)}
            wanted = {str(index.name) for index in indexes_of(table, engine.dialect.name)}
            assert {name for name in wanted if not name.endswith("_words")} <= there_are
    assert sum(table.rows for table in copied) > 500
    assert any(table.name == "backfills" and table.rows for table in copied)


def test_the_copy_runs(site: Site, target: str, tmp_path: Path) -> None:
    relocation_of(site).copy(target, silent)
    (tmp_path / "new").mkdir()
    with site_on(target, tmp_path / "new") as moved:
        for partition in PARTITIONS:
            goes_on(moved, partition)


def goes_on(site: Site, partition: str | None) -> None:
    admin = actor("admin", ADMINISTRATOR, partition=partition)
    decided = 0
    for number in range(1, 7):
        account = site.services.accounts.find_by_name(f"u{number}" if partition is None else f"u{number}@{partition}")
        assert account is not None
        user = site.services.accounts.actor(account)
        for task in site.services.inbox.query(user, TaskQuery(paging=ALL)).items:
            site.services.inbox.complete(user, task.id, "approved")
            decided += 1
    assert decided > 3
    waiting = InstanceQuery(statuses=(InstanceStatus.RUNNING,), definition_name="repair-ticket", paging=ALL)
    before = site.services.instances.query(admin, waiting).total
    site.clock.advance(100 * 24 * 3600)
    site.services.housekeeping.poll_once()
    assert site.services.instances.query(admin, waiting).total < before or before == 0
    site.clock.advance(-100 * 24 * 3600)


def test_a_target_that_holds_something_is_left_alone(site: Site, target: str) -> None:
    relocation_of(site).copy(target, silent)
    with pytest.raises(Conflict) as refusal:
        relocation_of(site).copy(target, silent)
    assert refusal.value.key == "copy.not_empty"


def test_a_running_installation_is_not_copied_but_its_backup_is(site: Site, target: str, tmp_path: Path) -> None:
    site.services.housekeeping.beat()
    with pytest.raises(Conflict) as refusal:
        relocation_of(site).copy(target, silent)
    assert refusal.value.key == "copy.running"
    backup = tmp_path / "backup.db"
    relocation_of(site).backup(str(backup), silent)
    content = backup.read_bytes()
    copied = relocation_of(site).copy(target, silent, source=f"sqlite:///{backup}")
    assert sum(table.rows for table in copied) > 500
    assert backup.read_bytes() == content
    assert not list(tmp_path.glob("backup.db-*"))


def test_a_copy_that_was_broken_off_goes_on(
    site: Site, source: StoreSet, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Exception):
        pass

    monkeypatch.setattr("webapp.stores.sql.copying.CHUNK", 50)
    seen: list[int] = []

    def stop(step: str, done: int, total: int) -> None:
        seen.append(done)
        if step == "copied rows" and done * 2 > total:
            raise Interrupted

    with pytest.raises(Interrupted):
        relocation_of(site).copy(target, stop)
    half, seen = seen[-1], []

    def note(step: str, done: int, total: int) -> None:
        seen.append(done)

    relocation_of(site).copy(target, note)
    assert half < seen[0] <= half + 50
    assert source.engine is not None
    with engine_of(target) as engine:
        assert all_rows(engine) == all_rows(source.engine)


def test_a_part_of_another_source_is_not_gone_on_with(site: Site, source: StoreSet, target: str) -> None:
    class Interrupted(Exception):
        pass

    def stop(step: str, done: int, total: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        relocation_of(site).copy(target, stop)
    site.account("late", ADMINISTRATOR)
    with pytest.raises(Conflict) as refusal:
        relocation_of(site).copy(target, silent)
    assert refusal.value.key == "copy.other_source"


def test_a_row_that_was_changed_meanwhile_is_found(
    site: Site, source: StoreSet, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Exception):
        pass

    def stop(step: str, done: int, total: int) -> None:
        if done == total:
            raise Interrupted

    with pytest.raises(Interrupted):
        relocation_of(site).copy(target, stop)
    assert source.engine is not None
    table = table_set("north").audit
    with source.engine.begin() as connection:
        first = connection.execute(select(func.min(table.c.id))).scalar_one()
        connection.execute(table.update().where(table.c.id == first).values(comment="changed"))
    with pytest.raises(Conflict) as refusal:
        relocation_of(site).copy(target, silent)
    assert (refusal.value.key, refusal.value.params["table"]) == ("copy.differs", "audit")


def test_source_and_target_must_be_two(site: Site, source: StoreSet) -> None:
    assert source.engine is not None
    with pytest.raises(InputInvalid) as refusal:
        relocation_of(site).copy(source.engine.url.render_as_string(hide_password=False), silent)
    assert refusal.value.key == "copy.same"


def test_an_address_that_is_none_is_told(site: Site) -> None:
    done = site.app.test_cli_runner().invoke(args=["copy", "--to", "nonsense"])
    assert done.exit_code == 1
    assert "Traceback" not in done.output
    assert "cannot be used" in done.output


@pytest.mark.faults
def test_a_copy_that_was_killed_goes_on(site: Site, source: StoreSet, target: str, tmp_path: Path) -> None:
    """A real process, killed in the middle of the rows; the next one ends with the same rows on both sides."""
    assert source.engine is not None
    source.engine.dispose()
    environ = {
        **os.environ,
        "WAYPOST_DATA": str(tmp_path / "source"),
        "WAYPOST_SECRET_KEY": "a key for tests only",
    }
    command = [sys.executable, "-c", SLOW, target]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("copied rows") and int(line.split()[-1]) > 400:
                process.send_signal(signal.SIGKILL)
                break
        assert process.wait(30) == -signal.SIGKILL
    time.sleep(0.5)  # a server may need a moment to see that nobody is there any more
    with engine_of(target) as engine, engine.connect() as connection:
        there = sum(
            connection.execute(select(func.count()).select_from(table)).scalar_one() for table in copied_tables()
        )
        assert there > 400
    done = site.app.test_cli_runner().invoke(args=["copy", "--to", target])
    assert done.exit_code == 0, done.output
    assert "the same in both databases" in done.output
    with engine_of(target) as engine:
        assert all_rows(engine) == all_rows(source.engine)


SLOW = """
import sys, time
from webapp.app import create_app
from webapp.stores.sql import copying
copying.CHUNK = 20
here = create_app().extensions["waypost"]
def tell(step, done, total):
    print(step, done, flush=True)
    time.sleep(0.01)
here.relocation.copy(sys.argv[1], tell)
"""


def test_leases_are_not_copied() -> None:
    assert {table.name for table in METADATA.sorted_tables} - {table.name for table in copied_tables()} == {"leases"}


def test_a_url_that_cannot_be_used_is_not_repeated(site: Site) -> None:
    """A password with a slash or an at sign in it ends in what SQLAlchemy takes for the port."""
    done = site.app.test_cli_runner().invoke(args=["copy", "--to", "postgresql://u:pa@host:s3cret/word@h/db"])
    assert done.exit_code == 1
    assert "cannot be used" in done.output
    assert "s3cret" not in done.output
