"""What a step tells people: drawn in the designer, published, run, and read by those whom it names (spec 10)."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import VisitorFactory
from tests.browser.drawing import Drawing
from tests.browser.rest import Rest
from tests.browser.test_designer import call, leave, open_draft, stored

TOLD = {"name": "__listenerRecipients", "type": "array", "defaultValue": ["operator", "nobody-here"]}


def listener(drawing: Drawing, index: int, member: str, control: str = "input, textarea") -> None:
    """Expect the focus at a member of a listener."""
    expect(drawing.field(f"listeners.{index}.{member}").locator(control).first).to_be_focused()


def test_what_a_step_tells_is_drawn_published_and_read(visitors: VisitorFactory) -> None:
    visitor = visitors("designer")
    page = visitor.page
    document = leave("browser-listeners")
    document["variables"].append(TOLD)
    made, drawing = open_draft(page, document)
    drawing.select("approve")
    page.locator(".props summary", has_text="Notifications").press("Enter")
    add = page.get_by_role("button", name="Add notification", exact=True)
    add.press("Enter")
    listener(drawing, 0, "expression")
    page.keyboard.type("For {{days")
    expect(drawing.field("listeners.0.expression").locator(".err")).to_be_visible()
    page.keyboard.type("}} days")
    expect(drawing.field("listeners.0.expression").locator(".err")).to_have_count(0)
    drawing.type("listeners.0.channel", "Leave is asked for")
    add.press("Enter")
    drawing.type("listeners.1.channel", "Leave is settled")
    page.get_by_role("group", name="Notification 2").get_by_role("radio", name="ends").press("Space")
    visitor.check_accessibility()
    page.get_by_role("button", name="Move Notification 2 up", exact=True).press("Enter")
    expect(drawing.field("listeners.0.channel").locator("input")).to_have_value("Leave is settled")
    expect(page.get_by_role("button", name="Move Notification 1 down", exact=True)).to_be_focused()
    drawing.wait_until_saved()
    assert [(one["on"], one["channel"]) for one in stored(page, made)["nodes"][1]["listeners"]] == [
        ("leave", "Leave is settled"),
        ("enter", "Leave is asked for"),
    ]
    call(page, "POST", f"/definitions/{made}/publish")
    Rest(visitors("employee")).start("browser-listeners", {"days": 3}, title="Told by its step")
    operator = visitors("operator").page
    operator.goto("/notifications")
    card = operator.locator(".notices", has_text="Told by its step")
    expect(card).to_contain_text("Leave is asked for")
    expect(card).to_contain_text("For 3 days")
    expect(card).not_to_contain_text("Leave is settled")


def test_listeners_are_taken_back_and_their_problems_lead_to_them(visitors: VisitorFactory) -> None:
    page = visitors("designer").page
    document = leave("browser-listeners-broken")
    document["nodes"][1]["listeners"] = [
        {"type": "pigeon", "on": "enter", "expression": "a"},
        {"type": "notification", "on": "noon", "expression": "b"},
    ]
    made, drawing = open_draft(page, document)
    before = stored(page, made)["nodes"]
    expect(page.locator(".problem.faulted")).to_have_count(2)
    page.locator(".problem.faulted", has_text="noon").get_by_role("button").first.click()
    expect(drawing.field("listeners.1.on").locator(".err")).to_contain_text("noon")
    expect(drawing.field("listeners.1.on").get_by_role("radio").first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(drawing.field("listeners.1.on").locator(".err")).to_have_count(0)
    expect(drawing.field("listeners.0.type").locator(".err")).to_contain_text("pigeon")
    page.get_by_role("button", name="Remove Notification 1", exact=True).press("Enter")
    expect(page.get_by_role("button", name="Remove Notification 1", exact=True)).to_be_focused()
    expect(page.locator(".problem.faulted")).to_have_count(0)
    page.get_by_role("button", name="Remove Notification 1", exact=True).press("Enter")
    expect(page.get_by_role("button", name="Add notification", exact=True)).to_be_focused()
    undo = page.locator(".tools .icon-btn").first
    while undo.is_enabled():
        undo.click()
    expect(drawing.field("listeners.1.on").locator(".err")).to_contain_text("noon")
    drawing.wait_until_saved()
    assert stored(page, made)["nodes"] == before
