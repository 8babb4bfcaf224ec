"""Tenants with databases of their own, in the whole application: commands, sign-in, ``/readyz`` (spec 8.10)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result

from tests.support.clock import FakeClock
from tests.support.web import CATALOG, CHEAP, Site, make_settings, make_site
from webapp.app import create_app
from webapp.cli.demo import sample
from webapp.stores import sql


@pytest.fixture
def site(tmp_path: Path, migrated_sqlite: Path) -> Iterator[Site]:
    """The application over SQLite files; its database has its tables."""
    shutil.copy(migrated_sqlite, tmp_path / "waypost.db")
    clock = FakeClock()
    app = create_app(make_settings(tmp_path), clock=clock, passwords=CHEAP, catalog=CATALOG)
    yield Site(app, clock)
    app.extensions["waypost"].close()


def run(site: Site, *arguments: str) -> Result:
    return site.app.test_cli_runner().invoke(args=list(arguments))


def url_of(tmp_path: Path, name: str) -> str:
    return f"sqlite:///{tmp_path / name}"


def add(site: Site, tmp_path: Path, migrated: Path, name: str) -> None:
    """Add a tenant with a database of its own whose tables are there already."""
    shutil.copy(migrated, tmp_path / f"{name}.db")
    done = run(site, "tenant", "add", name, "--database", url_of(tmp_path, f"{name}.db"))
    assert done.exit_code == 0, done.output


def publish_as(site: Site, name: str, tenant: str | None) -> str:
    """Make an administrator of a tenant, publish the sample, and return the definition's id."""
    site.account(name, "administrator", tenant_id=tenant)
    caller = site.caller(name)
    definition: str = caller.post("/definitions/import", sample("leave-request")).expect(201)["id"]
    caller.post(f"/definitions/{definition}/publish").expect(200)
    return definition


def test_a_tenant_is_added_listed_switched_and_moved(site: Site, tmp_path: Path) -> None:
    assert run(site, "tenant", "list").output == "There is no tenant beside the platform.\n"
    assert run(site, "tenant", "add", "south").output == "Added the tenant south in the platform's database.\n"
    url = url_of(tmp_path, "deep/north.db")
    assert run(site, "tenant", "add", "north", "--database", url).output == f"Added the tenant north in {url}.\n"
    assert sql.SqlOpening().current(url) == sql.head()
    listed = f"north\tenabled\t{url}\nsouth\tenabled\tthe platform's database\n"
    assert run(site, "tenant", "list").output == listed
    assert run(site, "tenant", "disable", "south").exit_code == 0
    assert "south\tdisabled\t" in run(site, "tenant", "list").output
    assert run(site, "tenant", "database", "south", url).exit_code == 0
    assert run(site, "tenant", "enable", "south").exit_code == 0
    assert f"south\tenabled\t{url}\n" in run(site, "tenant", "list").output
    actions = [action for _, action in rows_of(tmp_path / "waypost.db", "action", "platform_audit")]
    assert actions == ["addTenant", "addTenant", "disableTenant", "moveTenant", "enableTenant"]


