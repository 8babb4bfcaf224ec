"""My requests: the state in words."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import actor_of, first_task, make_office, start_leave, visit
from tests.support.web import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def test_an_open_request_says_for_whom_it_waits_and_since_when(site: Site) -> None:
    instance = start_leave(site)
    site.clock.advance(2 * 86_400 + 60)
    page = visit(site, "employee").get(f"/requests/{instance}")
    assert "Waiting 2 days for Marta Ruiz" in page.text
    assert "Step: Manager decides" in page.text
    assert "How many days 3" in page.text and "You started the request" in page.text


def test_an_ended_request_says_how(site: Site) -> None:
    instance = start_leave(site)
    site.services.inbox.complete(actor_of(site, "manager"), first_task(site), "approved", "Enjoy it")
    page = visit(site, "employee").get(f"/requests/{instance}")
    assert "Completed: granted" in page.text
    assert "Marta Ruiz decided Manager decides: Approved" in page.text and "Enjoy it" in page.text


def test_a_cancelled_request_says_why(site: Site) -> None:
    instance = start_leave(site)
    site.services.instances.cancel(actor_of(site, "operator"), instance, "Asked for twice")
    page = visit(site, "employee").get(f"/requests/{instance}")
    assert "Canceled" in page.text and "Asked for twice" in page.text


def test_the_list_has_ones_own_requests_only(site: Site) -> None:
    start_leave(site, title="Mine")
    assert "Mine" in visit(site, "employee").get("/requests").text
    assert "Mine" not in visit(site, "designer").get("/requests").text


def test_open_and_done_are_views_with_counts(site: Site) -> None:
    start_leave(site, title="First")
    start_leave(site, title="Second")
    site.services.inbox.complete(actor_of(site, "manager"), first_task(site), "approved")
    visitor = visit(site, "employee")
    assert "Open 1 Done 1" in visitor.get("/requests").text
    done = visitor.get("/requests?tab=done", target="list").text
    assert "First" in done and "Second" not in done
    assert visitor.get("/requests?tab=lost").status == 400


def test_the_list_says_whom_each_waits_for(site: Site) -> None:
    start_leave(site, title="Mine")
    page = visit(site, "employee").get("/requests")
    assert "Mine just now Waiting for Marta Ruiz Leave request" in page.text


def test_somebody_elses_request_is_refused(site: Site) -> None:
    instance = start_leave(site)
    assert visit(site, "designer").get(f"/requests/{instance}").status == 403
    assert visit(site, "manager").get(f"/requests/{instance}").status == 200, "who decides may read it"


def test_a_hostile_title_is_text_everywhere(site: Site) -> None:
    instance = start_leave(site, title="<img src=x onerror=alert(1)>")
    page = visit(site, "employee").get(f"/requests/{instance}")
    assert "<img src=x" not in page.html and "<img src=x onerror=alert(1)>" in page.text


def test_a_starter_withdraws_while_nobody_has_approved(site: Site) -> None:
    instance = start_leave(site)
    employee = visit(site, "employee")
    page = employee.get(f"/requests/{instance}")
    assert 'id="withdraw"' in page.html and 'id="urge"' in page.html
    assert 'id="withdraw"' not in visit(site, "manager").get(f"/requests/{instance}").html
    assert visit(site, "manager").post(f"/requests/{instance}/withdraw").status == 403
    gone = employee.post(f"/requests/{instance}/withdraw", reason="Plans changed", follow=True)
    assert "Withdrawn" in gone.text and "Plans changed" in gone.text and 'id="withdraw"' not in gone.html
    late = employee.post(f"/requests/{instance}/withdraw", reason="Once more")
    assert late.status == 422 and 'role="alert"' in late.html


def test_a_reminder_goes_to_each_step_that_waits(site: Site) -> None:
    instance = start_leave(site)
    told = visit(site, "employee").post(f"/requests/{instance}/urge", comment="Tickets sell out", follow=True)
    assert "A reminder was sent" in told.text and "Tickets sell out" in told.text
    task = site.services.inbox.query(actor_of(site, "manager")).items[0]
    assert site.services.inbox.get(actor_of(site, "manager"), task.id).urge_count == 1


def test_a_refused_reminder_keeps_its_words(site: Site) -> None:
    instance = start_leave(site)
    refused = visit(site, "employee").post(f"/requests/{instance}/urge", comment="x" * 10_001)
    assert refused.status == 422 and refused.html.count("data-open") == 1 and "x" * 100 in refused.html


def test_a_suspended_request_says_by_whom(site: Site) -> None:
    instance = start_leave(site)
    site.services.operations.suspend(actor_of(site, "operator"), instance, "Audit")
    page = visit(site, "employee").get(f"/requests/{instance}")
    assert "Suspended by Oskar Lehmann. It goes on when it is resumed." in page.text
    assert 'id="urge"' not in page.html


def _flow(site: Site, name: str, start: dict[str, Any], *nodes: dict[str, Any]) -> None:
    designer = actor_of(site, "designer")
    steps = [
        {"id": "start", "activityType": "Start", "properties": start},
        *nodes,
        {"id": "end", "activityType": "End"},
    ]
    edges = [
        {"id": f"t{at}", "sourceNodeId": before["id"], "targetNodeId": after["id"]}
        for at, (before, after) in enumerate(pairwise(steps))
    ]
    document = {"name": name, "displayName": name.title(), "nodes": steps, "transitions": edges}
    site.services.catalog.publish(designer, site.services.catalog.create(designer, document).id)


def test_a_put_off_start_says_when_it_begins(site: Site) -> None:
    _flow(site, "later", {"DelaySeconds": 7_200})
    started = site.services.instances.start(actor_of(site, "employee"), name="later").instance.id
    page = visit(site, "employee").get(f"/requests/{started}")
    assert "Begins 16 July 2026, 10:00:00 UTC" in page.text


def test_what_starts_by_itself_is_not_offered(site: Site) -> None:
    _flow(site, "nightly", {"Cron": "0 2 * * *"})
    _flow(site, "called", {"SignalName": "order-paid"})
    _flow(site, "later", {"DelaySeconds": 60})
    page = visit(site, "employee").get("/start")
    assert "/start/later" in page.html and "/start/leave" in page.html
    assert "/start/nightly" not in page.html and "/start/called" not in page.html


def test_parts_of_a_request_are_listed_with_their_state(site: Site) -> None:
    task = {"id": "a", "name": "Check", "activityType": "UserTask", "properties": {"Assignees": ["manager"]}}
    _flow(site, "part", {}, task)
    sub = {"id": "s", "name": "Part", "activityType": "SubWorkflow", "properties": {"DefinitionName": "part"}}
    _flow(site, "whole", {}, sub)
    whole = site.services.instances.start(actor_of(site, "employee"), name="whole").instance.id
    page = visit(site, "employee").get(f"/requests/{whole}")
    assert "Parts of this request" in page.text and "Running" in page.text.split("Parts of this request")[1]
    child = page.html.split('<ul class="results flat">')[1].split('href="/requests/')[1].split('"')[0]
    assert "Part of Whole" in visit(site, "employee").get(f"/requests/{child}").text
