"""The designer in a real browser: one history over everything, keys, clipboard, conflicts, problems, read-only."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import VisitorFactory
from tests.browser.drawing import Drawing

_numbers = itertools.count(1)


def leave(name: str) -> dict[str, Any]:
    """Return a definition of four steps that may be published."""
    return {
        "name": name,
        "displayName": "Leave",
        "nodes": [
            {"id": "start", "name": "Start", "activityType": "Start", "x": 80, "y": 160},
            {
                "id": "approve",
                "name": "Approve",
                "activityType": "UserTask",
                "properties": {"AssigneeRules": [{"type": "User", "values": ["manager"]}]},
                "x": 340,
                "y": 160,
            },
            {"id": "yes", "name": "Granted", "activityType": "End", "x": 620, "y": 100},
            {"id": "no", "name": "Refused", "activityType": "End", "x": 620, "y": 220},
        ],
        "transitions": [
            {"id": "t1", "sourceNodeId": "start", "targetNodeId": "approve"},
            {"id": "t2", "sourceNodeId": "approve", "targetNodeId": "yes", "condition": "outcome == 'approved'"},
            {"id": "t3", "sourceNodeId": "approve", "targetNodeId": "no", "isDefault": True},
        ],
        "variables": [{"name": "days", "type": "number", "defaultValue": 1}],
    }


def call(page: Page, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """Call the API with the session of the page."""
    token = page.locator("meta[name=csrf-token]").get_attribute("content") or ""
    answer = page.request.fetch(
        f"/api/v1{path}",
        method=method,
        data=None if body is None else json.dumps(body),
        headers={"Content-Type": "application/json", "X-CSRFToken": token, **headers},
    )
    assert answer.ok, answer.text()
    return answer.json()


def make(page: Page, document: dict[str, Any] | None = None) -> str:
    """Create a draft and return its id."""
    page.goto("/designer")
    made = call(page, "POST", "/definitions", document or leave(f"browser-{next(_numbers)}"))
    return str(made["id"])


def open_draft(page: Page, document: dict[str, Any] | None = None) -> tuple[str, Drawing]:
    """Create a draft and open it."""
    made = make(page, document)
    page.goto(f"/designer/{made}")
    return made, Drawing(page)


def stored(page: Page, definition_id: str) -> dict[str, Any]:
    """Return what the server has."""
    document: dict[str, Any] = call(page, "GET", f"/definitions/{definition_id}")
    return document


def test_undo_takes_back_everything_and_redo_brings_it_again(visitors: VisitorFactory) -> None:
    page = visitors("designer").page
    made, drawing = open_draft(page)
    before = stored(page, made)
    drawing.drag("Log", 340, 420)
    drawing.type("name", "Tell")
    drawing.type("Message", "Hello {{days}}")
    drawing.select("approve")
    drawing.type("name", "Boss")
    drawing.add_variable("why", "Why", "string", required=True)
    page.locator("[data-element-id=start]").click()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Delete")
    expect(page.locator(".djs-shape")).to_have_count(4)
    undo, redo = page.locator(".tools .icon-btn").nth(0), page.locator(".tools .icon-btn").nth(1)
    steps = 0
    while undo.is_enabled():
        undo.click()
        steps += 1
    assert steps >= 10
    drawing.wait_until_saved()
    after = stored(page, made)
    for member in ("nodes", "transitions", "variables", "displayName"):
        assert after[member] == before[member], member
    while redo.is_enabled():
        redo.click()
    drawing.wait_until_saved()
    again = stored(page, made)
    assert {node["id"]: node["name"] for node in again["nodes"]} == {
        "approve": "Boss",
        "yes": "Granted",
        "no": "Refused",
        "log": "Tell",
    }
    assert [variable["name"] for variable in again["variables"]] == ["days", "why"]


def test_settings_of_a_step_and_of_the_workflow_are_saved_and_taken_back(visitors: VisitorFactory) -> None:
    page = visitors("designer").page
    made, drawing = open_draft(page)
    before = stored(page, made)
    drawing.unfold("startableBy")
    drawing.list_values("startableBy", "role:staff")
    drawing.field("allowWithdraw").locator("input").uncheck()
    drawing.unfold("compensateOnCancel")
    drawing.field("compensateOnCancel").locator("input").check()
    drawing.select("approve")
    drawing.unfold("timeoutSeconds")
    drawing.type("timeoutSeconds", "2")
    expect(drawing.field("timeoutTarget")).to_be_hidden()
    drawing.field("timeoutAction").locator("select").select_option(label="Ask others as well")
    drawing.list_values("timeoutTarget", "admin")
    drawing.field("background").locator("input").check()
    expect(page.locator(".dock")).to_have_attribute("data-problems", "0")
    drawing.wait_until_saved()
    after = stored(page, made)
    (approve,) = [node for node in after["nodes"] if node["id"] == "approve"]
    assert after["startableBy"] == ["role:staff"]
    assert (after["allowWithdraw"], after["compensateOnCancel"]) == (False, True)
    assert (approve["timeoutSeconds"], approve["timeoutAction"]) == (172_800, "Escalate")
    assert (approve["timeoutTarget"], approve["background"]) == (["admin"], True)
    undo = page.locator(".tools .icon-btn").first
    while undo.is_enabled():
        undo.click()
    drawing.wait_until_saved()
    again = stored(page, made)
    for member in ("nodes", "startableBy", "allowWithdraw", "compensateOnCancel"):
        assert again[member] == before[member], member


def test_a_field_that_means_nothing_now_is_hidden(visitors: VisitorFactory) -> None:
    page = visitors("designer").page
    _, drawing = open_draft(page)
    drawing.select("approve")
    expect(drawing.field("CompletionThreshold")).to_be_hidden()
    drawing.field("CompletionPolicy").locator("select").select_option(label="By share")
    drawing.type("CompletionThreshold", "0.5")
    expect(page.get_by_role("link", name="Help on User task")).to_have_attribute("href", "/help/activities/UserTask")


def test_a_number_keeps_its_digits_through_open_and_save(visitors: VisitorFactory) -> None:
    page = visitors("designer").page
    made, drawing = open_draft(page)
    page.get_by_role("tab", name="Variables").click()
    page.locator("[data-member=default]").fill("12345678901234567.890")
    page.locator(".canvas").click(position={"x": 20, "y": 20})
    drawing.wait_until_saved()
    page.reload()
    drawing = Drawing(page)
    page.get_by_role("tab", name="Variables").click()
    expect(page.locator("[data-member=default]")).to_have_value("12345678901234567.890")
    drawing.select("start")
    drawing.type("name", "Begin")
    drawing.wait_until_saved()
    assert '"defaultValue":12345678901234567.890' in page.request.get(f"/api/v1/definitions/{made}").text()


def test_a_flow_is_drawn_with_the_keyboard_alone(visitors: VisitorFactory) -> None:
    visitor = visitors("designer")
    page = visitor.page
    empty = leave(f"browser-{next(_numbers)}") | {"transitions": []}
    empty["nodes"] = empty["nodes"][:1]
    made, drawing = open_draft(page, empty)
    start = page.locator("[data-element-id=start]")
    start.focus()
    expect(page.locator(".props h2")).to_have_text("Start")
    page.keyboard.press("/")
    page.keyboard.type("user")
    visitor.check_accessibility()
    page.keyboard.press("Enter")
    expect(page.locator("[data-element-id=userTask]")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("end")
    page.keyboard.press("Enter")
    expect(page.locator(".djs-connection")).to_have_count(2)
    page.keyboard.press("Alt+ArrowLeft")
    expect(page.locator(".djs-connection[data-element-id='→t2']")).to_be_focused()
    page.keyboard.press("Alt+ArrowLeft")
    expect(page.locator("[data-element-id=userTask]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(drawing.field("name").locator("input")).to_be_focused()
    drawing.wait_until_saved()
    ends = [(each["sourceNodeId"], each["targetNodeId"]) for each in stored(page, made)["transitions"]]
    assert ends == [("start", "userTask"), ("userTask", "end")]


def test_steps_are_copied_into_another_definition(visitors: VisitorFactory) -> None:
    visitor = visitors("designer")
    page = visitor.page
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    _, drawing = open_draft(page)
    drawing.select("approve")
    page.keyboard.down("Shift")
    page.locator("[data-element-id=yes]").click()
    page.keyboard.up("Shift")
    expect(page.locator(".props h2")).to_have_text("2 elements selected")
    page.keyboard.press("Control+c")
    other, drawing = open_draft(page)
    page.locator(".canvas").click(position={"x": 20, "y": 20})
    page.mouse.move(*_place(page, 420, 480))
    page.keyboard.press("Control+v")
    expect(page.locator(".djs-shape")).to_have_count(6)
    expect(page.locator(".djs-connection")).to_have_count(4)
    drawing.wait_until_saved()
    pasted = stored(page, other)
    assert [node["id"] for node in pasted["nodes"][4:]] == ["approve2", "yes2"]
    assert pasted["transitions"][3]["condition"] == "outcome == 'approved'"
    page.keyboard.press("Control+x")
    expect(page.locator(".djs-shape")).to_have_count(4)


def _place(page: Page, x: float, y: float) -> tuple[float, float]:
    box = page.locator(".canvas").bounding_box()
    assert box is not None
    return box["x"] + x, box["y"] + y


def test_a_step_dropped_on_a_line_goes_between(visitors: VisitorFactory) -> None:
    page = visitors("designer").page
    made, drawing = open_draft(page)
    line = page.locator(".djs-connection[data-element-id='→t1'] .line").bounding_box()
    canvas = page.locator(".canvas").bounding_box()
    assert line is not None and canvas is not None
    drawing.drag("Log", line["x"] + line["width"] / 2 - canvas["x"], line["y"] - canvas["y"])
    drawing.wait_until_saved()
    after = stored(page, made)
    ends = {each["id"]: (each["sourceNodeId"], each["targetNodeId"]) for each in after["transitions"]}
    assert ends["t1"] == ("start", "log")
    assert ends["t4"] == ("log", "approve")
    places = {node["id"]: node["x"] for node in after["nodes"]}
    assert places["start"] + 172 < places["log"] and places["log"] + 172 < places["approve"]


def test_an_expression_is_completed_and_checked_at_its_column(visitors: VisitorFactory) -> None:
    visitor = visitors("designer")
    page = visitor.page
    _, drawing = open_draft(page)
    drawing.select("approve")
    title = drawing.field("Title").locator("textarea")
    title.click()
    title.press_sequentially("For {{da")
    options = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    expect(options.first).to_contain_text("days")
    visitor.check_accessibility()
    title.press("Enter")
    expect(title).to_have_value("For {{days")
    expect(drawing.field("Title")).to_contain_text("Column 5")
    expect(title).to_have_attribute("aria-invalid", "true")
    title.press_sequentially("}}")
    expect(drawing.field("Title").locator(".err")).to_have_count(0)


def test_a_problem_leads_to_its_step_and_field(visitors: VisitorFactory) -> None:
    page = visitors("designer").page
    broken = leave(f"browser-{next(_numbers)}")
    broken["nodes"][1]["properties"]["Title"] = "Leave {{days"
    _, drawing = open_draft(page, broken)
    row = page.locator(".problem.faulted")
    expect(row).to_contain_text("Approve")
    expect(page.locator("[data-element-id=approve] .badge.err")).to_be_visible()
    row.get_by_role("button").first.click()
    expect(drawing.field("Title").locator("textarea")).to_be_focused()
    drawing.type("Title", "Leave {{days}}")
    expect(page.locator(".problem")).to_have_count(0)
    expect(page.locator("[data-element-id=approve] .badge")).to_have_count(0)


def test_publishing_tells_all_that_is_wrong(visitors: VisitorFactory) -> None:
    visitor = visitors("designer")
    page = visitor.page
    broken = leave(f"browser-{next(_numbers)}")
    broken["nodes"][1]["properties"] = {"Title": "Leave {{days"}
    broken["transitions"][1]["condition"] = "outcome =="
    open_draft(page, broken)
    page.get_by_role("button", name="Publish…").click()
    dialog = page.locator("dialog[open]")
    expect(dialog.locator(".publish-problems li")).to_have_count(3)
    visitor.check_accessibility()
    dialog.get_by_role("button", name="Show problems").click()
    expect(page.locator(".problem.faulted")).to_have_count(3)
    expect(page.get_by_role("button", name="Publish…")).to_be_focused()


@pytest.mark.parametrize("keep", ["theirs", "mine"])
def test_a_stale_save_shows_both_sides_and_overwrites_nothing(visitors: VisitorFactory, keep: str) -> None:
    visitor = visitors("designer")
    visitor.expected_statuses = {412}
    page = visitor.page
    made, drawing = open_draft(page)
    theirs = stored(page, made)
    theirs["nodes"][2]["name"] = "Of course"
    call(page, "PUT", f"/definitions/{made}", theirs, **{"If-Match": f'"{theirs["revision"]}"'})
    drawing.select("approve")
    drawing.type("name", "Mine")
    dialog = page.locator("dialog[open]")
    expect(dialog).to_contain_text("designer saved this draft")
    expect(dialog).to_contain_text("Step: Mine")
    visitor.check_accessibility()
    assert [node["name"] for node in stored(page, made)["nodes"]] == ["Start", "Approve", "Of course", "Refused"]
    if keep == "theirs":
        dialog.get_by_role("button", name="Reload theirs").click()
        expect(page.locator("[data-element-id=yes]")).to_contain_text("Of course")
        drawing.type("name", "After all")
        drawing.wait_until_saved()
        assert [node["name"] for node in stored(page, made)["nodes"]] == ["Start", "After all", "Of course", "Refused"]
    else:
        dialog.get_by_role("button", name="Keep mine as a copy").click()
        expect(page.locator(".pill")).to_contain_text("v2 draft")
        expect(page.locator("[data-element-id=approve]")).to_contain_text("Mine")
        assert stored(page, made)["nodes"][1]["name"] == "Approve"


def test_work_goes_on_offline_and_is_saved_afterwards(visitors: VisitorFactory) -> None:
    visitor = visitors("designer")
    page = visitor.page
    made, drawing = open_draft(page)
    drawing.select("approve")
    page.route("**/api/v1/**", lambda route: route.abort())
    drawing.type("name", "Offline")
    offline = page.locator(".save-state").get_by_text("Offline, 1 change here")
    again = page.get_by_role("button", name="Try again")
    for _ in range(3):  # each failure makes the next try of its own later, so that the last click comes before it
        with page.expect_event("requestfailed"):
            again.click()
        expect(offline).to_be_visible()
    page.unroute("**/api/v1/**")
    again.click()
    drawing.wait_until_saved()
    assert stored(page, made)["nodes"][1]["name"] == "Offline"
    visitor.complaints = [line for line in visitor.complaints if "net::ERR_FAILED" not in line]


def test_what_could_not_be_saved_is_offered_on_the_next_visit(visitors: VisitorFactory) -> None:
    visitor = visitors("designer")
    page = visitor.page
    page.on("dialog", lambda dialog: dialog.accept())
    made, drawing = open_draft(page)
    drawing.select("approve")
    page.route("**/api/v1/**", lambda route: route.abort())
    drawing.type("name", "Kept here")
    expect(page.locator(".save-state")).to_contain_text("Offline")
    page.goto("/designer")
    page.unroute("**/api/v1/**")
    page.goto(f"/designer/{made}")
    drawing = Drawing(page)
    dialog = page.locator("dialog[open]")
    expect(dialog).to_contain_text("were not saved")
    visitor.check_accessibility()
    dialog.get_by_role("button", name="Restore").click()
    expect(page.locator("[data-element-id=approve]")).to_contain_text("Kept here")
    drawing.wait_until_saved()
    assert stored(page, made)["nodes"][1]["name"] == "Kept here"
    page.reload()
    Drawing(page)
    expect(page.locator("dialog[open]")).to_have_count(0)
    visitor.complaints = [line for line in visitor.complaints if "net::ERR_FAILED" not in line]


def test_a_published_version_is_read_only_and_leads_to_the_next(visitors: VisitorFactory) -> None:
    visitor = visitors("designer")
    page = visitor.page
    made = make(page)
    call(page, "POST", f"/definitions/{made}/publish")
    page.goto(f"/designer/{made}")
    drawing = Drawing(page)
    expect(page.locator(".reading-note")).to_contain_text("Version 1 is published")
    expect(page.locator(".palette")).to_have_count(0)
    drawing.select("approve")
    expect(drawing.field("name").locator("input")).not_to_be_editable()
    page.keyboard.press("Delete")
    expect(page.locator(".djs-shape")).to_have_count(4)
    visitor.check_accessibility()
    page.get_by_role("button", name="New version").click()
    expect(page.locator(".pill")).to_contain_text("v2 draft")
    expect(page.locator(".palette")).to_be_visible()


@pytest.mark.parametrize("width", [360, 800])
def test_a_narrow_window_shows_diagram_and_problems(visitors: VisitorFactory, width: int) -> None:
    visitor = visitors("designer", width=width, height=760)
    page = visitor.page
    made, _ = open_draft(page)
    expect(page.locator(".narrow-note")).to_be_visible()
    expect(page.locator(".palette")).to_be_hidden()
    expect(page.locator(".djs-shape")).to_have_count(4)
    expect(page.get_by_role("tab", name="Problems")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    visitor.check_accessibility()
    before = stored(page, made)
    page.locator("[data-element-id=approve]").focus()
    page.keyboard.press("Delete")
    expect(page.locator(".djs-shape")).to_have_count(4)
    assert stored(page, made) == before