def test_a_tenant_whose_database_is_gone_is_disabled_and_moved_by_force_only(
    site: Site, tmp_path: Path, migrated_sqlite: Path
) -> None:
    add(site, tmp_path, migrated_sqlite, "north")
    (tmp_path / "north.db").unlink()
    refused = run(site, "tenant", "disable", "north")
    assert refused.exit_code != 0
    assert "--force" in refused.output and "Traceback" not in refused.output
    assert "north\tenabled" in run(site, "tenant", "list").output
    assert run(site, "tenant", "disable", "north", "--force").exit_code == 0
    assert "--force" in run(site, "tenant", "database", "north", "--platform").output
    moved = run(site, "tenant", "database", "north", "--platform", "--force")
    assert moved.exit_code == 0, moved.output
    assert run(site, "tenant", "enable", "north").exit_code == 0
    assert "north\tenabled\tthe platform's database\n" in run(site, "tenant", "list").output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "south"), "already"),
        (("add", " "), "tenant"),
        (("add", "x", "--database", "nonsense"), "nonsense"),
        (("add", "x", "--database", "postgresql://u:hush-hush@127.0.0.1:1/none"), "127.0.0.1"),
        (("disable", "nobody"), "nobody"),
        (("enable", "nobody"), "nobody"),
        (("database", "south", "sqlite:////x.db"), "Disable it first"),
        (("database", "south"), "--platform"),
    ],
)
def test_a_command_that_cannot_be_done_says_why_and_changes_nothing(
    site: Site, arguments: tuple[str, ...], words: str
) -> None:
    run(site, "tenant", "add", "south")
    before = site.services.tenants.all()
    done = run(site, "tenant", *arguments)
    assert done.exit_code != 0
    assert words in done.output
    assert "Traceback" not in done.output
    assert "hush-hush" not in done.output
    assert site.services.tenants.all() == before


def test_upgrade_and_current_go_through_every_enabled_tenants_database(
    site: Site, tmp_path: Path, migrated_sqlite: Path
) -> None:
    for name in ("east", "north"):
        add(site, tmp_path, migrated_sqlite, name)
    add(site, tmp_path, migrated_sqlite, "west")
    run(site, "tenant", "disable", "west")
    (tmp_path / "north.db").unlink()
    shutil.rmtree(tmp_path / "gone", ignore_errors=True)
    current = run(site, "db", "current").output.splitlines()
    assert current[0] == f"{sql.head()} (head)"
    assert current[1] == f"east ({url_of(tmp_path, 'east.db')}): {sql.head()} (head)"
    assert current[2] == f"north ({url_of(tmp_path, 'north.db')}): none (head is {sql.head()}: run db upgrade)"
    assert len(current) == 3
    upgraded = run(site, "db", "upgrade").output.splitlines()
    assert upgraded[0] == f"The database is at {sql.head()}."
    assert upgraded[1].endswith(f"is at {sql.head()}.")
    assert upgraded[2].endswith(f"went from nothing to {sql.head()}.")
    assert run(site, "db", "current").output.splitlines()[2].endswith("(head)")


def test_an_upgrade_goes_on_after_a_database_that_is_away_and_ends_with_an_error(
    site: Site, tmp_path: Path, migrated_sqlite: Path
) -> None:
    add(site, tmp_path, migrated_sqlite, "east")
    add(site, tmp_path, migrated_sqlite, "north")
    (tmp_path / "east.db").unlink()
    (tmp_path / "east.db").mkdir()
    (tmp_path / "north.db").unlink()
    done = run(site, "db", "upgrade")
    assert done.exit_code == 1
    assert "Not upgraded: east" in done.output
    assert sql.SqlOpening().current(url_of(tmp_path, "north.db")) == sql.head()


def test_a_tenant_works_in_its_own_database_and_only_there(site: Site, tmp_path: Path, migrated_sqlite: Path) -> None:
    add(site, tmp_path, migrated_sqlite, "north")
    run(site, "tenant", "add", "south")
    found = {name: publish_as(site, name or "root", name) for name in (None, "north", "south")}
    started = {}
    for name in found:
        caller = site.caller(name or "root")
        body = {"name": "leave-request", "variables": {"from": "2026-08-01", "to": "2026-08-02", "reason": "x"}}
        started[name] = caller.post("/instances", body).expect(201)["id"]
    for name, instance in started.items():
        caller = site.caller(name or "root")
        assert caller.get("/instances").expect(200)["total"] == 1
        for other in started.values():
            assert caller.get(f"/instances/{other}").status == (200 if other == instance else 404)
    tables = ("platform_instances", "instances")
    rows = {name: rows_of(tmp_path / f"{name}.db", "id", *tables) for name in ("waypost", "north")}
    assert rows == {
        "waypost": [("platform_instances", started[None]), ("instances", started["south"])],
        "north": [("instances", started["north"])],
    }


