"""Links out of messages: to the task after sign-in, once, and only for whom they were sent to (spec 10)."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.pages import actor_of, first_task, make_office, start_leave, visit
from tests.support.told import tell
from tests.support.web import Site

DAY = 86_400


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path, WAYPOST_BASE_URL="https://flow.example.test")


def link(site: Site, recipient: str = "manager") -> str:
    """Return the path of a link to the oldest task."""
    instance = start_leave(site)
    notice = tell(site, recipient, "Decide", instance_id=instance, task_id=first_task(site))
    url = site.services.decision_links.url(notice)
    assert url is not None
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc) == ("https", "flow.example.test")
    return parts.path


def test_it_asks_for_the_sign_in_and_opens_the_task(site: Site) -> None:
    path = link(site)
    asked = visit(site).get(path)
    assert (asked.status, asked.location) == (303, f"/sign-in?next={path}")
    visitor = visit(site)
    came = visitor.post("/sign-in", name="manager", password="manager!", next=path)
    assert came.location == path
    assert visitor.get(path).location == f"/inbox/{first_task(site)}"


def test_it_works_once(site: Site) -> None:
    path, visitor = link(site), visit(site, "manager")
    assert visitor.get(path).status == 303
    again = visitor.get(path)
    assert again.status == 409 and "This link does not open" in again.text
    assert f'href="/inbox/{first_task(site)}"' in again.html and "Sign in with another account" not in again.text


def test_it_runs_out(site: Site) -> None:
    path, visitor = link(site), visit(site, "manager")
    site.clock.advance(8 * DAY)
    visitor = visit(site, "manager")
    late = visitor.get(path)
    assert late.status == 409 and "This link does not open" in late.text
    assert f'href="/inbox/{first_task(site)}"' in late.html


def test_another_account_is_told_and_may_change(site: Site) -> None:
    path, visitor = link(site), visit(site, "designer")
    foreign = visitor.get(path)
    assert foreign.status == 403 and "Sign in with another account" in foreign.text
    assert first_task(site) not in foreign.html
    out = visitor.post("/sign-out", next=path)
    assert out.location == f"/sign-in?next={path}"
    assert visit(site, "manager").get(path).location == f"/inbox/{first_task(site)}"


def test_a_task_that_is_over_says_so(site: Site) -> None:
    path, task = link(site), first_task(site)
    site.services.inbox.complete(actor_of(site, "manager"), task, "approved")
    over = visit(site, "manager").get(path)
    assert over.status == 409 and f'href="/inbox/{task}"' in over.html


@pytest.mark.parametrize("token", ["nonsense", "a.b.c", "x" * 3000])
def test_what_is_no_link_says_so(site: Site, token: str) -> None:
    page = visit(site, "manager").get(f"/d/{token}")
    assert page.status == 404 and "This link does not open" in page.text


def test_a_changed_link_is_none(site: Site) -> None:
    path = link(site)
    head, _, tail = path.rpartition(".")
    assert visit(site, "manager").get(f"{head}.{tail[::-1]}").status == 404


def test_the_sign_out_leads_nowhere_else(site: Site) -> None:
    assert visit(site, "designer").post("/sign-out", next="//evil.example").location == "/sign-in?next=/inbox"


def test_it_is_told_in_chinese(site: Site) -> None:
    visitor = visit(site, "manager")
    visitor.post("/language", language="zh", next="/inbox")
    assert "无法打开此链接" in visitor.get("/d/nonsense").text
