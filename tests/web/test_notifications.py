"""The bell and the list of notices: whose they are, in which groups, what marking them does (spec 10, 12)."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.pages import actor_of, first_task, make_office, start_leave, visit
from tests.support.told import tell
from tests.support.web import Site
from webapp.engine.notifications.model import EventType, NoticeType


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def bell(html: str) -> str:
    """Return the name of the bell, which says its count."""
    found = re.search(r'<a class="icon-btn bell"[^>]*aria-label="([^"]*)"', html)
    assert found is not None
    return found.group(1)


def test_the_bell_counts_what_its_owner_has_not_read(site: Site) -> None:
    tell(site, "designer", "One")
    tell(site, "designer", "Two")
    tell(site, "operator", "Not theirs")
    assert bell(visit(site, "designer").get("/inbox").html) == "Notifications, unread: 2"
    assert bell(visit(site, "employee").get("/inbox").html) == "Notifications"
    answer = visit(site, "designer").get("/live")
    assert answer.response.json["notices"] == "2"


def test_the_bell_stops_counting_at_99(site: Site) -> None:
    for number in range(100):
        tell(site, "designer", f"Notice {number}")
    page = visit(site, "designer").get("/inbox")
    assert bell(page.html) == "Notifications, unread: 99+"
    assert visit(site, "designer").get("/live").response.json["notices"] == "99+"


def test_the_bell_opens_the_latest_by_request_and_every_page_can(site: Site) -> None:
    for number in range(10):
        at = site.clock.now() - timedelta(minutes=number)
        title = f"Trip {number % 2}"
        tell(site, "designer", f"Notice {number}", created_at=at, instance_id=title, instance_title=title)
    tell(site, "designer", "Known", read_at=site.clock.now())
    tell(site, "operator", "Not theirs")
    visitor = visit(site, "designer")
    page = visitor.get("/account")
    assert re.search(r'<section[^>]*id="bell-panel"[^>]* hidden[^>]*hx-get="/notifications/latest"', page.html)
    assert "Notice 0" not in page.text
    panel = visitor.get("/notifications/latest", target="bell-panel")
    order = ["8 unread shown", "Unread 10", "Trip 0", *(f"Notice {n}" for n in (0, 2, 4, 6)), "Trip 1", "Notice 7"]
    places = [panel.text.index(word) for word in order]
    assert places == sorted(places)
    for word in ("Notice 8", "Notice 9", "Known", "Not theirs", "Skip to"):
        assert word not in panel.text
    assert panel.html.count('name="csrf_token"') == 9


def test_the_panel_goes_on_to_the_next_and_says_when_there_is_none(site: Site) -> None:
    first, second = tell(site, "designer", "First"), tell(site, "designer", "Second", instance_id="other")
    visitor = visit(site, "designer")
    left = visitor.post("/notifications/read", target="bell-panel", id=first.id, place="0")
    assert re.search(rf'id="bell-open-{second.id}"[^>]* data-focus>Second', left.html) and "First" not in left.text
    until = re.search(r'name="until" value="([^"]+)"', left.html)
    assert until is not None
    none = visitor.post("/notifications/read-all", target="bell-panel", until=until.group(1))
    assert "Nothing unread" in none.text and re.search(r'id="bell-title"[^>]* data-focus', none.html)
    assert 'href="/notifications?show=all"' in none.html


def test_without_the_script_the_bell_is_a_link_to_the_list(site: Site) -> None:
    visitor = visit(site, "designer")
    assert visitor.get("/notifications/latest").location == "/notifications"
    assert 'id="bell-panel"' not in visitor.get("/notifications").html
    assert visit(site).get("/notifications/latest").location.startswith("/sign-in")


def test_notices_stand_by_request_the_newest_first(site: Site) -> None:
    common = {"instance_id": "trip", "instance_title": "Trip to Oslo"}
    tell(site, "designer", "Older", **common)
    site.clock.advance(60)
    tell(site, "designer", "Between", instance_id="desk", instance_title="A desk")
    site.clock.advance(60)
    tell(site, "designer", "Newer", **common)
    text = visit(site, "designer").get("/notifications").text
    places = [text.index(word) for word in ("Trip to Oslo", "Newer", "Older", "A desk", "Between")]
    assert places == sorted(places)
    assert text.count("Trip to Oslo") == 2


def test_read_ones_are_kept_apart(site: Site) -> None:
    tell(site, "designer", "Fresh")
    tell(site, "designer", "Known", read_at=site.clock.now())
    visitor = visit(site, "designer")
    unread, everything = visitor.get("/notifications").text, visitor.get("/notifications?show=all").text
    assert "Fresh" in unread and "Known" not in unread
    assert "Fresh (unread)" in everything and "Known" in everything and "Known (unread)" not in everything


def test_kinds_can_be_chosen(site: Site) -> None:
    tell(site, "designer", "Decide this")
    tell(site, "designer", "You were named", event_type=EventType.MENTION, type=NoticeType.TODO)
    visitor = visit(site, "designer")
    assert "Decide this" not in visitor.get("/notifications?type=Todo").text
    nothing = visitor.get("/notifications?type=Business")
    assert "Nothing matches" in nothing.text and "Clear filters" in nothing.text
    assert visitor.get("/notifications?type=Gossip").status == 400


def test_one_is_marked_and_nobody_elses(site: Site) -> None:
    mine, other = tell(site, "designer", "Mine"), tell(site, "operator", "Another's")
    visitor = visit(site, "designer")
    answer = visitor.post("/notifications/read", id=[mine.id, other.id], follow=True)
    assert "1 notification marked as read" in answer.text and "Nothing unread" in answer.text
    assert "Another's" in visit(site, "operator").get("/notifications").text


def test_a_request_is_marked_as_a_whole(site: Site) -> None:
    common = {"instance_id": "trip", "instance_title": "Trip to Oslo"}
    first, second = tell(site, "designer", "First", **common), tell(site, "designer", "Second", **common)
    tell(site, "designer", "Other")
    visitor = visit(site, "designer")
    page = visitor.get("/notifications")
    assert "Mark 2 as read : Trip to Oslo" in page.text
    left = visitor.post("/notifications/read", id=[first.id, second.id], follow=True).text
    assert "Other" in left and "Trip to Oslo" not in left


def test_marking_all_leaves_what_came_after_the_page(site: Site) -> None:
    tell(site, "designer", "Seen")
    visitor = visit(site, "designer")
    until = re.search(r'name="until" value="([^"]+)"', visitor.get("/notifications").html)
    assert until is not None
    site.clock.advance(1)
    tell(site, "designer", "Just came")
    left = visitor.post("/notifications/read-all", until=until.group(1), follow=True).text
    assert "Just came" in left and "Seen" not in left


@pytest.mark.parametrize("until", ["yesterday", "2026-01-01T00:00:00"])
def test_an_unreadable_time_marks_nothing(site: Site, until: str) -> None:
    tell(site, "designer", "Still here")
    visitor = visit(site, "designer")
    assert visitor.post("/notifications/read-all", until=until).status == 400
    assert "Still here" in visitor.get("/notifications").text


def test_the_focus_goes_on_to_what_takes_the_place(site: Site) -> None:
    first = tell(site, "designer", "First")
    site.clock.advance(60)
    tell(site, "designer", "Second")
    visitor = visit(site, "designer")
    # The older one stands second; when it is gone, the last one there takes the focus.
    part = visitor.post("/notifications/read", target="list", id=first.id, place="1")
    assert re.search(r"data-focus[^>]*>Second", part.html)
    assert '<nav class="nav"' not in part.html
    rest = visitor.get("/notifications")
    last = re.search(r'name="id" value="([^"]+)"', rest.html)
    assert last is not None
    empty = visitor.post("/notifications/read", target="list", id=last.group(1), place="0")
    assert re.search(r'<h2 id="list-title" tabindex="-1" data-focus>', empty.html)


def test_a_notice_of_a_task_leads_to_it_and_is_read(site: Site) -> None:
    instance = start_leave(site)
    task = first_task(site)
    notice = tell(site, "manager", "Decide", instance_id=instance, task_id=task)
    visitor = visit(site, "manager")
    opened = visitor.get(f"/notifications/{notice.id}/open")
    assert (opened.status, opened.location) == (303, f"/inbox/{task}")
    assert notice.title not in visitor.get("/notifications").text


@pytest.mark.parametrize(("name", "home"), [("employee", "/requests/"), ("operator", "/monitor/")])
def test_without_a_task_it_leads_where_its_reader_looks_at_requests(site: Site, name: str, home: str) -> None:
    instance = start_leave(site)
    notice = tell(site, name, "It ended", instance_id=instance, task_id="gone-long-ago")
    visitor = visit(site, name)
    assert f'href="{home}{instance}"' in visitor.get("/notifications").html
    assert visitor.get(f"/notifications/{notice.id}/open").location == home + instance


def test_a_mention_leads_to_the_request(site: Site) -> None:
    instance = start_leave(site)
    visitor = visit(site, "designer")
    assert visitor.get(f"/requests/{instance}").status in (403, 404)
    page = visit(site, "manager").get(f"/inbox/{first_task(site)}")
    assert "Whoever you mention with @" in page.text
    visit(site, "manager").post(f"/inbox/{first_task(site)}/urge", comment="@designer, what do you think?")
    visitor.get("/notifications")
    (notice,) = site.services.notices.list(actor_of(site, "designer")).items
    opened = visitor.get(f"/notifications/{notice.id}/open")
    assert opened.location.endswith(f"/{instance}") and visitor.get(opened.location).status == 200


def test_what_cannot_be_opened_any_more_says_so(site: Site) -> None:
    instance = start_leave(site)
    notice = tell(site, "designer", "Not for you any more", instance_id=instance, instance_title="Closed door")
    visitor = visit(site, "designer")
    page = visitor.get("/notifications")
    assert "Closed door" in page.text and f'/{instance}"' not in page.html
    answer = visitor.get(f"/notifications/{notice.id}/open")
    assert answer.location == "/notifications"
    assert "This can no longer be opened" in visitor.get(answer.location).text


def test_another_ones_notice_is_not_there(site: Site) -> None:
    notice = tell(site, "designer", "Private")
    assert visit(site, "operator").get(f"/notifications/{notice.id}/open").status == 404
    assert "Private" in visit(site, "designer").get("/notifications").text


def test_pages_of_many(site: Site) -> None:
    for number in range(60):
        tell(site, "designer", f"Notice {number:02}", created_at=site.clock.now() - timedelta(minutes=number))
    visitor = visit(site, "designer")
    first = visitor.get("/notifications")
    assert "1 to 50 of 60" in first.text and "Notice 49" in first.text and "Notice 50" not in first.text
    second = visitor.get("/notifications?offset=50")
    assert "51 to 60 of 60" in second.text and "Notice 50" in second.text
    ids = re.findall(r'name="id" value="([^"]+)"', second.html)
    answer = visitor.post("/notifications/read?offset=50", target="list", id=ids, place="0")
    assert "1 to 50 of 50" in answer.text


def test_what_people_wrote_is_text(site: Site) -> None:
    tell(site, "designer", "<script>alert(1)</script>", body="<img src=x>", instance_title="<b>bold</b>")
    html = visit(site, "designer").get("/notifications").html
    assert "<script>alert" not in html and "<img src=x>" not in html and "<b>bold" not in html


def test_it_is_told_in_chinese(site: Site) -> None:
    tell(site, "designer", "新任务")
    visitor = visit(site, "designer")
    visitor.post("/language", language="zh", next="/notifications")
    page = visitor.get("/notifications")
    assert bell(page.html) == "通知，未读 1 条"
    assert "新任务 （未读）" in page.text and "全部标为已读" in page.text


def test_nobody_reads_without_signing_in(site: Site) -> None:
    assert visit(site).get("/notifications").location == "/sign-in?next=/notifications"
