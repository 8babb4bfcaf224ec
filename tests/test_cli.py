"""The commands of ``flask --app webapp``: on memory stores in process, and on SQLite as real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.support.server import ROOT, ServerProcess
from tests.support.web import Site, make_site
from webapp.accounts.demo import DEMO_ACCOUNTS
from webapp.accounts.model import Actor
from webapp.cli.demo import SAMPLES, ensure_sample, sample
from webapp.services.queries import DefinitionQuery


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path, WAYPOST_DEMO="1")


def run(site: Site, *arguments: str) -> Result:
    return site.app.test_cli_runner().invoke(args=list(arguments))


def test_a_user_is_created_with_its_roles(site: Site) -> None:
    result = run(site, "user", "create", "lin", "--password", "s3cret", "--role", "designer", "--role", "finance")
    assert result.exit_code == 0
    account = site.services.accounts.find_by_name("lin")
    assert account is not None
    assert account.roles == ("designer", "finance")
    assert account.tenant_id is None
    assert site.services.accounts.authenticate("lin", "s3cret") == account


def test_a_user_without_a_role_is_a_user(site: Site) -> None:
    arguments = ["--display-name", "Lin Wei", "--department", "sales", "--language", "zh", "--tenant", "north"]
    assert run(site, "user", "create", "lin", "--password", "x", *arguments).exit_code == 0
    account = site.services.accounts.find_by_name("lin")
    assert account is not None
    assert account.roles == ("user",)
    assert (account.display_name, account.department, account.language) == ("Lin Wei", "sales", "zh")
    assert account.tenant_id == "north"


def test_a_taken_name_is_refused_with_a_message(site: Site) -> None:
    run(site, "user", "create", "lin", "--password", "x")
    result = run(site, "user", "create", "lin", "--password", "y")
    assert result.exit_code == 1
    assert "lin" in result.output
    assert "Traceback" not in result.output
    assert site.services.accounts.authenticate("lin", "x") is not None


def test_a_password_is_replaced(site: Site) -> None:
    run(site, "user", "create", "lin", "--password", "x")
    assert run(site, "user", "password", "lin", "--password", "y").exit_code == 0
    assert site.services.accounts.authenticate("lin", "x") is None
    assert site.services.accounts.authenticate("lin", "y") is not None
    assert run(site, "user", "password", "nobody", "--password", "y").exit_code == 1


def test_a_token_is_the_last_line_and_works(site: Site) -> None:
    run(site, "user", "create", "lin", "--password", "x", "--role", "operator")
    result = run(site, "token", "create", "--user", "lin")
    assert result.exit_code == 0
    token = result.output.splitlines()[-1]
    assert token.startswith("wpt_")
    answer = site.anybody(Authorization=f"Bearer {token}").get("/me")
    assert answer.expect(200)["name"] == "lin"


def test_a_token_may_end(site: Site) -> None:
    run(site, "user", "create", "lin", "--password", "x")
    token = run(site, "token", "create", "--user", "lin", "--days", "30").output.splitlines()[-1]
    caller = site.anybody(Authorization=f"Bearer {token}")
    site.clock.advance(30 * 24 * 3600 - 1)
    assert caller.get("/me").status == 200
    site.clock.advance(1)
    assert caller.get("/me").status == 401


def test_a_token_for_nobody_is_refused(site: Site) -> None:
    result = run(site, "token", "create", "--user", "nobody")
    assert result.exit_code == 1
    assert "user create nobody" in result.output


def test_the_demo_is_loaded_once(site: Site) -> None:
    first = run(site, "demo", "load")
    assert first.exit_code == 0, first.output
    second = run(site, "demo", "load")
    assert second.output == "Accounts: there already. Definitions: there already.\n"
    for account in DEMO_ACCOUNTS:
        stored = site.services.accounts.authenticate(account.name, account.name)
        assert stored is not None
        assert stored.roles == (account.role,)
    designer = site.services.accounts.find_by_name("designer")
    assert designer is not None
    actor = site.services.accounts.actor(designer)
    rows = site.services.catalog.query(actor, DefinitionQuery()).items
    assert [(row.name, row.version, row.status) for row in rows] == [(name, 1, "Published") for name in sorted(SAMPLES)]


def test_the_demo_needs_its_setting(tmp_path: Path) -> None:
    result = run(make_site(tmp_path), "demo", "load")
    assert result.exit_code == 1
    assert "WAYPOST_DEMO=1" in result.output


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_publishes_without_a_change_or_a_warning(site: Site, name: str) -> None:
    site.account("dan", "designer")
    caller = site.caller("dan")
    draft = caller.post("/definitions/import", sample(name)).expect(201)
    assert caller.post(f"/definitions/{draft['id']}/validate").expect(200) == {"errors": [], "warnings": []}
    assert caller.post(f"/definitions/{draft['id']}/publish").expect(200)["status"] == "Published"
    assert all(node["x"] is not None and node["y"] is not None and node["name"] for node in draft["nodes"])


def test_the_leave_request_is_what_the_first_steps_draw() -> None:
    document = sample("leave-request")
    assert [node["activityType"] for node in document["nodes"]] == ["Start", "UserTask", "Decision", "End", "End"]
    assert [variable["name"] for variable in document["variables"]] == ["from", "to", "reason"]


@pytest.mark.parametrize(
    ("decisions", "outcome"),
    [
        ([("manager", "approved"), ("operator", "approved")], "approved"),
        ([("operator", "approved"), ("manager", "rejected")], "rejected"),
        ([("manager", "rejected"), ("operator", "approved")], "rejected"),
    ],
)
def test_a_purchase_needs_both(site: Site, decisions: list[tuple[str, str]], outcome: str) -> None:
    run(site, "demo", "load")
    employee = site.caller("employee")
    body = {"name": "purchase-approval", "variables": {"item": "A printer", "amount": Decimal("1200.50")}}
    instance = employee.post("/instances", body).expect(201)
    assert instance["status"] == "Running"
    for name, decision in decisions:
        caller = site.caller(name)
        task = caller.get("/tasks").expect(200)["items"][0]
        assert task["title"].startswith("A printer for 1200.50:")
        caller.post(f"/tasks/{task['id']}/complete", {"outcome": decision}).expect(200)
    done = employee.get(f"/instances/{instance['id']}").expect(200)
    assert (done["status"], done["outcome"]) == ("Completed", outcome)


def test_the_database_is_upgraded_in_place(site: Site) -> None:
    assert run(site, "db", "upgrade").output == "The database is at memory.\n"
    assert run(site, "db", "current").output == "memory (head)\n"
    assert "there is nothing to do" in run(site, "db", "reindex").output


def test_a_load_that_was_stopped_is_finished_by_the_next(site: Site) -> None:
    run(site, "demo", "load")
    designer = site.caller("designer")
    site.account("dan", "designer", tenant_id="north")
    dan = site.caller("dan")
    draft = dan.post("/definitions/import", sample("leave-request")).expect(201)
    actor = site.services.accounts.actor(site.services.accounts.find_by_name("dan"))  # type: ignore[arg-type]  # made above
    assert _ensure_sample(actor, "leave-request", site)
    assert dan.get(f"/definitions/{draft['id']}").expect(200)["status"] == "Published"
    assert not _ensure_sample(actor, "leave-request", site)
    assert designer.get("/definitions").expect(200)["total"] == len(SAMPLES)


def _ensure_sample(actor: Actor, name: str, site: Site) -> bool:
    with site.app.app_context():
        return ensure_sample(actor, name)


def test_definitions_go_out_and_come_in(site: Site, tmp_path: Path) -> None:
    run(site, "demo", "load")
    exported = run(site, "definitions", "export", "leave-request", "--user", "designer")
    assert exported.exit_code == 0
    path = tmp_path / "leave.json"
    path.write_text(exported.output, encoding="utf-8")
    assert json.loads(exported.output)["name"] == "leave-request"
    imported = run(site, "definitions", "import", str(path), "--user", "designer", "--publish")
    assert imported.output == "leave-request version 2: Published\n"
    first = run(site, "definitions", "export", "leave-request", "--user", "designer", "--version", "1")
    assert first.output == exported.output
    for refused in (["nothing"], ["leave-request", "--version", "9"], ["leave-request", "--user", "nobody"]):
        assert run(site, "definitions", "export", "--user", "designer", *refused).exit_code == 1


def test_an_import_says_what_is_wrong_and_where(site: Site, tmp_path: Path) -> None:
    run(site, "demo", "load")
    path = tmp_path / "broken.json"
    path.write_text('{"name": "a", "nodes": [{"id": 1}]}', encoding="utf-8")
    result = run(site, "definitions", "import", str(path), "--user", "designer")
    assert result.exit_code == 1
    assert "nodes[0].id" in result.output
    assert "Traceback" not in result.output
    assert run(site, "definitions", "import", str(path), "--user", "employee").exit_code == 1
    path.write_text("[]", encoding="utf-8")
    assert "object" in run(site, "definitions", "import", str(path), "--user", "designer").output


def command(tmp_path: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")},
        "WAYPOST_DATA": str(tmp_path / "data"),
        "WAYPOST_SECRET_KEY": "a key for tests only",
        **environ,
    }
    return subprocess.run(
        [sys.executable, "-m", "flask", "--app", "webapp", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_database_is_made_and_told(tmp_path: Path) -> None:
    before = command(tmp_path, "db", "current")
    assert before.stdout.startswith("none (head is ")
    assert command(tmp_path, "db", "upgrade").stdout.startswith("The database went from nothing to ")
    assert command(tmp_path, "db", "upgrade").stdout.startswith("The database is at ")
    assert command(tmp_path, "db", "current").stdout.endswith("(head)\n")
    made = command(tmp_path, "db", "reindex")
    assert made.returncode == 0
    assert made.stdout.startswith("The database: made anew: bookmarks_words_index, ")


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"PORT": "http"}, ["PORT", "http"]),
        ({"WAYPOST_THREADS": "0"}, ["WAYPOST_THREADS", "0"]),
        ({"WAYPOST_SECRET_KEY": ""}, ["WAYPOST_SECRET_KEY"]),
        ({"WAYPOST_DEMO": "1", "WAYPOST_HOST": "0.0.0.0"}, ["WAYPOST_HOST", "0.0.0.0"]),
        ({"WAYPOST_DATA": "/dev/null/waypost"}, ["WAYPOST_DATA", "/dev/null/waypost"]),
        (
            {"WAYPOST_DATABASE_URL": "sqlite:////dev/null/w/a.db"},
            ["WAYPOST_DATABASE_URL", "sqlite:////dev/null/w/a.db"],
        ),
    ],
)
def test_a_bad_setting_ends_every_command_with_one_line(
    tmp_path: Path, environ: dict[str, Any], words: list[str]
) -> None:
    done = command(tmp_path, "serve", **environ)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("arguments", [("db", "upgrade"), ("db", "current"), ("token", "create", "--user", "lin")])
def test_a_database_that_is_away_is_told_in_a_line_without_its_password(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    url = "postgresql://waypost:hush-hush@127.0.0.1:1/waypost"
    done = command(tmp_path, *arguments, WAYPOST_DATABASE_URL=url)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "127.0.0.1" in done.stderr
    for secret in ("Traceback", "hush-hush"):
        assert secret not in done.stderr + done.stdout


@pytest.mark.faults
def test_serving_answers_logs_and_stops(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path)
    server.prepare()
    server.start()
    try:
        assert f"Waypost is at {server.address}\n" in server.log
        second = command(tmp_path, "serve", PORT=str(server.port), WAYPOST_DATA=str(tmp_path))
        assert second.returncode == 1
        assert f"Port {server.port} of 127.0.0.1 is taken" in second.stderr
    finally:
        server.stop()
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    events = [line["event"] for line in lines]
    assert "poller started" in events
    assert events.index("poller stopped") < events.index("Shutting down: Master")
