"""``backup``: a consistent copy of an SQLite installation while it is written to."""

from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from tests.support.engine import ADMIN, actor
from tests.support.stores import StoreSet
from tests.support.web import Site, make_settings, make_site
from webapp.accounts.model import Tenant
from webapp.app import create_app
from webapp.cli.demo import sample
from webapp.engine.errors import Conflict, InputInvalid, Unavailable
from webapp.services.relocation import RelocationService
from webapp.stores.sql import create_database, head, upgrade

on_sqlite = pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
MANAGER = actor("manager")
LEAVE = {"from": "2026-07-20", "to": "2026-07-24"}


@pytest.fixture
def site(stores: StoreSet, tmp_path: Path) -> Site:
    return make_site(tmp_path, stores)


def silent(step: str, done: int, total: int) -> None:
    """Hear nothing."""


def relocation_of(site: Site) -> RelocationService:
    found = site.installation.relocation
    assert found is not None
    return found


def publish_leave(site: Site) -> None:
    catalog = site.services.catalog
    catalog.publish(ADMIN, catalog.import_document(ADMIN, sample("leave-request")).id)


class Writing:
    """Starts and decides, in a thread, until it is told to stop."""

    def __init__(self, site: Site) -> None:
        self.started = 0
        self.failed: list[BaseException] = []
        self.began = threading.Event()
        self._site = site
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Writing:
        self._thread.start()
        assert self.began.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        services = self._site.services
        try:
            while not self._stop.is_set():
                started = services.instances.start(ADMIN, name="leave-request", variables=LEAVE)
                self.started += 1
                if self.started % 2:
                    task = services.inbox.of_instances(ADMIN, [started.instance.id])[0]
                    services.inbox.complete(MANAGER, task.id, "approved")
                if self.started > 20:
                    self.began.set()
        except BaseException as error:
            self.failed.append(error)
            self.began.set()


@on_sqlite
def test_a_backup_under_writers_is_whole(site: Site, tmp_path: Path) -> None:
    publish_leave(site)
    with Writing(site) as writing:
        before = writing.started
        paths = [tmp_path / f"backup-{number}.db" for number in range(5)]
        for path in paths:
            relocation_of(site).backup(str(path), silent)
        assert not writing.failed
        assert writing.started > before
    for path in paths:
        check_whole(path)
    sizes = [rows_of(path, "SELECT count(*) FROM platform_instances")[0][0] for path in paths]
    assert sizes == sorted(sizes)
    assert sizes[0] >= before


