"""Several people and their tasks: shared, lent, sent back, decided for the absent, decided together, withdrawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import VisitorFactory
from tests.browser.visitor import Visitor


class Person:
    """An account at a browser; what is only set-up goes through REST."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.page = visitor.page

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API with the session of the window."""
        token = self.page.locator("meta[name=csrf-token]").get_attribute("content") or ""
        answer = self.page.request.fetch(
            f"/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": "application/json", "X-CSRFToken": token},
        )
        assert answer.ok, answer.text()
        return answer.json()

    def tasks(self, definition: str, scope: str = "mine") -> list[dict[str, Any]]:
        """Return the open tasks of a workflow that this person sees."""
        found: list[dict[str, Any]] = self.call("GET", f"/tasks?scope={scope}&definitionName={definition}")["items"]
        return found

    def open(self, task: dict[str, Any], scope: str = "mine") -> None:
        """Open a task's page."""
        self.page.goto(f"/inbox/{task['id']}?scope={scope}")
        expect(self.page.locator("#task .task-head h2")).to_have_text(task["title"])

    def ask(self, action: str) -> Locator:
        """Open the question behind an action, from its button or the menu."""
        button = self.page.locator(f".decide .side-act[data-dialog={action}], .say [data-dialog={action}]")
        if button.count() == 0:
            self.page.get_by_label("More actions").click()
            button = self.page.locator(f".decide .menu-list [data-dialog={action}]")
        button.first.click()
        dialog = self.page.locator(f"dialog#{action}")
        expect(dialog).to_be_visible()
        return dialog

    def answer(self, dialog: Locator, **fields: str) -> None:
        """Fill in a question and send it."""
        for name, value in fields.items():
            field = dialog.locator(f"[name={name}]")
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)
        dialog.locator("button[type=submit]").click()

    def sees(self, words: str) -> None:
        """Expect words on the page."""
        expect(self.page.get_by_text(words).locator("visible=true").first).to_be_visible()

    def decide(self, button: str) -> None:
        """Press an outcome and wait until the task is gone from the list."""
        task = self.page.locator("#task").get_attribute("data-task-id")
        self.page.locator(".decide .main-act", has_text=button).click()
        expect(self.page.locator(f"[data-row][data-task='{task}']")).to_have_count(0)


@pytest.fixture
def people(visitors: VisitorFactory) -> Iterator[Callable[[str], Person]]:
    """Signs people in, each once."""
    known: dict[str, Person] = {}

    def person(account: str) -> Person:
        if account not in known:
            known[account] = Person(visitors(account))
        return known[account]

    return person  # type: ignore[return-value]  # nothing is to be done afterwards


def step(node_id: str, name: str, **properties: Any) -> dict[str, Any]:
    return {"id": node_id, "name": name, "activityType": "UserTask", "properties": {"Title": name, **properties}}


def publish(designer: Person, name: str, *steps: dict[str, Any]) -> None:
    """Publish a workflow whose steps follow one another."""
    nodes = [{"id": "start", "activityType": "Start"}, *steps, {"id": "end", "activityType": "End"}]
    nodes = [{**one, "x": 160 * at, "y": 100} for at, one in enumerate(nodes)]
    edges = [
        {"id": f"t{at}", "sourceNodeId": before["id"], "targetNodeId": after["id"]}
        for at, (before, after) in enumerate(pairwise(nodes))
    ]
    document = {"name": name, "displayName": name, "nodes": nodes, "transitions": edges}
    made = designer.call("POST", "/definitions", document)
    designer.call("POST", f"/definitions/{made['id']}/publish")


def start(starter: Person, name: str, title: str = "") -> str:
    """Start a workflow and return the instance's id."""
    started: str = starter.call("POST", "/instances", {"name": name, "title": title or name})["id"]
    return started


def test_a_group_task_goes_from_hand_to_hand(people: Callable[[str], Person]) -> None:
    group = [{"type": "User", "values": ["role:user"], "claimable": True}]
    publish(people("designer"), "j-group", step("a", "Sort the mail", AssigneeRules=group))
    employee, manager = people("employee"), people("manager")
    start(employee, "j-group")
    (task,) = manager.tasks("j-group", "claimable")
    manager.open(task, "claimable")
    manager.sees("This task waits for a group.")
    manager.visitor.check_accessibility()
    manager.page.locator(".decide .main-act", has_text="Claim").click()
    manager.sees("The task is yours")
    assert employee.tasks("j-group", "claimable") == []
    manager.answer(manager.ask("release"))
    manager.sees("The task was given back")
    employee.open(task, "claimable")
    employee.page.locator(".decide .main-act", has_text="Claim").click()
    employee.sees("The task is yours")
    employee.decide("Approve")


def test_signers_are_added_before_and_removed(people: Callable[[str], Person]) -> None:
    publish(people("designer"), "j-sign", step("a", "Sign it", Assignees=["manager"]))
    manager = people("manager")
    instance = start(people("employee"), "j-sign")
    (task,) = manager.tasks("j-sign")
    manager.open(task)
    dialog = manager.ask("add")
    manager.visitor.check_accessibility()
    manager.answer(dialog, who="operator", position="before", comment="Please look first")
    manager.sees("signs first; then the task comes back to you")
    assert people("operator").tasks("j-sign") and not manager.tasks("j-sign")
    operator = people("operator")
    (first,) = operator.tasks("j-sign")
    operator.open(first)
    operator.sees("Please look first")
    operator.decide("Approve")
    (again,) = manager.tasks("j-sign")
    assert again["id"] == task["id"]
    manager.open(again)
    manager.answer(manager.ask("add"), who="designer", position="after")
    manager.sees("signs after you")
    manager.answer(manager.ask("remove"), who="designer")
    manager.sees("no longer decides")
    manager.decide("Approve")
    assert manager.call("GET", f"/instances/{instance}")["status"] == "Completed"


