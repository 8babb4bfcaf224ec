"""What operators and owners do to one instance: by right and state, with the reason kept and nothing typed lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import Shown, Visitor, actor_of, leave_request, make_office, start_leave, visit
from tests.support.web import Site
from webapp.engine.instances.model import InstanceStatus


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def dialogs(page: Shown) -> set[str]:
    """Return the questions that the page can ask."""
    names = ("suspend", "resume", "retry", "cancel", "terminate", "signal")
    return {name for name in names if f'data-dialog="{name}"' in page.html}


def pages(page: Shown, instance: str) -> set[str]:
    """Return the actions with a page of their own that the page leads to."""
    return {name for name in ("jump", "migrate", "variables") if f'href="/monitor/{instance}/{name}"' in page.html}


def status(site: Site, instance: str) -> InstanceStatus:
    return site.services.instances.get(actor_of(site, "operator"), instance).status


def publish(site: Site, **changes: Any) -> str:
    designer = actor_of(site, "designer")
    made = site.services.catalog.create(designer, {**leave_request(), **changes})
    site.services.catalog.publish(designer, made.id)
    return made.name


def waiting_for_signal(site: Site) -> str:
    """Start a workflow that waits for the signal paid."""
    document = leave_request()
    wait = {"id": "pay", "name": "Payment", "activityType": "WaitSignal", "properties": {"SignalName": "paid"}}
    publish(
        site,
        name="paying",
        nodes=[document["nodes"][0], wait, document["nodes"][2]],
        transitions=[
            {"id": "t1", "sourceNodeId": "start", "targetNodeId": "pay"},
            {"id": "t2", "sourceNodeId": "pay", "targetNodeId": "end"},
        ],
        variables=[],
    )
    return start_paying(site)


def start_paying(site: Site) -> str:
    employee = actor_of(site, "employee")
    return site.services.instances.start(employee, name="paying", correlation_id="PR-1").instance.id


def test_the_state_says_what_is_possible(site: Site) -> None:
    instance = start_leave(site)
    visitor = visit(site, "operator")
    running = visitor.get(f"/monitor/{instance}")
    assert dialogs(running) == {"suspend", "cancel", "terminate"}
    assert pages(running, instance) == {"jump", "migrate", "variables"}
    site.services.operations.suspend(actor_of(site, "operator"), instance)
    suspended = visitor.get(f"/monitor/{instance}")
    assert dialogs(suspended) == {"resume", "cancel", "terminate"}
    assert pages(suspended, instance) == {"migrate", "variables"}
    site.services.instances.cancel(actor_of(site, "operator"), instance)
    ended = visitor.get(f"/monitor/{instance}")
    assert (dialogs(ended), pages(ended, instance)) == (set(), set())


def test_who_only_reads_gets_no_action(site: Site) -> None:
    instance = start_leave(site)
    page = visit(site, "employee").get(f"/monitor/{instance}")
    assert (dialogs(page), pages(page, instance)) == (set(), set())


@pytest.mark.parametrize("action", ["suspend", "resume", "cancel", "terminate", "retry", "signal"])
def test_who_may_not_operate_is_refused(site: Site, action: str) -> None:
    instance = start_leave(site)
    refused = visit(site, "employee").post(f"/monitor/{instance}/{action}", reason="Why not", name="paid")
    assert refused.status == 403
    assert "instances:operate" in refused.text
    assert status(site, instance) is InstanceStatus.RUNNING


def test_an_owner_of_the_definition_may_operate(site: Site) -> None:
    publish(site, name="owned", owners=["employee"])
    instance = site.services.instances.start(
        actor_of(site, "employee"), name="owned", variables={"days": 1}
    ).instance.id
    visitor = visit(site, "employee")
    assert dialogs(visitor.get(f"/monitor/{instance}")) == {"suspend", "cancel", "terminate"}
    assert visitor.post(f"/monitor/{instance}/suspend").status == 303
    assert status(site, instance) is InstanceStatus.SUSPENDED


def test_suspending_tells_by_whom_when_and_why_and_resuming_goes_on(site: Site) -> None:
    instance = start_leave(site)
    visitor = visit(site, "operator")
    page = visitor.post(f"/monitor/{instance}/suspend", reason="Rules change", follow=True)
    assert "You suspended it." in page.text and "Rules change" in page.text
    assert "You suspended the request" in page.text
    after = visitor.post(f"/monitor/{instance}/resume", reason="Rules are clear", follow=True)
    assert "You let the request go on" in after.text and "Rules are clear" in after.text
    assert "You suspended it." not in after.text
    assert status(site, instance) is InstanceStatus.RUNNING


def test_terminating_ends_it(site: Site) -> None:
    instance = start_leave(site)
    page = visit(site, "operator").post(f"/monitor/{instance}/terminate", reason="Wrong tenant", follow=True)
    assert "Wrong tenant" in page.text
    assert status(site, instance) is InstanceStatus.TERMINATED


def refused(visitor: Visitor, path: str, **fields: str) -> Shown:
    answer = visitor.post(path, **fields)
    assert answer.status == 422
    assert 'role="alert"' in answer.html and "Nothing changed." in answer.text
    return answer


def test_a_refusal_that_comes_too_late_keeps_the_words(site: Site) -> None:
    instance = start_leave(site)
    site.services.operations.suspend(actor_of(site, "operator"), instance)
    page = refused(visit(site, "operator"), f"/monitor/{instance}/suspend", reason="My long reason")
    assert "Only a running instance can be suspended." in page.text
    assert "My long reason" in page.text


def test_a_refusal_opens_the_question_again_with_what_was_typed(site: Site) -> None:
    instance = waiting_for_signal(site)
    page = refused(visit(site, "operator"), f"/monitor/{instance}/signal", name="paid", payload="{paid")
    assert 'id="signal"' in page.html and 'aria-labelledby="signal-title" data-open' in page.html
    assert "{paid" in page.html and "The data is no JSON." in page.text


def test_a_signal_lets_only_this_instance_go_on(site: Site) -> None:
    instance = waiting_for_signal(site)
    other = start_paying(site)
    visitor = visit(site, "operator")
    assert "Payment waits for the signal paid." in visitor.get(f"/monitor/{instance}").text
    page = visitor.post(f"/monitor/{instance}/signal", name="paid", payload='{"amount": 12.50}', follow=True)
    assert "Signal sent" in page.text and "amount 12.50" in page.text
    assert "You sent the signal that Payment waited for" in page.text
    assert status(site, instance) is InstanceStatus.COMPLETED
    assert status(site, other) is InstanceStatus.RUNNING


def test_a_signal_that_nobody_waits_for_is_refused(site: Site) -> None:
    instance = waiting_for_signal(site)
    page = refused(visit(site, "operator"), f"/monitor/{instance}/signal", name="lost", payload="")
    assert "lost" in page.text
    assert status(site, instance) is InstanceStatus.RUNNING


def with_child(site: Site) -> str:
    """Start a workflow that waits for a leave request as its sub-workflow."""
    document = leave_request()
    sub = {
        "id": "sub",
        "name": "Ask for leave",
        "activityType": "SubWorkflow",
        "properties": {"DefinitionName": "leave", "Variables": {"days": 2, "reason": "Rest"}},
    }
    publish(
        site,
        name="outer",
        nodes=[document["nodes"][0], sub, document["nodes"][2]],
        transitions=[
            {"id": "t1", "sourceNodeId": "start", "targetNodeId": "sub"},
            {"id": "t2", "sourceNodeId": "sub", "targetNodeId": "end"},
        ],
        variables=[],
    )
    return site.services.instances.start(actor_of(site, "employee"), name="outer", title="Outer").instance.id


def test_parent_and_children_show_each_other_and_stop_together(site: Site) -> None:
    parent = with_child(site)
    visitor = visit(site, "operator")
    page = visitor.get(f"/monitor/{parent}")
    assert "1 child" in page.text and "Ask for leave waits for its sub-workflow." in page.text
    child = site.services.instances.children(actor_of(site, "operator"), parent).items[0]
    assert f'href="/monitor/{child.id}"' in page.html
    assert f'href="/monitor/{parent}"' in visitor.get(f"/monitor/{child.id}").html
    assert "Its children too" in page.text
    visitor.post(f"/monitor/{parent}/suspend", cascade="true", reason="Audit")
    assert status(site, child.id) is InstanceStatus.SUSPENDED
    visitor.post(f"/monitor/{parent}/resume")
    assert (status(site, parent), status(site, child.id)) == (InstanceStatus.RUNNING, InstanceStatus.SUSPENDED)


def test_the_actions_speak_chinese(site: Site) -> None:
    instance = start_leave(site)
    visitor = visit(site, "operator")
    visitor.client.set_cookie("language", "zh")
    page = visitor.post(f"/monitor/{instance}/suspend", reason="规则调整", follow=True)
    assert "您已将其挂起。" in page.text.replace(" ", "") and "规则调整" in page.text
