"""The main job with four accounts: draw by dragging, publish, start, decide, watch."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import VisitorFactory
from tests.browser.drawing import Drawing
from tests.browser.visitor import Visitor

NAME = "journey-leave"
TITLE = "Leave, drawn by hand"


def test_a_leave_request_is_drawn_started_decided_and_watched(visitors: VisitorFactory) -> None:
    designer = visitors("designer")
    draw_and_publish(designer)

    employee = visitors("employee")
    for reason in ("Skiing", "Sailing", "Surfing"):
        start_leave(employee, reason)
    employee.page.goto("/requests")
    expect(employee.page.get_by_text(TITLE).first).to_be_visible()
    employee.check_accessibility()

    manager = visitors("manager")
    decide(manager, "Skiing", "Approve", "Have fun")
    decide(manager, "Sailing", "Reject", "The harbour is closed")

    operator = visitors("operator")
    watch_the_completed(operator)
    cancel_the_third(operator)
    expect_end(operator.page, "Completed", 2)
    expect_end(operator.page, "Canceled", 1)


def draw_and_publish(designer: Visitor) -> None:
    """Draw Start → UserTask → Decision → two Ends: five steps, each dragged in but for those a new one begins with."""
    page = designer.page
    page.goto("/designer")
    designer.check_accessibility()
    page.get_by_role("button", name="New workflow").first.click()
    dialog = page.locator("dialog#new")
    dialog.locator("input[name=title]").fill(TITLE)
    dialog.locator("input[name=name]").fill(NAME)
    dialog.locator("button[type=submit]").click()
    drawing = Drawing(page)
    clear(drawing)
    start = drawing.drag("Start", 130, 220)
    task = drawing.drag("UserTask", 360, 220)
    decision = drawing.drag("Decision", 590, 220)
    approved = drawing.drag("End", 700, 90)
    rejected = drawing.drag("End", 590, 380)
    fill_in(drawing, task, approved, rejected)
    for source, target in ((start, task), (task, decision), (decision, approved), (decision, rejected)):
        drawing.connect(source, target)
    drawing.select_transition("Approved?", "Approved")
    drawing.field("condition").locator("textarea").fill("outcome == 'approved'")
    drawing.select_transition("Approved?", "Rejected")
    drawing.field("isDefault").locator("input").check()
    drawing.add_variable("from", "First day", "date", required=True)
    drawing.add_variable("to", "Last day", "date", required=True)
    drawing.add_variable("reason", "Reason", "string", required=True)
    drawing.wait_until_saved()
    designer.check_accessibility()
    publish(page)
    designer.check_accessibility()


def clear(drawing: Drawing) -> None:
    """Delete what a new workflow begins with, by keyboard."""
    for node in drawing.nodes():
        drawing.select(node)
        drawing.page.keyboard.press("Delete")
    expect(drawing.page.locator(".djs-shape")).to_have_count(0)


def fill_in(drawing: Drawing, task: str, approved: str, rejected: str) -> None:
    """Say who decides, with which outcomes, and what each end means."""
    drawing.select(task)
    drawing.type("name", "Manager decides")
    drawing.type("Title", "Leave for {{reason}}")
    drawing.field("AssigneeRules").locator("button[data-rule=User]").click()
    people = drawing.field("AssigneeRules").locator(".rule .chips-input input")
    people.fill("manager")
    people.press("Enter")
    drawing.list_values("AllowedOutcomes", "approved", "rejected")
    drawing.select("decision")
    drawing.type("name", "Approved?")
    for end, name, outcome in ((approved, "Approved", "approved"), (rejected, "Rejected", "rejected")):
        drawing.select(end)
        drawing.type("name", name)
        drawing.type("Outcome", outcome)


def publish(page: Page) -> None:
    """Publish, and see that it is."""
    page.get_by_role("button", name="Publish").first.click()
    page.locator("dialog[open] .btn.primary").click()
    expect(page.get_by_text("v1 published")).to_be_visible()


def start_leave(employee: Visitor, reason: str) -> None:
    """Start one from the catalogue, once with a value missing."""
    page = employee.page
    page.goto("/start")
    page.get_by_role("link", name=TITLE).click()
    form = page.locator("form#start")
    form.get_by_label("First day").fill("2027-02-01")
    form.get_by_label("Reason").fill(reason)
    form.get_by_label("Last day").fill("2027-02-05")
    employee.check_accessibility()
    page.locator("button[form=start]").click()
    expect(page).to_have_url(re.compile("/requests/"))
    expect(page.get_by_text("Marta Ruiz").first).to_be_visible()
    employee.check_accessibility()


def decide(manager: Visitor, reason: str, button: str, comment: str) -> None:
    """Find the task by its title, and decide with a comment."""
    page = manager.page
    page.goto("/inbox")
    page.get_by_role("link", name=f"Leave for {reason}").click()
    expect(page.locator("#task h2", has_text=f"Leave for {reason}")).to_be_visible()
    manager.check_accessibility()
    page.locator("#comment").fill(comment)
    page.locator(".decide").get_by_role("button", name=button).click()
    expect(page.get_by_role("link", name=f"Leave for {reason}")).to_have_count(0)


def watch_the_completed(operator: Visitor) -> None:
    """See in the monitor how the approved one went."""
    page = operator.page
    page.goto(f"/monitor?definition={NAME}&status=Completed")
    operator.check_accessibility()
    row = page.locator("tbody tr", has_text="Approved")
    row.get_by_role("link", name=TITLE).click()
    expect(page.locator(".pill", has_text="Completed").first).to_be_visible()
    expect(page.get_by_text("Have fun")).to_be_visible()
    expect(page.locator(".viewer [data-node=decision]")).to_have_attribute("data-state", "completed")
    operator.check_accessibility()


def cancel_the_third(operator: Visitor) -> None:
    """Cancel what still runs, with a reason."""
    page = operator.page
    page.goto(f"/monitor?definition={NAME}&status=Running")
    page.get_by_role("link", name=TITLE).first.click()
    page.get_by_role("button", name="Cancel").first.click()
    dialog = page.locator("dialog[open]")
    dialog.locator("textarea").fill("Filed twice")
    dialog.locator("button[type=submit]").click()
    expect(page.locator(".pill", has_text="Canceled").first).to_be_visible()
    expect(page.get_by_text("Filed twice").first).to_be_visible()
    operator.check_accessibility()


def expect_end(page: Page, status: str, count: int) -> None:
    """The list shows so many of this workflow with the status."""
    page.goto(f"/monitor?definition={NAME}&status={status}")
    expect(page.locator("tbody tr")).to_have_count(count)
