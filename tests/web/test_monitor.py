"""The monitor: list, counters, one instance, cancel and retry."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import actor_of, leave_request, make_office, start_leave, visit
from tests.support.web import Site
from webapp.engine.instances.model import InstanceStatus
from webapp.services.queries import InstanceQuery, Paging, Sort
from webapp.web.instance_filters import read_query


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def failing() -> dict[str, Any]:
    """Return a workflow whose first step fails."""
    fault = {
        "id": "fail",
        "name": "Check budget",
        "activityType": "Fault",
        "properties": {"Message": "No <b>answer</b>"},
    }
    document = leave_request()
    return {
        **document,
        "name": "failing",
        "displayName": "Failing",
        "nodes": [document["nodes"][0], fault],
        "transitions": [{"id": "t1", "sourceNodeId": "start", "targetNodeId": "fail"}],
        "variables": [],
    }


def start_failing(site: Site) -> str:
    designer = actor_of(site, "designer")
    made = site.services.catalog.create(designer, failing())
    site.services.catalog.publish(designer, made.id)
    return site.services.instances.start(actor_of(site, "employee"), name="failing").instance.id


def test_the_whole_query_is_the_address() -> None:
    args = {
        "status": "Faulted",
        "keyword": " toner ",
        "definition": "leave",
        "version": "2",
        "correlation": "PR-1",
        "starter": "employee",
        "children": "1",
        "createdFrom": "2026-07-01",
        "createdTo": "2026-07-02",
        "sort": "-endedAt,title",
        "offset": "50",
    }
    assert read_query(args, UTC) == InstanceQuery(
        statuses=(InstanceStatus.FAULTED,),
        keyword="toner",
        definition_name="leave",
        definition_version=2,
        correlation_id="PR-1",
        starter_id="employee",
        top_level_only=False,
        created_from=datetime(2026, 7, 1, tzinfo=UTC),
        created_to=datetime(2026, 7, 3, tzinfo=UTC),
        paging=Paging(sorts=(Sort("endedAt", descending=True), Sort("title")), offset=50, limit=50),
    )
    assert read_query({}, UTC).top_level_only


def test_counters_are_filters(site: Site) -> None:
    start_leave(site, title="Still open")
    site.services.instances.cancel(actor_of(site, "operator"), start_leave(site, title="Cancelled one"), "Twice")
    visitor = visit(site, "operator")
    page = visitor.get("/monitor")
    assert "All 2 Running 1" in page.text
    assert "Waiting for Marta Ruiz" in page.text
    assert 'href="/monitor?status=Canceled"' in page.html
    only = visitor.get("/monitor?status=Canceled", target="list").text
    assert "Cancelled one" in only and "Still open" not in only and "Twice" in only
    assert "Running 1" in only, "the counters do not follow the state that is chosen"


def test_filters_stay_in_the_links(site: Site) -> None:
    start_leave(site, title="Toner")
    page = visit(site, "operator").get("/monitor?keyword=toner&createdFrom=2026-07-01")
    assert "Toner" in page.text
    assert "/monitor?keyword=toner&amp;createdFrom=2026-07-01&amp;status=Running" in page.html
    assert "/monitor?keyword=toner&amp;createdFrom=2026-07-01&amp;sort=title" in page.html
    assert "More filters (1)" in page.text
    assert "Nothing matches" in visit(site, "operator").get("/monitor?keyword=paper").text


@pytest.mark.parametrize("query", ["status=Lost", "createdFrom=soon", "version=two", "sort=colour", "limit=0"])
def test_a_filter_that_cannot_be_read_is_refused(site: Site, query: str) -> None:
    page = visit(site, "operator").get(f"/monitor?{query}")
    assert page.status == 400
    assert "Request " in page.text


def test_who_may_not_read_instances_sees_only_those_of_ones_own(site: Site) -> None:
    start_leave(site, title="Emma's")
    assert "Emma's" in visit(site, "employee").get("/monitor").text
    assert "Emma's" not in visit(site, "designer").get("/monitor").text


def test_an_instance_shows_waits_variables_and_timeline(site: Site) -> None:
    instance = start_leave(site, 3, title="Three days")
    site.clock.advance(3 * 3_600)
    page = visit(site, "operator").get(f"/monitor/{instance}")
    assert "Marta Ruiz has to decide on Manager decides." in page.text
    assert "Waiting for 3 hours" in page.text
    assert "days 3" in page.text and 'reason "Rest"' in page.text
    assert "Emma Novak started the request" in page.text
    assert '"decide":{"state":"waiting"' in page.html.replace("&#34;", '"')
    steps = visit(site, "operator").get(f"/monitor/{instance}?view=steps").text
    assert "Manager decides User task" in steps


def test_the_steps_have_pages_and_the_view_outlives_a_live_update(site: Site) -> None:
    instance = start_leave(site)
    visitor = visit(site, "operator")
    first = visitor.get(f"/monitor/{instance}?view=steps&limit=1")
    assert "1 to 1 of 2" in first.text
    assert "Manager decides User task" not in first.text
    second = f"/monitor/{instance}?view=steps&limit=1&offset=1"
    assert f'href="{second}"'.replace("&", "&amp;") in first.html
    page = visitor.get(second)
    assert "Manager decides User task" in page.text
    assert f'hx-get="{second}"'.replace("&", "&amp;") in page.html
    assert visitor.get(f"/monitor/{instance}?view=steps&offset=-1").status == 400


def test_a_fault_is_told_with_its_cause_and_can_be_retried(site: Site) -> None:
    instance = start_failing(site)
    visitor = visit(site, "operator")
    page = visitor.get(f"/monitor/{instance}")
    assert "What failed" in page.text and "Check budget failed." in page.text
    assert "No <b>answer</b>" in page.text and "<b>answer</b>" not in page.html
    retried = visitor.post(f"/monitor/{instance}/retry", reason="Once more", follow=True)
    assert "The retry failed again" in retried.text
    assert "Oskar Lehmann asked for another try" in visit(site, "employee").get(f"/requests/{instance}").text


def test_cancelling_keeps_the_reason(site: Site) -> None:
    instance = start_leave(site)
    page = visit(site, "operator").post(f"/monitor/{instance}/cancel", reason="Asked twice", follow=True)
    assert "Canceled" in page.text and "Asked twice" in page.text
    assert "You cancelled the request" in page.text
    assert 'data-dialog="cancel"' not in page.html


def test_only_operators_and_owners_get_the_actions(site: Site) -> None:
    instance = start_leave(site)
    assert 'data-dialog="cancel"' in visit(site, "operator").get(f"/monitor/{instance}").html
    assert 'data-dialog="cancel"' not in visit(site, "employee").get(f"/monitor/{instance}").html
    assert visit(site, "employee").post(f"/monitor/{instance}/cancel").status == 403


def test_a_retry_of_what_does_not_stand_still_is_refused_in_the_page(site: Site) -> None:
    instance = start_leave(site)
    refused = visit(site, "operator").post(f"/monitor/{instance}/retry")
    assert refused.status == 422
    assert 'role="alert"' in refused.html and "Nothing changed." in refused.text
