"""The schedule of a workflow that starts by time: next times, past times, and why a start failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.pages import actor_of, leave_request, make_office, visit
from tests.support.web import Site
from webapp.engine.definitions.model import VariableDefinition


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def publish_daily(site: Site, **changes: Any) -> str:
    document = leave_request()
    start = {**document["nodes"][0], "properties": {"Cron": "0 9 * * *", "TimeZone": "Europe/Berlin"}}
    designer = actor_of(site, "designer")
    changed = {**document, "name": "daily", "displayName": "Daily", "variables": [], **changes}
    made = site.services.catalog.create(designer, {**changed, "nodes": [start, *document["nodes"][1:]]})
    site.services.catalog.publish(designer, made.id)
    return made.id


def spoil(site: Site, definition_id: str) -> None:
    """Make a workflow one that cannot be started, as it may become after an upgrade."""
    stores: Any = site.installation.stores
    with stores.writing(None) as work:
        stored = work.definitions.find(None, definition_id)
        required = (VariableDefinition(name="days", required=True),)
        changed = msgspec.structs.replace(stored, variables=list(required), revision=stored.revision + 1)
        work.definitions.replace(None, changed, stored.revision)


def test_the_next_times_stand_in_order(site: Site) -> None:
    definition = publish_daily(site)
    page = visit(site, "operator").get(f"/schedules/{definition}")
    assert "0 9 * * *" in page.text and "Europe/Berlin" in page.text
    assert page.html.count("<li><time datetime=") == 5
    assert "It has not fired yet." in page.text
    assert f'href="/schedules/{definition}"' in visit(site, "designer").get("/designer").html


def test_a_time_that_started_leads_to_its_instance_and_back(site: Site) -> None:
    definition = publish_daily(site)
    site.clock.advance(24 * 3_600)
    site.services.housekeeping.poll_once()
    page = visit(site, "operator").get(f"/schedules/{definition}")
    found = site.services.instances.query(actor_of(site, "operator")).items
    instance = next(one.id for one in found if one.definition_name == "daily")
    assert f'href="/monitor/{instance}"' in page.html and "Started" in page.text
    shown = visit(site, "operator").get(f"/monitor/{instance}")
    assert "Scheduled at" in shown.text and f'href="/schedules/{definition}"' in shown.html
    assert "The request was started by a timer, a signal or another request" in shown.text


def test_a_start_that_failed_says_why(site: Site) -> None:
    definition = publish_daily(site)
    spoil(site, definition)
    for seconds in (24 * 3_600, 61, 301, 1_501):
        site.clock.advance(seconds)
        site.services.housekeeping.poll_once()
        if seconds == 24 * 3_600:
            assert "The last start failed." in visit(site, "operator").get(f"/schedules/{definition}").text
    page = visit(site, "operator").get(f"/schedules/{definition}")
    assert "Failed" in page.text and "The last start failed" not in page.text
    assert "services.definition.invalid" in page.html


def test_a_workflow_without_a_schedule_says_so(site: Site) -> None:
    found = site.services.catalog.get_published(actor_of(site, "designer"), "leave")
    page = visit(site, "designer").get(f"/schedules/{found.id}")
    assert "No schedule" in page.text
    assert visit(site, "designer").get("/schedules/none").status == 404
    assert visit(site, "employee").get(f"/schedules/{found.id}").status == 403
