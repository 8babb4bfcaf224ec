"""My requests: the state in words."""

from __future__ import annotations

from pathlib import Path

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
