"""What people do with a task beside deciding it: offered by rights, refused without loss, told in words."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import Visitor, actor_of, first_task, make_office, start_leave, visit
from tests.support.web import Site
from webapp.engine.instances.model import InstanceStatus


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def task_node(node_id: str, name: str, **properties: Any) -> dict[str, Any]:
    return {"id": node_id, "name": name, "activityType": "UserTask", "properties": {"Title": name, **properties}}


def publish(site: Site, name: str, *tasks: dict[str, Any], variables: list[dict[str, Any]] | None = None) -> None:
    """Publish a flow in which the tasks follow one another."""
    designer = actor_of(site, "designer")
    nodes = [{"id": "start", "activityType": "Start"}, *tasks, {"id": "end", "activityType": "End"}]
    edges = [
        {"id": f"t{at}", "sourceNodeId": before["id"], "targetNodeId": after["id"]}
        for at, (before, after) in enumerate(pairwise(nodes))
    ]
    document = {"name": name, "displayName": name, "nodes": nodes, "transitions": edges, "variables": variables or []}
    site.services.catalog.publish(designer, site.services.catalog.create(designer, document).id)


def two_steps(site: Site) -> None:
    """Publish a flow in which the designer checks what the manager has written."""
    written = task_node("draft", "Write it", Assignees=["manager"])
    publish(site, "two", written, task_node("check", "Check it", Assignees=["designer"]))


def begin(site: Site, name: str, **variables: Any) -> str:
    return site.services.instances.start(actor_of(site, "employee"), name=name, variables=variables).instance.id


def dialogs(visitor: Visitor, path: str) -> set[str]:
    """Return the actions that a page offers."""
    html = visitor.get(path).html
    names = ("claim", "release", "transfer", "delegate", "add", "remove", "return", "urge", "recall")
    return {name for name in names if f'id="{name}"' in html}


def test_the_actions_follow_the_rights(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    assert dialogs(visit(site, "manager"), f"/inbox/{task}") == {"transfer", "delegate", "add", "urge"}
    assert dialogs(visit(site, "operator"), f"/inbox/{task}") == {"transfer", "add", "urge"}
    assert dialogs(visit(site, "employee"), f"/inbox/{task}") == {"urge"}
    closed = {"AllowTransfer": False, "AllowDelegate": False, "AllowAddSigners": False}
    publish(site, "closed", task_node("a", "Closed", Assignees=["designer"], **closed))
    begin(site, "closed")
    assert dialogs(visit(site, "designer"), f"/inbox/{first_task(site, 'designer')}") == {"urge"}


def test_a_group_task_is_claimed_and_given_back(site: Site) -> None:
    rules = [{"type": "User", "values": ["role:user"], "claimable": True}]
    publish(site, "group", task_node("a", "Sort the mail", AssigneeRules=rules))
    begin(site, "group")
    manager, employee = visit(site, "manager"), visit(site, "employee")
    page = manager.get("/inbox?scope=claimable")
    assert "To claim 1" in page.text and "Mine 0" in page.text and "Sort the mail" in page.text
    assert "role user" in page.text and "This task waits for a group." in page.text
    assert 'name="outcome"' not in page.html
    task = page.html.split('data-task="')[1].split('"')[0]
    claimed = manager.post(f"/inbox/{task}/claim?scope=claimable", follow=True)
    assert "The task is yours" in claimed.text and 'name="outcome"' in claimed.html
    assert "Sort the mail" not in employee.get("/inbox?scope=claimable").text
    late = employee.post(f"/inbox/{task}/claim")
    assert late.status == 422 and 'role="alert"' in late.html
    assert manager.post(f"/inbox/{task}/release").status == 303
    assert "Sort the mail" in employee.get("/inbox?scope=claimable").text


def test_a_task_is_delegated_and_comes_back(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    manager, designer = visit(site, "manager"), visit(site, "designer")
    lent = manager.post(f"/inbox/{task}/delegate", who="designer", comment="Please check", follow=True)
    assert "Daniel Okafor handles it; then it comes back to you" in lent.text
    page = designer.get(f"/inbox/{task}")
    assert "Lent by Marta Ruiz" in page.text and "at present with you" in page.text
    assert designer.post(f"/inbox/{task}/complete", outcome="approved", comment="Looks fine").status == 303
    assert first_task(site) == task, "the decision is still the manager's"
    assert site.services.inbox.get(actor_of(site, "manager"), task).status == "open"


def test_signers_before_and_after_are_told_and_can_be_removed(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    manager = visit(site, "manager")
    manager.post(f"/inbox/{task}/add", who="designer", position="after")
    page = manager.get(f"/inbox/{task}")
    assert "MR You Waiting" in page.text, "the picture shows the own initials"
    assert "DO Daniel Okafor Comes later signs after you added by you" in page.text
    assert 'value="designer"' in page.html.split('id="remove"')[1].split("</dialog>")[0]
    removed = manager.post(f"/inbox/{task}/remove", who="designer", follow=True)
    assert "Daniel Okafor no longer decides" in removed.text
    assert 'id="remove"' not in removed.html


def test_a_signer_before_takes_the_place_for_now(site: Site) -> None:
    start_leave(site)
    task, manager = first_task(site), visit(site, "manager")
    asked = manager.post(f"/inbox/{task}/add", who="designer", position="before", follow=True)
    assert "Daniel Okafor signs first; then the task comes back to you" in asked.text
    assert "It comes back when others only sign first." in manager.get(f"/inbox/{task}").text
    before = first_task(site, "designer")
    assert "signs before Marta Ruiz" in visit(site, "designer").get(f"/inbox/{before}").text
    site.services.inbox.complete(actor_of(site, "designer"), before, "approved")
    assert first_task(site) == task


def test_a_refused_action_opens_its_question_again_with_what_was_typed(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    refused = visit(site, "manager").post(f"/inbox/{task}/transfer", who="nobody-" + "x" * 200, comment="Take it")
    assert refused.status == 422
    assert refused.html.count("data-open") == 1
    asked = refused.html.split('id="transfer"')[1].split("</dialog>")[0]
    assert 'role="alert"' in asked and "Take it</textarea>" in asked


def test_a_task_is_returned_to_an_offered_step_with_a_comment(site: Site) -> None:
    two_steps(site)
    begin(site, "two")
    site.services.inbox.complete(actor_of(site, "manager"), first_task(site), "approved")
    task, designer = first_task(site, "designer"), visit(site, "designer")
    page = designer.get(f"/inbox/{task}")
    assert '<option value="draft" selected>Write it</option>' in page.html
    refused = designer.post(f"/inbox/{task}/return", to="draft", resubmit="direct", comment=" ")
    assert refused.status == 422
    asked = refused.html.split('id="return"')[1].split("</dialog>")[0]
    assert 'role="alert"' in asked and '<option value="direct" selected>' in asked
    assert designer.post(f"/inbox/{task}/return", to="draft", resubmit="direct", comment="No sum").status == 303
    site.services.inbox.complete(actor_of(site, "manager"), first_task(site), "approved")
    back = first_task(site, "designer")
    assert back != task and "No sum" in designer.get(f"/inbox/{back}").text


def test_nothing_is_returned_from_the_first_task(site: Site) -> None:
    start_leave(site)
    assert 'id="return"' not in visit(site, "manager").get(f"/inbox/{first_task(site)}").html


def test_an_own_decision_is_taken_back_until_somebody_acts(site: Site) -> None:
    two_steps(site)
    begin(site, "two")
    task, manager = first_task(site), visit(site, "manager")
    manager.post(f"/inbox/{task}/complete", outcome="approved")
    assert "Done by me 1" in manager.get("/inbox?scope=done").text
    assert 'id="recall"' in manager.get(f"/inbox/{task}?scope=done").html
    assert 'id="recall"' not in visit(site, "operator").get(f"/inbox/{task}").html
    assert "Taken back." in manager.post(f"/inbox/{task}/recall?scope=done", follow=True).text
    assert first_task(site) == task and not site.services.inbox.query(actor_of(site, "designer")).items
    manager.post(f"/inbox/{task}/complete", outcome="approved")
    site.services.inbox.complete(actor_of(site, "designer"), first_task(site, "designer"), "approved")
    assert 'id="recall"' not in manager.get(f"/inbox/{task}?scope=done").html
    assert manager.post(f"/inbox/{task}/recall").status == 422


def test_a_reminder_is_counted(site: Site) -> None:
    start_leave(site)
    task = first_task(site)
    told = visit(site, "employee").post(f"/inbox/{task}/urge", comment="Tickets sell out", follow=True)
    assert "A reminder was sent" in told.text and "Reminders sent 1" in told.text and "Tickets sell out" in told.text


def test_a_substitute_decides_in_the_name_of_the_absent(site: Site) -> None:
    start_leave(site)
    now = site.clock.now()
    site.services.substitutions.create(
        actor_of(site, "manager"), substitute="designer", starts_at=now, ends_at=now + timedelta(days=2)
    )
    task, designer = first_task(site), visit(site, "designer")
    page = designer.get("/inbox")
    assert "for Marta Ruiz" in page.text and "You decide for Marta Ruiz" in page.text
    assert designer.post(f"/inbox/{task}/complete", outcome="approved").status == 303
    shown = designer.get(f"/inbox/{task}?scope=done")
    assert "Decided by you for Marta Ruiz" in shown.text
    assert "You decided Manager decides: Approved for Marta Ruiz" in shown.text


def test_a_decision_can_be_undone_for_a_moment(tmp_path: Path) -> None:
    site = make_office(tmp_path, WAYPOST_UNDO_SECONDS="6")
    instance = start_leave(site)
    task, manager = first_task(site), visit(site, "manager")
    manager.post(f"/inbox/{task}/complete", outcome="approved", comment="Fine")
    assert f'formaction="/inbox/{task}/undo"' in manager.get("/inbox").html
    shown = visit(site, "employee").get(f"/inbox/{task}")
    assert "Decided by Marta Ruiz: Approved. It can be undone until 08:00:06." in shown.text
    assert f'action="/inbox/{task}/undo"' not in shown.html
    assert f'action="/inbox/{task}/undo"' in manager.get(f"/inbox/{task}").html
    assert "The task waits for you again" in manager.post(f"/inbox/{task}/undo", follow=True).text
    assert first_task(site) == task
    manager.post(f"/inbox/{task}/complete", outcome="approved")
    site.clock.advance(7)
    late = manager.post(f"/inbox/{task}/undo")
    assert late.status == 422 and "Decided by you" in late.text
    assert site.services.instances.get(actor_of(site, "operator"), instance).status is InstanceStatus.COMPLETED


def test_several_tasks_are_decided_alike_with_a_line_each(site: Site) -> None:
    for days in (1, 2, 3):
        start_leave(site, days)
    rows = site.services.inbox.query(actor_of(site, "manager")).items
    site.services.inbox.complete(actor_of(site, "manager"), rows[2].id, "approved")
    manager = visit(site, "manager")
    titles = {f"title__{rows[2].id}": "Leave of 3 days"}
    page = manager.post("/inbox/decide", ids=[row.id for row in rows], decision="approved", **titles)
    lines = [part.split("</li>")[0] for part in page.html.split('<ul class="results">')[1].split("<li")[1:]]
    assert [("circle-check" in line, "Leave of" in line) for line in lines] == [
        (True, True),
        (True, True),
        (False, True),
    ]
    assert "What was refused is still selected." in page.text
    assert not site.services.inbox.query(actor_of(site, "manager")).items


def test_a_bulk_refusal_keeps_selection_and_comment(site: Site) -> None:
    start_leave(site)
    task, manager = first_task(site), visit(site, "manager")
    refused = manager.post("/inbox/decide", ids=[task], decision="rejected", comment="")
    assert "circle-alert" in refused.html and "checked>" in refused.html
    nothing = manager.post("/inbox/decide", decision="approved", comment="All fine")
    assert nothing.status == 422 and "All fine</textarea>" in nothing.html
    assert first_task(site) == task


FORM = {
    "type": "object",
    "required": ["amount", "kind"],
    "properties": {
        "amount": {"type": "number", "title": "Amount", "minimum": 1, "description": "In euros"},
        "kind": {"type": "string", "title": "Kind", "enum": ["Travel", "Meals"]},
        "day": {"type": "string", "format": "date", "title": "Day"},
        "urgent": {"type": "boolean", "title": "Urgent"},
        "note": {"type": "string", "title": "Note", "readOnly": True},
    },
}


def test_a_form_is_drawn_checked_and_written(site: Site) -> None:
    publish(site, "form", task_node("a", "Fill in", Assignees=["manager"], Form=FORM, ShowVariables=["note"]))
    instance = begin(site, "form", note="From the boss", amount=5)
    task, manager = first_task(site), visit(site, "manager")
    page = manager.get(f"/inbox/{task}")
    assert 'name="v.amount" type="text" value="5" required' in page.html and "In euros" in page.text
    assert '<select class="select" id="f-v-kind" name="v.kind" required form="decide">' in page.html
    assert 'type="date"' in page.html and 'role="switch"' in page.html
    assert 'name="v.note"' not in page.html and "From the boss" in page.text
    wrong = {"v__amount": "0.5", "v__kind": '"Travel"', "v__day": "2026-12-24", "v__urgent": "true"}
    refused = manager.post(f"/inbox/{task}/complete", outcome="approved", comment="Mine", **wrong)
    assert refused.status == 422 and "Amount is too small; the least is 1." in refused.text
    assert 'value="0.5"' in refused.html and 'value="2026-12-24"' in refused.html and "Mine</textarea>" in refused.html
    assert '<option value="&#34;Travel&#34;" selected>' in refused.html
    missing = manager.post(f"/inbox/{task}/complete", outcome="approved", **{**wrong, "v__amount": "", "v__kind": "x"})
    assert "Fill this in" in missing.text and "Choose one of the values" in missing.text
    assert manager.post(f"/inbox/{task}/complete", outcome="approved", **{**wrong, "v__amount": "12.50"}).status == 303
    values = site.services.instances.get(actor_of(site, "operator"), instance).variables
    assert (str(values["amount"]), values["kind"], values["day"], values["urgent"]) == (
        "12.50",
        "Travel",
        "2026-12-24",
        True,
    )


def test_writable_variables_get_plain_fields(site: Site) -> None:
    variables = [{"name": "room", "title": "Room"}, {"name": "other"}]
    publish(
        site,
        "plain",
        task_node("a", "Pick", Assignees=["manager"], WritableVariables=["room", "loose"]),
        variables=variables,
    )
    instance = begin(site, "plain", room="A1")
    task, manager = first_task(site), visit(site, "manager")
    page = manager.get(f"/inbox/{task}")
    assert "A1</textarea>" in page.html and 'name="v.other"' not in page.html
    manager.post(f"/inbox/{task}/complete", outcome="approved", v__room="B2", v__other="not mine")
    values = site.services.instances.get(actor_of(site, "operator"), instance).variables
    assert values["room"] == "B2" and "other" not in values


def test_a_share_of_approvals_is_told(site: Site) -> None:
    people = ["manager", "designer", "employee"]
    publish(site, "vote", task_node("a", "Vote", Assignees=people, CompletionPolicy="Ratio", CompletionThreshold=0.6))
    begin(site, "vote")
    site.services.inbox.complete(actor_of(site, "manager"), first_task(site), "approved")
    page = visit(site, "designer").get("/inbox")
    assert "1 of 2 needed approvals, 0 against, 3 people" in page.text
