"""The inbox: list, task, decision, and what happens when somebody else was faster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import actor_of, first_task, make_office, start_leave, visit
from tests.support.web import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def test_an_empty_inbox_says_so(site: Site) -> None:
    assert "Nothing waits for you" in visit(site, "manager").get("/inbox").text


def test_the_list_shows_task_workflow_starter_and_age(site: Site) -> None:
    start_leave(site, 3)
    site.clock.advance(7_200)
    page = visit(site, "manager").get("/inbox")
    assert "Leave of 3 days" in page.text
    assert "Leave request · Emma Novak · 2 h ago" in page.text
    assert 'data-live="inbox">1<' in page.html


def test_only_ones_own_tasks_are_listed(site: Site) -> None:
    start_leave(site)
    assert "Leave of" not in visit(site, "employee").get("/inbox").text
    assert visit(site, "employee").get("/inbox?scope=all").status == 403
    assert "Leave of 3 days" in visit(site, "operator").get("/inbox?scope=all").text


def test_a_hostile_title_is_shown_as_text(site: Site) -> None:
    start_leave(site, title="<script>alert(1)</script>")
    task = first_task(site)
    page = visit(site, "manager").get(f"/inbox/{task}")
    assert "<script>alert(1)</script>" not in page.html
    assert "<script>alert(1)</script>" in page.text


def test_a_hostile_value_cannot_leave_the_diagram_or_the_facts(site: Site) -> None:
    start_leave(site, reason="</script><img src=x onerror=alert(1)>")
    page = visit(site, "manager").get(f"/inbox/{first_task(site)}")
    assert "<img src=x" not in page.html
    assert "</script><img src=x onerror=alert(1)>" in page.text


def test_filter_sort_and_page_stay_in_every_link(site: Site) -> None:
    for days in (1, 2, 12):
        start_leave(site, days)
        site.clock.advance(60)
    page = visit(site, "manager").get("/inbox?keyword=Leave+of+1&sort=-createdAt")
    titles = [part.split("<")[0] for part in page.html.split('hx-push-url="true">')[1:] if part.startswith("Leave of")]
    assert titles == ["Leave of 12 days", "Leave of 1 days"]
    assert "?keyword=Leave+of+1&amp;sort=-createdAt" in page.html.split('class="title"')[1]
    assert 'value="Leave of 1"' in page.html


def test_a_filter_that_cannot_be_read_is_refused(site: Site) -> None:
    visitor = visit(site, "manager")
    assert visitor.get("/inbox?due=someday").status == 400
    assert visitor.get("/inbox?sort=colour").status == 400
    assert visitor.get("/inbox?offset=x").status == 400


def test_htmx_gets_one_block(site: Site) -> None:
    start_leave(site)
    visitor = visit(site, "manager")
    task = first_task(site)
    for target, first in (
        ("list", '<section class="list-pane'),
        ("task", '<section class="task-pane'),
        ("inbox", "<div"),
    ):
        part = visitor.get(f"/inbox/{task}", target=target).html.lstrip()
        assert part.startswith(first), target
        assert "<html" not in part
    rows = visitor.get("/inbox?part=rows", target="rows").html
    assert "Leave of 3 days" in rows and "list-pane" not in rows


def test_history_gets_the_whole_page(site: Site) -> None:
    page = visit(site, "manager").get("/inbox", target="list", **{"HX-History-Restore-Request": "true"})
    assert page.html.lstrip().startswith("<!doctype html>")


def test_the_task_shows_values_people_and_the_outcomes(site: Site) -> None:
    start_leave(site, 3, reason="A week in the north")
    page = visit(site, "manager").get(f"/inbox/{first_task(site)}")
    assert "How many days 3" in page.text and "Why A week in the north" in page.text
    assert "Needs your decision" in page.text and "Emma Novak started the request" in page.text
    assert 'value="approved" data-key="a"' in page.html and 'value="rejected" data-key="r"' in page.html
    assert "data-diagram" in page.html and 'class="diagram-definition"' in page.html


def test_looking_at_a_task_marks_it_as_read(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    visitor = visit(site, "manager")
    assert "is-unread" in visitor.get("/inbox?part=rows").html
    visitor.get(f"/inbox/{task}")
    assert "is-unread" not in visitor.get("/inbox?part=rows").html


def test_a_decision_is_carried_out_and_the_next_task_opens(site: Site) -> None:
    instances = [start_leave(site, days) for days in (1, 2)]
    tasks = [row.id for row in site.services.inbox.query(actor_of(site, "manager")).items]
    visitor = visit(site, "manager")
    done = visitor.post(f"/inbox/{tasks[0]}/complete?sort=title", outcome="approved", comment="Fine", next=tasks[1])
    assert done.status == 303
    assert done.location == f"/inbox/{tasks[1]}?sort=title"
    shown = visitor.get(done.location)
    assert "Approved" in shown.text and "Leave of 1 days" in shown.text, "the toast names what was decided"
    instance = site.services.instances.get(actor_of(site, "operator"), instances[0])
    assert instance.status.value == "Completed"


def test_after_a_decision_the_list_stays_on_its_page(site: Site) -> None:
    for days in (1, 2, 3):
        start_leave(site, days)
    tasks = [row.id for row in site.services.inbox.query(actor_of(site, "manager")).items]
    visitor = visit(site, "manager")
    window = "limit=1&offset=1"
    done = visitor.post(f"/inbox/{tasks[1]}/complete?{window}", outcome="approved", next=tasks[2])
    assert done.location == f"/inbox/{tasks[2]}?{window}"
    # Without a next one the page may be gone: the list begins anew.
    done = visitor.post(f"/inbox/{tasks[2]}/complete?{window}", outcome="approved", next="")
    assert done.location == "/inbox?limit=1"


def test_htmx_gets_the_next_task_with_the_toast_beside_it(site: Site) -> None:
    start_leave(site, 1)
    start_leave(site, 2)
    tasks = [row.id for row in site.services.inbox.query(actor_of(site, "manager")).items]
    visitor = visit(site, "manager")
    visitor.post(f"/inbox/{tasks[0]}/complete", outcome="approved", next=tasks[1], target="inbox")
    part = visitor.get(f"/inbox/{tasks[1]}", target="inbox").html
    assert part.lstrip().startswith('<div class="split detail-first" id="inbox">')
    assert '<section id="toasts" hx-swap-oob="beforeend">' in part
    assert 'class="toast completed"' in part


def test_a_refused_command_leaves_the_address_alone(site: Site) -> None:
    start_leave(site)
    refused = visit(site, "manager").post(f"/inbox/{first_task(site)}/complete", outcome="perhaps", target="inbox")
    assert refused.response.headers["HX-Push-Url"] == "false"


def test_after_the_last_task_the_inbox_is_shown(site: Site) -> None:
    start_leave(site)
    done = visit(site, "manager").post(f"/inbox/{first_task(site)}/complete", outcome="approved", next="")
    assert done.location == "/inbox"


def test_after_a_decision_the_focus_goes_to_the_next_title(site: Site) -> None:
    start_leave(site)
    visitor = visit(site, "manager")
    assert "data-focus" in visitor.get(f"/inbox/{first_task(site)}", target="inbox").html
    assert "data-focus" not in visitor.get(f"/inbox/{first_task(site)}", target="task").html


def test_an_outcome_that_is_not_allowed_changes_nothing_and_keeps_the_comment(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    refused = visit(site, "manager").post(f"/inbox/{task}/complete", outcome="perhaps", comment="Not sure")
    assert refused.status == 422
    assert 'role="alert"' in refused.html and "Not sure</textarea>" in refused.html
    assert first_task(site) == task


def test_a_task_that_somebody_else_decided_says_who_when_and_how(site: Site) -> None:
    start_leave(site, 1)
    start_leave(site, 2)
    task = first_task(site)
    visitor = visit(site, "manager")
    site.services.inbox.complete(actor_of(site, "manager"), task, "approved")
    site.clock.advance(120)
    late = visitor.post(f"/inbox/{task}/complete", outcome="rejected", comment="Too long", target="inbox")
    assert late.status == 422
    assert "Decided by you, 2 min ago: Approved." in late.text
    assert "Nothing was sent from you." in late.text
    assert "Too long" in late.text, "what was typed is not lost"
    assert "data-countdown" in late.html and 'name="outcome"' not in late.html


def test_an_ended_task_stays_readable(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    site.services.inbox.complete(actor_of(site, "manager"), task, "approved")
    page = visit(site, "manager").get(f"/inbox/{task}")
    assert page.status == 200
    assert "Decided by you, just now: Approved." in page.text
    assert "data-countdown=" not in page.html


def test_somebody_elses_task_is_refused(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    assert visit(site, "designer").get(f"/inbox/{task}").status == 403
    assert visit(site, "employee").post(f"/inbox/{task}/complete", outcome="approved").status == 403
    assert visit(site, "manager").get("/inbox/no-such-task").status == 404


def test_a_task_can_be_handed_over(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    handed = visit(site, "manager").post(f"/inbox/{task}/transfer", who="designer", comment="Yours", follow=True)
    assert "Handed over to Daniel Okafor" in handed.text
    assert first_task(site, "designer") == task


def test_a_signer_can_be_added(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    added = visit(site, "manager").post(f"/inbox/{task}/add", who="designer", follow=True)
    assert "Daniel Okafor decides as well" in added.text
    assert site.services.inbox.counts(actor_of(site, "designer"))["mine"] == 1
    again = visit(site, "manager").post(f"/inbox/{task}/add", who="designer")
    assert again.status == 422 and 'role="alert"' in again.html


def test_the_buttons_speak_the_readers_language(site: Site) -> None:
    start_leave(site)
    visitor = visit(site, "manager")
    visitor.post("/language", language="zh", next="/inbox")
    page = visitor.get("/inbox")
    assert "同意" in page.text and "等您处理" in page.text
    assert "Approve" not in page.text


def test_an_outcome_that_needs_a_comment_waits_for_it(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    visitor = visit(site, "manager")
    assert "Needed for: Reject" in visitor.get(f"/inbox/{task}").html
    refused = visitor.post(f"/inbox/{task}/complete", outcome="rejected", comment="  ")
    assert refused.status == 422
    assert 'aria-describedby="comment-error comment-mentions" aria-invalid="true" data-focus' in refused.html
    assert "This step needs a comment for “Rejected”" in refused.text
    assert visitor.post(f"/inbox/{task}/complete", outcome="rejected", comment="Too busy").status == 303


def test_a_task_cannot_be_handed_to_who_has_it(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    refused = visit(site, "manager").post(f"/inbox/{task}/transfer", who="manager")
    assert refused.status == 422 and 'role="alert"' in refused.html
    assert visit(site, "employee").post(f"/inbox/{task}/transfer", who="designer").status == 403
    assert visit(site, "employee").post(f"/inbox/{task}/add", who="designer").status == 403


@pytest.mark.parametrize("due", ["late", "today", "week"])
def test_tasks_without_a_due_date_are_never_due(site: Site, due: str) -> None:
    start_leave(site)
    page = visit(site, "manager").get(f"/inbox?due={due}")
    assert page.status == 200 and "Nothing matches" in page.text


def test_priorities_group_the_list(site: Site) -> None:
    start_leave(site)
    assert "Normal priority 1" in visit(site, "manager").get("/inbox?sort=-priority").text
