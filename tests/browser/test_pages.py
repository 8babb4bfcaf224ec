"""The pages in a real browser: keys, drafts, the faster colleague, phones, both languages."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import VisitorFactory
from tests.browser.rest import Rest

PHONE = 360
OPERATORS_PAGES = [
    "/inbox?scope=all",
    "/start",
    "/start/leave-request",
    "/requests",
    "/designer",
    "/monitor",
    "/admin/operations",
    "/account",
]


LONGEST = "Ohne-Leerzeichen-" * 29 + "500 Ze."


def start_leave(visitors: VisitorFactory, *reasons: str) -> None:
    rest = Rest(visitors("employee"))
    for reason in reasons:
        variables = {"from": "2027-03-01", "to": "2027-03-05", "reason": reason}
        rest.start("leave-request", variables, title=reason)


def open_inbox(page: Page, keyword: str) -> None:
    page.goto(f"/inbox?keyword={keyword}")
    expect(page.locator("html[data-ready]")).to_be_attached()


def test_a_task_is_decided_with_the_keyboard_alone(visitors: VisitorFactory) -> None:
    start_leave(visitors, "Keyboard first", "Keyboard second")
    page = visitors("manager").page
    open_inbox(page, "Keyboard")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#task")).to_contain_text("Keyboard second")
    expect(page.locator(".task-row.is-current a")).to_be_focused()
    page.keyboard.press("c")
    page.keyboard.type("a r j: letters are text here")
    page.keyboard.press("Escape")
    page.reload()
    expect(page.locator("#comment")).to_have_value("a r j: letters are text here")
    page.keyboard.press("a")
    expect(page.locator(".toast.completed")).to_contain_text("Approved")
    expect(page.locator("#task h2").first).to_be_focused()
    expect(page.locator("#task [data-drawn]")).to_be_attached()
    expect(page.locator("#task")).to_contain_text("Keyboard first")
    expect(page).to_have_url(re.compile(r"/inbox/[0-9a-f-]+\?keyword=Keyboard"))
    page.keyboard.press("r")
    expect(page.locator(".toast.completed").last).to_contain_text("Rejected")
    expect(page.locator("#list")).to_contain_text("Nothing matches")


def test_shortcuts_show_on_demand_and_the_focus_returns(visitors: VisitorFactory) -> None:
    page = visitors("manager").page
    page.goto("/inbox")
    expect(page.locator("html[data-ready]")).to_be_attached()
    page.keyboard.press("?")
    expect(page.locator("dialog#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog#keys")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("#keyword")).to_be_focused()


def test_who_was_slower_is_told_and_keeps_the_words(visitors: VisitorFactory) -> None:
    start_leave(visitors, "Contested")
    slow, fast = visitors("manager"), visitors("manager")
    slow.expected_statuses.add(422)
    for visitor in (slow, fast):
        open_inbox(visitor.page, "Contested")
        expect(visitor.page.locator("#task")).to_contain_text("Contested")
    fast.page.keyboard.press("a")
    expect(fast.page.locator(".toast.completed").first).to_be_visible()
    slow.page.locator("#comment").fill("Far too long")
    slow.page.locator(".decide button[value=rejected]").click()
    expect(slow.page.locator(".banner")).to_contain_text("Nothing was sent from you")
    expect(slow.page.locator("#task")).to_contain_text("Far too long")
    expect(slow.page.locator(".decide")).to_have_count(0)
    slow.check_accessibility()


def test_a_failed_decision_does_not_cost_the_words(visitors: VisitorFactory) -> None:
    start_leave(visitors, "Unlucky")
    visitor = visitors("manager")
    visitor.expected_statuses.add(503)
    page = visitor.page
    open_inbox(page, "Unlucky")
    page.locator("#comment").fill("Long thought about")
    page.route("**/complete*", lambda route: route.fulfill(status=503, body="busy"))
    page.locator(".decide button[value=approved]").click()
    expect(page.locator(".toast.faulted")).to_be_visible()
    page.unroute("**/complete*")
    page.reload()
    expect(page.locator("#comment")).to_have_value("Long thought about")
    page.locator(".decide button[value=approved]").click()
    expect(page.locator(".toast.completed")).to_be_visible()
    kept = page.evaluate("Object.keys(sessionStorage).filter((name) => name.startsWith('waypost.draft'))")
    assert kept == []


def test_an_open_task_notices_that_it_is_over(visitors: VisitorFactory) -> None:
    start_leave(visitors, "Noticed")
    watching, deciding = visitors("manager").page, visitors("manager").page
    for page in (watching, deciding):
        open_inbox(page, "Noticed")
    watching.locator("#comment").fill("Let me think")
    deciding.keyboard.press("a")
    expect(watching.locator(".banner")).to_contain_text("Decided by you", timeout=20_000)
    expect(watching.locator(".decide")).to_have_count(0)
    expect(watching.locator("#task .quote").first).to_have_text("Let me think")


def test_filters_are_the_address(visitors: VisitorFactory) -> None:
    start_leave(visitors, "Filtered")
    page = visitors("operator").page
    page.goto("/monitor")
    expect(page.locator("html[data-ready]")).to_be_attached()
    page.locator("#keyword").fill("Filtered")
    expect(page).to_have_url(re.compile(r"/monitor\?keyword=Filtered$"))
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("#announce")).to_have_text("1 to 1 of 1")
    page.locator(".counter.completed").click()
    expect(page).to_have_url(re.compile("keyword=Filtered&status=Completed"))
    page.go_back()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_a_date_can_be_typed_into_the_filters(visitors: VisitorFactory) -> None:
    page = visitors("operator").page
    page.goto("/monitor")
    expect(page.locator("html[data-ready]")).to_be_attached()
    page.locator(".more-filters summary").click()
    page.locator("[name=createdFrom]").focus()
    # Each digit of the year makes a whole date: none of them may take the field away.
    page.keyboard.type("03032027", delay=20)
    page.locator("[name=starter]").fill("employee")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"starter=employee&createdFrom=2027-03-03"))


@pytest.mark.parametrize(("language", "dark"), [("zh", True)])
def test_pages_fit_a_phone(visitors: VisitorFactory, language: str, dark: bool) -> None:
    visitor = visitors("operator", width=PHONE, height=780, dark=dark, language=language)
    for path in OPERATORS_PAGES:
        visitor.page.goto(path)
        expect(visitor.page.locator("html[data-ready]")).to_be_attached()
        width = visitor.page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE, f"{path} scrolls sideways: {width} px"
        visitor.check_accessibility()
    expect(visitor.page.locator("html")).to_have_attribute("lang", "zh-CN" if language == "zh" else "en")


@pytest.mark.parametrize("width", [1440, PHONE])
def test_the_longest_title_breaks_its_lines(visitors: VisitorFactory, width: int) -> None:
    start_leave(visitors, LONGEST)
    page = visitors("operator", width=width, height=900).page
    page.goto("/monitor?keyword=Ohne-Leerzeichen")
    expect(page.locator("html[data-ready]")).to_be_attached()
    row, heading = page.locator("a.main-link").first, page.locator(".page-head h2")
    fits = "it => it.scrollWidth <= it.clientWidth + 1 && it.getBoundingClientRect().right <= innerWidth"
    assert row.evaluate(fits)
    row.click()
    expect(heading).to_have_text(LONGEST)
    assert heading.evaluate(fits)


def test_the_map_beside_a_task_shows_the_whole_flow(visitors: VisitorFactory) -> None:
    start_leave(visitors, "Mapped")
    page = visitors("manager").page
    open_inbox(page, "Mapped")
    expect(page.locator("#task [data-drawn]")).to_be_attached()
    window = page.locator("#task .viewer").bounding_box()
    assert window is not None
    nodes = page.locator("#task .node .box")
    expect(nodes).to_have_count(5)
    for node in nodes.all():
        box = node.bounding_box()
        assert box is not None
        assert window["x"] <= box["x"]
        assert box["x"] + box["width"] <= window["x"] + window["width"]
    expect(page.locator("#task .node.waiting .halo")).to_be_visible()


def test_a_stretched_comment_field_does_not_break_the_content_policy(visitors: VisitorFactory) -> None:
    start_leave(visitors, "Stretched one", "Stretched two")
    page = visitors("manager").page
    open_inbox(page, "Stretched")
    field = page.locator("#comment").bounding_box()
    assert field is not None
    corner = (field["x"] + field["width"] - 5, field["y"] + field["height"] - 5)
    page.mouse.move(*corner)
    page.mouse.down()
    page.mouse.move(corner[0], corner[1] + 40)
    page.mouse.up()
    assert page.locator("#comment").get_attribute("style")
    page.locator(".task-row a", has_text="Leave").last.click()
    expect(page.locator("#task")).to_contain_text("Stretched two")
    # The visitor complains at the end when anything broke the policy.
    expect(page.locator(".task-row.is-current a")).to_be_visible()


def test_a_phone_shows_the_list_or_the_task(visitors: VisitorFactory) -> None:
    start_leave(visitors, "On the phone")
    page = visitors("manager", width=PHONE, height=780).page
    open_inbox(page, "phone")
    expect(page.locator("#task")).to_be_hidden()
    page.get_by_role("link", name="Leave from").first.click()
    expect(page.locator("#task")).to_be_visible()
    expect(page.locator("#list")).to_be_hidden()
    page.locator(".back").click()
    expect(page.locator("#list")).to_be_visible()