def rows_of(path: Path, column: str, *tables: str) -> list[tuple[str, str]]:
    database = sql.create_database(f"sqlite:///{path}")
    with database.connect() as connection:
        found = [
            (table, row[0])
            for table in tables
            for row in connection.exec_driver_sql(f"SELECT {column} FROM {table} ORDER BY rowid")
        ]
    database.dispose()
    return found


def test_a_database_that_is_away_is_named_and_stops_its_own_tenant_only(
    site: Site, tmp_path: Path, migrated_sqlite: Path
) -> None:
    add(site, tmp_path, migrated_sqlite, "north")
    publish_as(site, "nora", "north")
    publish_as(site, "root", None)
    site.services.housekeeping.beat()
    client = site.app.test_client()
    assert client.get("/readyz").json == {"status": "ready", "database": "ok", "migrations": "ok", "poller": "ok"}
    site.installation.close()
    (tmp_path / "north.db").rename(tmp_path / "elsewhere.db")
    (tmp_path / "north.db").mkdir()
    # The first call meets the loss, the next one knows of it.
    assert site.caller("nora").get("/definitions").status == 503
    problem = site.caller("nora").get("/definitions").refused(503, "WORKFLOW_UNAVAILABLE_001")
    assert problem["details"] == {"reason": "tenant_database_unreachable"}
    assert "north" in problem["detail"]
    assert site.caller("root").get("/definitions").expect(200)["total"] == 1
    ready = client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json["status"] == "ready"
    assert ready.json["tenants"] == {"north": "tenant_database_unreachable"}
    (tmp_path / "north.db").rmdir()
    (tmp_path / "elsewhere.db").rename(tmp_path / "north.db")
    site.clock.advance(2)
    assert site.caller("nora").get("/definitions").expect(200)["total"] == 1
    assert "tenants" not in client.get("/readyz").json


def test_a_database_behind_this_version_is_named_and_not_served(site: Site, tmp_path: Path) -> None:
    run(site, "tenant", "add", "north", "--database", url_of(tmp_path, "north.db"))
    site.account("nora", "administrator", tenant_id="north")
    database = sql.create_database(url_of(tmp_path, "north.db"))
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001_first'")
    database.dispose()
    problem = site.caller("nora").get("/definitions").refused(503, "WORKFLOW_UNAVAILABLE_001")
    assert problem["details"] == {"reason": "tenant_database_behind"}
    assert site.app.test_client().get("/readyz").json["tenants"] == {"north": "tenant_database_behind"}


# --- disabled tenants -------------------------------------------------------------------------


def test_nobody_of_a_disabled_tenant_gets_in(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    run(site, "tenant", "add", "north")
    site.account("nora", "administrator", tenant_id="north")
    site.account("root", "administrator")
    client = site.app.test_client()
    caller = site.caller("nora")
    caller.get("/definitions").expect(200)
    _sign_in(client, "nora!")
    assert client.get("/inbox").status_code == 200
    assert run(site, "tenant", "disable", "north").exit_code == 0
    # A token is told why, a session is over, and the form says it to who knows the password, and to nobody else.
    refusal = caller.get("/definitions").refused(403, "ACCESS_DENIED_001")
    assert "north" in refusal["detail"]
    assert client.get("/inbox").status_code == 303
    assert _sign_in(client, "nora!") == (403, True)
    assert _sign_in(client, "wrong") == (422, False)
    site.caller("root").get("/definitions").expect(200)
    assert run(site, "tenant", "enable", "north").exit_code == 0
    caller.get("/definitions").expect(200)
    assert _sign_in(client, "nora!")[0] == 303


def _sign_in(client, password: str) -> tuple[int, bool]:  # type: ignore[no-untyped-def]  # Flask's client
    page = client.get("/sign-in").text
    token = page.partition('name="csrf_token" value="')[2].partition('"')[0]
    answer = client.post("/sign-in", data={"name": "nora", "password": password, "csrf_token": token})
    return answer.status_code, "north" in answer.text
