"""The composition root: what a whole application says about itself, and what importing it does not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.flows import END, START, flow
from tests.support.server import ROOT
from tests.support.web import CATALOG, CHEAP, make_settings, make_site
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.app import create_app
from webapp.config import SettingsError
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.instances.journal import Event
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.ports.listeners import Listeners
from webapp.host import Waypost
from webapp.services.queries import NoticeQuery
from webapp.stores import sql


def test_healthz_only_says_that_the_process_is_up(tmp_path: Path) -> None:
    response = make_site(tmp_path).app.test_client().get("/healthz")
    assert (response.status_code, response.json) == (200, {"status": "ok"})


def test_readyz_names_the_part_that_is_not_there(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    client = site.app.test_client()
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json == {
        "status": "unavailable",
        "database": "ok",
        "migrations": "ok",
        "poller": "not running",
    }
    site.services.housekeeping.beat()
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json == {"status": "ready", "database": "ok", "migrations": "ok", "poller": "ok"}


def test_a_database_without_tables_is_named_and_refused_in_the_readers_language(tmp_path: Path) -> None:
    app = create_app(make_settings(tmp_path), passwords=CHEAP, catalog=CATALOG)
    try:
        ready = app.test_client().get("/readyz").json
        assert ready["database"] == "ok"
        assert ready["migrations"] == f"at nothing, head is {sql.head()}: run db upgrade"
        headers = {"Authorization": "Bearer x", "Accept-Language": "zh"}
        response = app.test_client().get("/api/v1/me", headers=headers)
        assert response.status_code == 503
        assert response.json["code"] == "WORKFLOW_UNAVAILABLE_001"
        assert response.json["title"] == "无法连接数据库"
        assert response.headers["Retry-After"] == "5"
    finally:
        app.extensions["waypost"].close()


def test_a_database_that_cannot_be_reached_is_named_without_its_password(tmp_path: Path) -> None:
    settings = make_settings(tmp_path, WAYPOST_DATABASE_URL="postgresql://someone:secret@127.0.0.1:1/none")
    app = create_app(settings, passwords=CHEAP, catalog=CATALOG)
    response = app.test_client().get("/readyz")
    assert response.status_code == 503
    assert response.json["database"].startswith("cannot be reached: ")
    assert response.json["migrations"] == "unknown"
    assert "secret" not in response.text


def test_leases_that_cannot_be_kept_stop_the_start_and_the_setting_is_named(tmp_path: Path) -> None:
    url = "postgresql://someone:secret@127.0.0.1:1/none"
    with pytest.raises(SettingsError) as caught:
        create_app(make_settings(tmp_path, WAYPOST_LOCK_CONNECTION=url), passwords=CHEAP, catalog=CATALOG)
    assert caught.value.variable == "WAYPOST_LOCK_CONNECTION"
    assert caught.value.raw == "postgresql+psycopg://someone:***@127.0.0.1:1/none"
    for language in ("en", "zh"):
        text = caught.value.text(CATALOG, language)
        assert "WAYPOST_LOCK_CONNECTION" in text
        assert "secret" not in text
    # A folder is where the file should be.
    (tmp_path / "leases.db").mkdir()
    with pytest.raises(SettingsError, match="WAYPOST_LOCK_CONNECTION"):
        create_app(make_settings(tmp_path), passwords=CHEAP, catalog=CATALOG)


def test_everything_is_stored_where_the_settings_say(tmp_path: Path) -> None:
    app = create_app(make_settings(tmp_path / "deep" / "data"), passwords=CHEAP, catalog=CATALOG)
    here = app.extensions["waypost"]
    try:
        here.migrations.upgrade(None)
        here.services.accounts.create(name="lin", password="x")
        assert here.services.accounts.find_by_name("lin") is not None
        assert (tmp_path / "deep" / "data" / "waypost.db").is_file()
        assert (tmp_path / "deep" / "data" / "leases.db").is_file()
    finally:
        here.close()


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("webapp", ("flask", "sqlalchemy", "webapp.app")),
        ("webapp.engine.runtime.engine", ("flask", "sqlalchemy", "click", "werkzeug", "apscheduler")),
        ("webapp.services", ("flask", "sqlalchemy", "click", "werkzeug", "apscheduler")),
        ("webapp.app", ("kombu", "amqp", "redis")),
        ("webapp.stores.memory", ("flask", "sqlalchemy", "click", "werkzeug", "apscheduler")),
    ],
)
def test_importing_a_part_loads_no_framework(module: str, absent: tuple[str, ...]) -> None:
    script = f"import sys, {module}; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_an_application_brings_of_its_own_takes_part_in_commands(tmp_path: Path) -> None:
    class Own:
        """A listener, and a resolver of applicants."""

        def __init__(self) -> None:
            self.topics: list[str] = []

        def heard(self, event: Event, instance: WorkflowInstance) -> None:
            self.topics.append(event.topic)

        def applicant(self, instance: WorkflowInstance, definition: WorkflowDefinition) -> str:
            return "li"

    own = Own()
    settings = make_settings(tmp_path, WAYPOST_LANGUAGE="zh")
    waypost = Waypost(settings, listeners=Listeners(execution=[own]), applicants=own)
    try:
        waypost.upgrade()
        services = waypost.services
        # A host drains at its start; this one has calls of its own.
        services.hosting.serve()
        boss = services.accounts.actor(services.accounts.create(name="boss", roles=[ADMINISTRATOR]))
        services.accounts.create(name="li")
        draft = services.catalog.create(boss, flow("short", [START, END]))
        services.catalog.publish(boss, draft.id)
        services.instances.start(boss, name="short")
        assert own.topics[0] == "workflow.instance.started"
        assert own.topics[-1] == "workflow.instance.completed"
        (notice,) = services.notices.list(waypost.actor("li"), NoticeQuery()).items
        assert (notice.event_type, notice.language) == ("InstanceCompleted", "zh")
    finally:
        waypost.close()
