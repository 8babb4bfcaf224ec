"""Notifications in a real browser: the bell, the list, what is chosen, and the pages of their administration."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import VisitorFactory
from tests.browser.rest import Rest

PHONE = 360
ADMINISTRATORS_PAGES = [
    "/notifications?show=all",
    "/account/notifications",
    "/admin/deliveries",
    "/admin/endpoints",
    "/admin/endpoints/new",
    "/admin/endpoints/new?kind=webhook",
    "/admin/notifications/templates",
    "/admin/notifications/templates/TaskCreated",
    "/d/nothing",
    "/help/notices",
]


def start_leave(visitors: VisitorFactory, title: str) -> None:
    variables = {"from": "2027-03-01", "to": "2027-03-05", "reason": title}
    Rest(visitors("employee")).start("leave-request", variables, title=title)


def opened(page: Page, path: str) -> None:
    page.goto(path)
    expect(page.locator("html[data-ready]")).to_be_attached()


def unread(page: Page) -> int:
    return int(page.locator(".bell").get_attribute("data-count") or "")


def test_the_bell_rings_by_itself_and_leads_to_what_it_rang_for(visitors: VisitorFactory) -> None:
    visitor = visitors("manager")
    page = visitor.page
    page.clock.install()
    opened(page, "/requests")
    before = unread(page)
    start_leave(visitors, "Bell rings")
    page.clock.fast_forward(16_000)
    expect(page.locator(".bell")).to_have_attribute("data-count", str(before + 1))
    expect(page.locator("#announce")).to_have_text(f"Notifications, unread: {before + 1}")
    page.locator(".bell").press("Enter")
    page.get_by_role("link", name="All notifications").press("Enter")
    expect(page.locator("html[data-ready]")).to_be_attached()
    card = page.locator(".notices", has_text="Bell rings")
    visitor.check_accessibility()
    card.get_by_role("link").last.press("Enter")
    expect(page).to_have_url(re.compile("/inbox/"))
    expect(page.locator("#task")).to_contain_text("Bell rings")
    expect(page.locator(".bell")).to_have_attribute("data-count", str(before))


def test_the_bell_opens_a_panel_that_the_keyboard_uses(visitors: VisitorFactory) -> None:
    visitor = visitors("manager")
    page = visitor.page
    opened(page, "/requests")
    for title in ("In the panel", "Above it"):
        start_leave(visitors, title)
    opened(page, "/requests")
    before = unread(page)
    bell, panel = page.get_by_role("button", name="Notifications, unread"), page.locator("#bell-panel")
    expect(bell).to_have_attribute("aria-expanded", "false")
    bell.press("Space")
    expect(bell).to_have_attribute("aria-expanded", "true")
    expect(page.locator("#announce")).to_contain_text("unread shown")
    visitor.check_accessibility()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(bell).to_be_focused()
    bell.press("Enter")
    expect(panel.get_by_role("link", name="All notifications")).to_be_visible()
    page.keyboard.press("Tab")
    expect(panel.get_by_role("button", name="Mark all as read")).to_be_focused()
    row = panel.locator("section", has_text="Above it").locator(".notice").first
    row.get_by_role("button").press("Enter")
    expect(panel.locator("section", has_text="Above it")).to_have_count(0)
    expect(panel.locator("section", has_text="In the panel").locator(".title").first).to_be_focused()
    expect(page.locator(".bell")).to_have_attribute("data-count", str(before - 1))
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Escape")
    expect(bell).to_be_focused()
    page.get_by_role("heading", level=1).click()
    bell.click()
    expect(panel).to_be_visible()
    page.locator("#main").click(position={"x": 2, "y": 2})
    expect(panel).to_be_hidden()


def test_a_failed_panel_says_why_and_closes(visitors: VisitorFactory) -> None:
    visitor = visitors("designer")
    visitor.expected_statuses.add(503)
    page = visitor.page
    opened(page, "/requests")
    page.route("**/notifications/latest", lambda route: route.fulfill(status=503))
    page.locator(".bell").press("Enter")
    expect(page.locator(".toast.faulted")).to_be_visible()
    expect(page.locator("#bell-panel")).to_be_hidden()
    page.unroute("**/notifications/latest")
    page.locator(".bell").press("Enter")
    expect(page.locator("#bell-panel")).to_contain_text("All notifications")


def test_the_panel_covers_a_phone(visitors: VisitorFactory) -> None:
    visitor = visitors("manager", width=PHONE, height=780, dark=True, language="zh")
    page = visitor.page
    opened(page, "/requests")
    page.locator(".bell").click()
    expect(page.locator("#bell-panel .bell-foot")).to_be_visible()
    box = page.locator("#bell-panel").bounding_box()
    assert box is not None and box["x"] == 0 and box["width"] == PHONE
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    visitor.check_accessibility()


def test_a_notice_is_marked_with_the_keyboard_and_the_focus_goes_on(visitors: VisitorFactory) -> None:
    page = visitors("manager").page
    opened(page, "/inbox")
    start_leave(visitors, "Marked first")
    start_leave(visitors, "Marked second")
    opened(page, "/notifications")
    before = unread(page)
    row = page.locator(".notices", has_text="Marked second").locator(".notice").first
    row.get_by_role("button").press("Enter")
    expect(page.locator(".notices", has_text="Marked second")).to_have_count(0)
    expect(page.locator(".notices", has_text="Marked first").locator(".notice .title").first).to_be_focused()
    expect(page.locator(".bell")).to_have_attribute("data-count", str(before - 1))
    page.get_by_role("link", name="All", exact=True).click()
    expect(page).to_have_url(re.compile(r"\?show=all$"))
    expect(page.locator(".notices", has_text="Marked second")).to_be_visible()


def test_a_task_is_read_when_somebody_reads_it_not_when_the_page_shows_it(visitors: VisitorFactory) -> None:
    page = visitors("manager").page
    opened(page, "/requests")
    start_leave(visitors, "Shown by itself")
    opened(page, "/inbox?keyword=Shown+by+itself")
    before, row = unread(page), page.locator(".task-row.is-current")
    expect(page.locator("#task")).to_contain_text("Shown by itself")
    opened(page, "/inbox?keyword=Shown+by+itself")
    assert unread(page) == before
    expect(row).to_have_class(re.compile("is-unread"))
    comment, hint = page.locator("#task").get_by_role("textbox", name="Comment"), page.locator("#comment-mentions")
    expect(hint).to_be_hidden()
    comment.press_sequentially("Ask @")
    expect(hint).to_be_visible()
    comment.fill("")
    expect(hint).to_be_hidden()
    expect(row).not_to_have_class(re.compile("is-unread"))
    expect(page.locator(".bell")).to_have_attribute("data-count", str(before - 1))


def test_what_is_chosen_is_kept_and_a_faster_window_loses_nothing(visitors: VisitorFactory) -> None:
    one, two = visitors("designer"), visitors("designer")
    two.expected_statuses.add(412)
    for visitor in (one, two):
        opened(visitor.page, "/account/notifications")
    name = "Copied to me: In Waypost"
    one.page.get_by_role("checkbox", name=name).press("Space")
    one.page.get_by_role("button", name="Save").press("Enter")
    expect(one.page.locator(".toast.completed")).to_contain_text("Saved")
    expect(one.page.get_by_role("checkbox", name=name)).not_to_be_checked()
    two.page.get_by_role("checkbox", name="Mentioned: In Waypost").press("Space")
    two.page.get_by_role("button", name="Save").press("Enter")
    expect(two.page.locator(".banner")).to_contain_text("Saved elsewhere")
    expect(two.page.get_by_role("checkbox", name="Mentioned: In Waypost")).not_to_be_checked()
    two.check_accessibility()
    two.page.get_by_role("button", name="Save").press("Enter")
    expect(two.page.locator(".toast.completed")).to_contain_text("Saved")


def test_a_name_goes_where_the_caret_is_and_the_preview_follows(visitors: VisitorFactory) -> None:
    visitor = visitors("admin")
    page = visitor.page
    opened(page, "/admin/notifications/templates/TaskUrged")
    title = page.get_by_label("Title")
    title.fill("Soon: ")
    page.get_by_role("button", name=re.compile(r"^\{starter\}")).click()
    expect(title).to_have_value("Soon: {starter}")
    expect(title).to_be_focused()
    expect(page.locator("#preview")).to_contain_text("Soon: ")
    expect(page.locator("#preview")).not_to_contain_text("{starter}")
    page.keyboard.type(" {nobody}")
    expect(page.locator("#preview")).to_contain_text("{nobody}")
    visitor.check_accessibility()
    page.get_by_role("button", name="Save as a new version").press("Enter")
    expect(page.locator(".toast.completed")).to_contain_text("Saved as version 1")


@pytest.mark.parametrize(("language", "dark"), [("zh", True), ("en", False)])
def test_pages_fit_a_phone(visitors: VisitorFactory, language: str, dark: bool) -> None:
    visitor = visitors("admin", width=PHONE, height=780, dark=dark, language=language)
    visitor.expected_statuses.add(404)
    for path in ADMINISTRATORS_PAGES:
        opened(visitor.page, path)
        width = visitor.page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE, f"{path} scrolls sideways: {width} px"
        visitor.check_accessibility()


def test_an_endpoint_is_made_tried_out_and_its_dead_letter_settled(visitors: VisitorFactory) -> None:
    visitor = visitors("admin")
    page = visitor.page
    opened(page, "/admin/endpoints")
    page.get_by_role("link", name="New endpoint").press("Enter")
    page.get_by_role("link", name="Webhook", exact=True).press("Enter")
    page.get_by_label("Name").fill("Nobody listens")
    page.get_by_label("Address").fill("https://nobody.invalid/hook")
    page.get_by_label("Secret").fill("sixteen letters and more")
    page.get_by_label("Topics of events").fill("workflow.task.created")
    page.get_by_role("button", name="Make it").press("Enter")
    expect(page.get_by_role("heading", name="Nobody listens", level=2)).to_be_visible()
    page.get_by_role("button", name="Try it out").press("Enter")
    expect(page.locator(".toast.faulted")).to_contain_text("The test message was not taken")
    visitor.check_accessibility()
    start_leave(visitors, "Told to nobody")
    page.get_by_role("link", name="Its deliveries").press("Enter")
    settling = page.get_by_role("button", name="Mark as settled")
    for _ in range(60):
        # While it is being sent nothing can be done with it.
        if settling.count():
            break
        page.wait_for_timeout(500)
        page.get_by_role("link", name="Reload").press("Enter")
        expect(page.locator("html:not(.is-loading)")).to_be_attached()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-selected]")).to_have_text("1")
    settling.press("Enter")
    expect(page.locator(".toast").first).to_be_visible()
    page.locator("a.main-link").first.press("Enter")
    expect(page.get_by_role("heading", name="Attempts")).to_be_visible()
    visitor.check_accessibility()
