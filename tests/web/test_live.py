"""What pages ask every few seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import actor_of, first_task, make_office, start_leave, visit
from tests.support.web import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def test_live_numbers_have_an_etag(site: Site) -> None:
    instance, visitor = start_leave(site), visit(site, "manager")
    path = f"/live?task={first_task(site)}&instance={instance}"
    first = visitor.get(path)
    assert first.response.json == {"tasks": 1, "notices": "1", "task": "open", "instance": "1"}
    again = visitor.get(path, **{"If-None-Match": first.response.headers["ETag"]})
    assert again.status == 304
    site.services.inbox.complete(actor_of(site, "manager"), first_task(site), "approved")
    now = visitor.get(path, **{"If-None-Match": first.response.headers["ETag"]})
    assert now.status == 200 and now.response.json["task"] == "ended" and now.response.json["tasks"] == 0
    assert visit(site).get("/live").status == 401


def test_a_task_that_was_handed_over_is_over_for_who_had_it(site: Site) -> None:
    start_leave(site)
    task, visitor = first_task(site), visit(site, "designer")
    site.services.inbox.transfer(actor_of(site, "manager"), task, "designer")
    assert visitor.get(f"/live?task={task}").response.json["task"] == "open"
    site.services.inbox.transfer(actor_of(site, "designer"), task, "operator")
    assert visit(site, "employee").get("/live?task=never-was").response.json["task"] == "ended"


def test_what_may_not_be_read_has_no_state(site: Site) -> None:
    instance = start_leave(site)
    assert visit(site, "designer").get(f"/live?instance={instance}").response.json["instance"] == ""
    assert visit(site, "employee").get("/live").response.json == {
        "tasks": 0,
        "notices": "0",
        "task": "",
        "instance": "",
    }


def test_what_a_page_asks_by_itself_leaves_the_session_alone(site: Site) -> None:
    visitor = visit(site, "manager")
    assert "Set-Cookie" in visitor.get("/inbox").response.headers
    assert "Set-Cookie" not in visitor.get("/live").response.headers
    assert "Set-Cookie" not in visit(site).get("/live").response.headers
