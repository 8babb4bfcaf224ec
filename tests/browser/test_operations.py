"""Operations in a real browser: who runs the installation sees how tenants' databases are doing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import VisitorFactory
from tests.support.server import ServerProcess


@pytest.fixture(scope="module")
def tenant(server: ServerProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tenant with a database of its own, which then goes away."""
    path: Path = tmp_path_factory.mktemp("tenant") / "north.db"
    server.flask(f"tenant add north --name North --database sqlite:///{path}")
    for file in path.parent.glob("north.db*"):
        file.unlink()
    path.mkdir()
    return "north"


def test_a_database_that_is_away_is_seen_by_the_keyboard_on_any_screen(visitors: VisitorFactory, tenant: str) -> None:
    visitor = visitors("admin")
    page = visitor.page
    page.get_by_role("link", name="Operations").press("Enter")
    expect(page).to_have_url(re.compile("/admin/operations$"))
    row = page.get_by_role("row", name=tenant)
    for _ in range(80):
        # The poller learns of the tenant within five seconds, and looks into its database then.
        if row.get_by_text("Unreachable").count():
            break
        page.wait_for_timeout(500)
        page.get_by_role("link", name="Reload").press("Enter")
        expect(page.locator("html[data-ready]")).to_be_attached()
    expect(row).to_contain_text("It is tried again by itself")
    visitor.check_accessibility()
    page.get_by_role("link", name="Help").press("Enter")
    expect(page.get_by_role("heading", name="Operations", level=2)).to_be_visible()
    visitor.check_accessibility()
    for dark in (False, True):
        phone = visitors("admin", width=360, dark=dark)
        phone.page.goto("/admin/operations")
        expect(phone.page.get_by_text("Unreachable")).to_be_visible()
        phone.check_accessibility()
        assert phone.page.evaluate("document.documentElement.scrollWidth") <= 360
    # On a phone it is behind More.
    phone.page.goto("/inbox")
    phone.page.get_by_role("button", name="More").click()
    phone.page.locator("dialog[open]").get_by_role("link", name="Operations").click()
    expect(phone.page).to_have_url(re.compile("/admin/operations$"))
