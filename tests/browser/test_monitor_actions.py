"""Operators in a real browser: stop and go on, move, migrate, mend and try again, and many at once."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import VisitorFactory
from tests.browser.rest import Rest
from tests.browser.visitor import Visitor

PHONE = 360


def ask(node_id: str, name: str) -> dict[str, Any]:
    rules = [{"type": "User", "values": ["manager"]}]
    return {"id": node_id, "name": name, "activityType": "UserTask", "properties": {"AssigneeRules": rules}}


def line(name: str, *nodes: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """Return a workflow that goes through the nodes one after the other."""
    steps = [
        {"id": "start", "activityType": "Start"},
        *nodes,
        {"id": "end", "name": "Ended", "activityType": "End"},
    ]
    steps = [{**step, "x": 160 * at, "y": 0} for at, step in enumerate(steps)]
    pairs = [(one["id"], other["id"]) for one, other in pairwise(steps)]
    transitions = [{"id": f"{a}-{b}", "sourceNodeId": a, "targetNodeId": b} for a, b in pairs]
    return {"name": name, "displayName": name.title(), "nodes": steps, "transitions": transitions, **rest}


@pytest.fixture
def operator(visitors: VisitorFactory) -> Visitor:
    visitor = visitors("operator")
    # What is refused on a page is answered with this status, and told there.
    visitor.expected_statuses.add(422)
    return visitor


def rest_of(visitors: VisitorFactory, account: str) -> Rest:
    return Rest(visitors(account))


def open_instance(page: Page, instance: str) -> None:
    page.goto(f"/monitor/{instance}")
    expect(page.locator("html[data-ready]")).to_be_attached()


def answer(page: Page, reason: str) -> None:
    """Fill the open question's reason and send it."""
    dialog = page.locator("dialog[open]")
    dialog.locator("textarea").first.fill(reason)
    dialog.locator("button[type=submit]").click()


def expect_state(page: Page, state: str) -> None:
    expect(page.locator(".page-head .pill", has_text=state)).to_be_visible()


def test_suspend_resume_and_jump_after_a_dry_run(visitors: VisitorFactory, operator: Visitor) -> None:
    rest_of(visitors, "designer").publish(line("moving", ask("first", "First look"), ask("second", "Second look")))
    instance = Rest(operator).start("moving", title="Moving one")
    page = operator.page
    open_instance(page, instance)
    page.get_by_role("button", name="Suspend").click()
    operator.check_accessibility()
    answer(page, "Rules change")
    expect_state(page, "Suspended")
    expect(page.locator(".banner")).to_contain_text("Rules change")
    operator.check_accessibility()
    page.get_by_role("button", name="Resume").click()
    answer(page, "Rules are clear")
    expect_state(page, "Running")
    # By keyboard alone: the menu, the link in it, the form.
    page.get_by_label("More actions").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Move to a step").press("Enter")
    page.get_by_label("Go on at").select_option("second")
    page.get_by_label("Reason").fill("First look was by phone")
    page.get_by_role("button", name="Show what would happen").press("Enter")
    expect(page.locator("#plan")).to_contain_text("Canceled: First look")
    expect(page.locator("#plan")).to_contain_text("1 open task leaves the inbox")
    operator.check_accessibility()
    page.get_by_role("button", name="Move it now").press("Enter")
    expect(page.locator(".wait-card")).to_contain_text("Second look")
    expect(page.locator(".trail")).to_contain_text("to Second look")
    operator.check_accessibility()


def test_migrate_with_a_mapping(visitors: VisitorFactory, operator: Visitor) -> None:
    designer = rest_of(visitors, "designer")
    first = designer.publish(line("moved", ask("old", "Old step")))
    instance = Rest(operator).start("moved", title="Migrating one")
    designer.publish_next(first["id"], line("moved", ask("new", "New step")))
    page = operator.page
    page.goto(f"/monitor/{instance}/migrate")
    page.get_by_role("button", name="Show what would happen").click()
    expect(page.locator("#mapping")).to_contain_text("Map it to one that is there")
    operator.check_accessibility()
    page.get_by_label("Old step").select_option("new")
    page.get_by_role("button", name="Show what would happen").click()
    expect(page.locator("#plan")).to_contain_text("Old step becomes New step")
    page.get_by_role("button", name="Move to version 2").click()
    expect(page.locator(".wait-card")).to_contain_text("New step")
    expect(page.locator(".page-head .meta")).to_contain_text("v2")