def rows_of(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as copy:
        return copy.execute(statement).fetchall()


def check_whole(path: Path) -> None:
    assert rows_of(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows_of(path, "SELECT version_num FROM alembic_version") == [(head(),)]
    # Every instance has a start, a task record, and a task exactly while it runs; nothing stands alone.
    assert (
        rows_of(
            path,
            """
            SELECT id FROM platform_instances AS i WHERE
              (SELECT count(*) FROM platform_audit AS a WHERE a.instance_id = i.id AND action = 'start') <> 1 OR
              (SELECT count(*) FROM platform_audit AS a WHERE a.instance_id = i.id AND action = 'complete')
                <> (status = 'Completed') OR
              (SELECT count(*) FROM platform_bookmarks AS b WHERE b.instance_id = i.id) <> (status = 'Running') OR
              (SELECT count(*) FROM platform_task_records AS r WHERE r.instance_id = i.id) <> 1 OR
              (SELECT count(*) FROM platform_node_instances AS n WHERE n.instance_id = i.id)
                <> CASE status WHEN 'Running' THEN 2 ELSE 4 END
            """,
        )
        == []
    )
    assert rows_of(
        path, "SELECT count(*) FROM platform_audit WHERE instance_id NOT IN (SELECT id FROM platform_instances)"
    ) == [(0,)]


@on_sqlite
def test_what_was_backed_up_runs(site: Site, tmp_path: Path) -> None:
    publish_leave(site)
    instance = site.services.instances.start(ADMIN, name="leave-request", variables=LEAVE).instance
    relocation_of(site).backup(str(tmp_path / "copy.db"), silent)
    with site_on(tmp_path / "copy.db", tmp_path) as copied:
        task = copied.services.inbox.of_instances(ADMIN, [instance.id])[0]
        assert copied.services.inbox.complete(MANAGER, task.id, "approved").instance_status == "Completed"
    assert site.services.instances.get(ADMIN, instance.id).status == "Running"


@contextmanager
def site_on(path: Path, folder: Path) -> Iterator[Site]:
    clock = FakeClock()
    settings = make_settings(folder, WAYPOST_DATABASE_URL=f"sqlite:///{path}")
    app = create_app(settings, clock=clock)
    yield Site(app, clock)
    app.extensions["waypost"].close()


@on_sqlite
def test_a_file_that_is_there_is_never_replaced(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "there.db"
    path.write_bytes(b"mine")
    done = site.app.test_cli_runner().invoke(args=["backup", str(path)])
    assert done.exit_code == 1
    assert "there already" in done.output
    assert path.read_bytes() == b"mine"
    assert not list(tmp_path.glob("*.partial"))


@on_sqlite
def test_the_command_tells_what_it_wrote(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    done = site.app.test_cli_runner().invoke(args=["backup", str(path)])
    assert done.exit_code == 0, done.output
    assert f"{path}: {path.stat().st_size:,} bytes" in done.output
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(one.name for one in tmp_path.glob("new.db*")) == ["new.db"]


@on_sqlite
def test_a_folder_that_is_not_there_is_told(site: Site, tmp_path: Path) -> None:
    with pytest.raises(InputInvalid) as refusal:
        relocation_of(site).backup(str(tmp_path / "none" / "copy.db"), silent)
    assert refusal.value.key == "backup.no_folder"


@on_sqlite
def test_what_cannot_be_written_is_told_and_leaves_nothing(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("webapp.stores.sql.backup.os.open", refuse)
    with pytest.raises(Unavailable) as refusal:
        relocation_of(site).backup(str(tmp_path / "copy.db"), silent)
    assert refusal.value.details == {"reason": "Permission denied"}
    done = site.app.test_cli_runner().invoke(args=["backup", str(tmp_path / "copy.db")])
    assert "(Permission denied)" in done.output
    assert "run it again" in done.output
    assert not list(tmp_path.glob("copy.db*"))


@on_sqlite
def test_a_broken_off_backup_leaves_nothing_and_one_of_before_is_cleaned_up(site: Site, tmp_path: Path) -> None:
    class Interrupted(Exception):
        pass

    def stop(step: str, done: int, total: int) -> None:
        raise Interrupted

    (tmp_path / "copy.db.partial").write_bytes(b"left by one that was killed")
    with pytest.raises(Interrupted):
        relocation_of(site).backup(str(tmp_path / "copy.db"), stop)
    assert not list(tmp_path.glob("copy.db*"))
    relocation_of(site).backup(str(tmp_path / "copy.db"), silent)
    assert [one.name for one in tmp_path.glob("copy.db*")] == ["copy.db"]


@on_sqlite
def test_two_backups_to_one_file_do_not_mix(site: Site, tmp_path: Path) -> None:
    """The second one used to take the file of the first away, whose half-written one was then taken for whole."""
    path, refusals = tmp_path / "copy.db", list[str]()

    def also(step: str, done: int, total: int) -> None:
        with pytest.raises(Conflict) as refusal:
            relocation_of(site).backup(str(path), silent)
        refusals.append(refusal.value.key)

    relocation_of(site).backup(str(path), also)
    assert set(refusals) == {"backup.running"}
    check_whole(path)
    assert [one.name for one in tmp_path.glob("copy.db*")] == ["copy.db"]


@on_sqlite
def test_tenants_with_a_file_of_their_own_are_backed_up_beside_it(site: Site, stores: StoreSet, tmp_path: Path) -> None:
    own = create_database(f"sqlite:///{tmp_path / 'north.db'}", pool_size=1)
    upgrade(own)
    own.dispose()
    for tenant, url in (("a/b", f"sqlite:///{tmp_path / 'north.db'}"), ("far", "postgresql://db/far"), ("in", None)):
        stores.accounts.insert_tenant(Tenant(id=tenant, name=tenant, database_url=url, created_at=stores.clock.now()))
    report = relocation_of(site).backup(str(tmp_path / "all.db"), silent)
    assert [Path(file.path).name for file in report.files] == ["all.db", "all-a%2Fb.db"]
    assert report.elsewhere == ("far",)
    assert rows_of(tmp_path / "all-a%2Fb.db".replace("%", "%25"), "SELECT count(*) FROM instances") == [(0,)]


@pytest.mark.parametrize("stores", [pytest.param("postgresql", marks=pytest.mark.postgresql)], indirect=True)
def test_a_server_has_its_own_tool(site: Site, tmp_path: Path) -> None:
    with pytest.raises(Conflict) as refusal:
        relocation_of(site).backup(str(tmp_path / "copy.db"), silent)
    assert refusal.value.key == "backup.not_sqlite"
    done = site.app.test_cli_runner().invoke(args=["backup", str(tmp_path / "copy.db")])
    assert "pg_dump" in done.output
    assert not list(tmp_path.glob("copy.db*"))