def test_a_task_is_lent_and_comes_back(people: Callable[[str], Person]) -> None:
    publish(people("designer"), "j-lend", step("a", "Check the sum", Assignees=["manager"]))
    manager, employee = people("manager"), people("employee")
    start(employee, "j-lend")
    (task,) = manager.tasks("j-lend")
    manager.open(task)
    manager.answer(manager.ask("delegate"), who="employee", comment="You know the figures")
    manager.sees("then it comes back to you")
    employee.open(task)
    employee.sees("You know the figures")
    employee.page.locator("#comment").fill("It adds up")
    employee.decide("Approve")
    manager.open(task)
    manager.sees("It adds up")
    manager.decide("Approve")


def test_a_request_is_returned_and_comes_straight_back(people: Callable[[str], Person]) -> None:
    steps = (step("draft", "Write it", Assignees=["employee"]), step("check", "Check it", Assignees=["manager"]))
    publish(people("designer"), "j-return", *steps)
    manager, employee = people("manager"), people("employee")
    instance = start(employee, "j-return")
    (draft,) = employee.tasks("j-return")
    employee.call("POST", f"/tasks/{draft['id']}/complete", {"outcome": "approved"})
    (check,) = manager.tasks("j-return")
    manager.open(check)
    manager.answer(manager.ask("return"), to="draft", resubmit="direct", comment="The sum is missing")
    manager.sees("Returned")
    (again,) = employee.tasks("j-return")
    employee.open(again)
    employee.sees("The sum is missing")
    employee.decide("Approve")
    (last,) = manager.tasks("j-return")
    manager.open(last)
    manager.decide("Approve")
    assert manager.call("GET", f"/instances/{instance}")["status"] == "Completed"


def test_a_substitute_decides_for_the_absent(people: Callable[[str], Person]) -> None:
    publish(people("designer"), "j-absent", step("a", "Sign the lease", Assignees=["manager"]))
    manager, operator = people("manager"), people("operator")
    start(people("employee"), "j-absent")
    today = datetime.now(UTC).date()
    page = manager.page
    page.goto("/account")
    form = page.locator("form[action='/account/absences']")
    form.locator("[name=substitute]").select_option("operator")
    form.locator("[name=from]").fill(f"{today:%Y-%m-%d}")
    form.locator("[name=to]").fill(f"{today + timedelta(days=2):%Y-%m-%d}")
    form.locator("button[type=submit]").click()
    manager.sees("The absence was set")
    manager.visitor.check_accessibility()
    (task,) = operator.tasks("j-absent")
    operator.open(task)
    operator.sees("You decide for Marta Ruiz")
    operator.decide("Approve")
    operator.page.goto(f"/inbox/{task['id']}?scope=done")
    operator.sees("for Marta Ruiz")
    page.get_by_role("button", name="End the absence").click()
    manager.sees("The absence was ended")


def test_several_tasks_are_approved_together(people: Callable[[str], Person]) -> None:
    publish(people("designer"), "j-bulk", step("a", "Sign the order", Assignees=["manager"]))
    manager, employee = people("manager"), people("employee")
    for number in (1, 2, 3):
        start(employee, "j-bulk", f"Order {number}")
    page = manager.page
    page.goto("/inbox?definition=j-bulk")
    rows = page.locator("[data-row]")
    expect(rows).to_have_count(3)
    # By keyboard: x selects, j moves on.
    page.keyboard.press("j")
    page.keyboard.press("x")
    rows.nth(2).locator("input.check").check()
    expect(page.locator(".bulk-bar [data-selected]")).to_have_text("2")
    manager.visitor.check_accessibility()
    page.locator(".bulk-bar [data-dialog]").click()
    dialog = page.locator("dialog#bulk-dialog")
    dialog.locator("textarea").fill("All checked")
    dialog.get_by_role("button", name="Approve").click()
    expect(page.locator(".results li.completed")).to_have_count(2)
    manager.visitor.check_accessibility()
    assert len(manager.tasks("j-bulk")) == 1


def test_a_decision_is_undone_and_a_request_withdrawn(people: Callable[[str], Person]) -> None:
    publish(people("designer"), "j-undo", step("a", "Decide it", Assignees=["manager"]))
    manager, employee = people("manager"), people("employee")
    instance = start(employee, "j-undo", "Changed my mind")
    (task,) = manager.tasks("j-undo")
    manager.call("POST", f"/tasks/{task['id']}/complete", {"outcome": "approved", "undoSeconds": 30})
    manager.open(task)
    manager.sees("It can be undone until")
    manager.visitor.check_accessibility()
    manager.page.locator("#task .banner").get_by_role("button", name="Undo").click()
    manager.sees("The task waits for you again")
    page = employee.page
    page.goto(f"/requests/{instance}")
    employee.answer(employee.ask("urge"), comment="Is it on its way?")
    employee.sees("A reminder was sent")
    employee.answer(employee.ask("withdraw"), reason="Not needed any more")
    employee.sees("Withdrawn")
    employee.sees("Not needed any more")
    employee.visitor.check_accessibility()
    assert employee.call("GET", f"/instances/{instance}")["status"] == "Canceled"