def test_a_variable_is_mended_and_the_failed_step_tried_again(visitors: VisitorFactory, operator: Visitor) -> None:
    double = {
        "id": "double",
        "name": "Double it",
        "activityType": "SetVariable",
        "properties": {"Expressions": {"total": "amount * 2"}},
    }
    rest_of(visitors, "designer").publish(line("doubling", double))
    instance = Rest(operator).start("doubling", {"amount": "many"}, title="Faulted one")
    page = operator.page
    open_instance(page, instance)
    expect_state(page, "Faulted")
    expect(page.locator(".fault-card")).to_contain_text("Double it failed")
    operator.check_accessibility()
    page.locator("section", has_text="Variables").get_by_role("link", name="Edit variables").click()
    page.get_by_role("link", name="Edit amount").click()
    page.get_by_label("Kind").select_option("number")
    page.get_by_label("Value").fill("2I")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#f-value-error")).to_be_visible()
    operator.check_accessibility()
    page.get_by_label("Value").fill("21")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".trail")).to_contain_text("set: amount")
    operator.check_accessibility()
    open_instance(page, instance)
    page.get_by_role("button", name="Retry").click()
    answer(page, "Amount mended")
    expect_state(page, "Completed")
    expect(page.locator(".kv-tree")).to_contain_text("42")


def test_a_batch_over_three_instances(visitors: VisitorFactory, operator: Visitor) -> None:
    rest_of(visitors, "designer").publish(line("bulky", ask("look", "Look")))
    rest = Rest(operator)
    made = [rest.start("bulky", title=f"Bulky {number}") for number in range(3)]
    rest.post(f"/instances/{made[2]}/suspend")
    page = operator.page
    page.goto("/monitor?definition=bulky&sort=title")
    expect(page.locator("html[data-ready]")).to_be_attached()
    page.get_by_label("Select all on this page").check()
    expect(page.locator("[data-selected]")).to_have_text("3")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-selected]")).to_have_text("2")
    page.keyboard.press("x")
    expect(page.locator("tbody .check:checked")).to_have_count(3)
    operator.check_accessibility()
    page.get_by_role("button", name="With the selected").click()
    operator.check_accessibility()
    page.get_by_label("Reason").fill("Year end")
    page.get_by_role("button", name="Start for 3 instances").click()
    expect(page).to_have_url(re.compile("/monitor/batches/"))
    expect(page.locator("#batch")).to_contain_text("3 of 3 done")
    expect(page.locator("#batch tr", has_text="Bulky 2")).to_contain_text("Only a running instance can be suspended.")
    expect(page.locator("#batch .pill", has_text="Completed")).to_be_visible()
    operator.check_accessibility()
    open_instance(page, made[0])
    expect_state(page, "Suspended")
    expect(page.locator(".banner")).to_contain_text("Year end")


@pytest.mark.parametrize(("dark", "language"), [(False, "zh")])
def test_the_pages_fit_a_phone(visitors: VisitorFactory, dark: bool, language: str) -> None:
    visitor = visitors("operator", width=PHONE, height=780, dark=dark, language=language)
    rest = Rest(visitor)
    instance = rest.start("leave-request", LEAVE, title="Ein sehr langer Titel ohne Ende " * 3)
    batch = rest.post("/instances/batch", {"action": "suspend", "ids": [instance], "reason": "Quarter end " * 9})
    definition = rest.get("/definitions?name=leave-request&limit=1")["items"][0]["id"]
    base = f"/monitor/{instance}"
    for path in (
        base,
        f"{base}/jump?to=end",
        f"{base}/migrate",
        f"{base}/variables?name=reason",
        "/monitor",
        "/monitor/batches",
        f"/monitor/batches/{batch['id']}",
        f"/schedules/{definition}",
    ):
        visitor.page.goto(path)
        expect(visitor.page.locator("html[data-ready]")).to_be_attached()
        width = visitor.page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE, f"{path} scrolls sideways: {width} px"
        visitor.check_accessibility()


LEAVE = {"from": "2027-03-01", "to": "2027-03-05", "reason": "Rest"}
