"""A person at a browser: signs in, walks through pages, and writes down what the browser complains about."""

from __future__ import annotations

import json
import re

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect

_WATCH_POLICY = """
document.addEventListener('securitypolicyviolation', (event) => {
  console.error('content policy: ' + event.violatedDirective + ' ' + event.blockedURI);
});
"""

AXE_OPTIONS = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}


def watch_policy(context: BrowserContext) -> None:
    """Have every page of a context write down what its content policy refuses."""
    context.add_init_script(_WATCH_POLICY)


GIVEN_UP = ("htmx:sendAbort", "htmx:afterRequest")
"""What htmx writes down of a request that a newer one, or the end of the page, has taken the place of.

One that failed is written down as ``htmx:sendError`` or ``htmx:responseError`` besides.
"""


class Visitor:
    """One page in a browser context."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.complaints: list[str] = []
        self.expected_statuses: set[int] = set()
        self.page: Page = context.new_page()
        self.page.set_default_timeout(15_000)
        self.page.on("console", self._note_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"page error at {self.page.url}: {error}"))

    def enter(self, account: str) -> None:
        """Come in as an account: signed in already, or by its password."""
        self.page.goto("/")
        if "/sign-in" in self.page.url:
            self.sign_in(account)

    def sign_in(self, account: str) -> None:
        """Sign in with a demo account, whose password is its name."""
        self.page.goto("/sign-in")
        self.page.locator("input[name=name]").fill(account)
        self.page.locator("input[name=password]").fill(account)
        self.page.locator("form[action='/sign-in'] button[type=submit]").click()
        expect(self.page).not_to_have_url(re.compile("/sign-in"))

    def check_accessibility(self) -> None:
        """Fail when axe finds anything on the page as it is now."""
        results = Axe().run(self.page, options=AXE_OPTIONS)
        findings = [
            f"{finding['id']}: {finding['help']}: {json.dumps([node['target'] for node in finding['nodes'][:5]])}"
            for finding in results.response["violations"]
        ]
        assert not findings, f"axe on {self.page.url}:\n" + "\n".join(findings)

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type != "error":
            return
        # The browser and htmx both write down an answer that the page handled.
        said = ("status of {}", "Status Error Code {}")
        if message.text.startswith(GIVEN_UP):
            return
        if any(words.format(status) in message.text for words in said for status in self.expected_statuses):
            return
        self.complaints.append(f"console at {self.page.url}: {message.text} ({message.location.get('url', '')})")
