"""Fixtures of the browser journeys: one server and one Chromium a group; each page watches what goes wrong on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.visitor import Visitor
from tests.browser.windows import Windows
from tests.support.server import ServerProcess

# As long as a visitor waits for anything else: five seconds are short on a busy machine.
expect.set_options(timeout=15_000)

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if "tests/browser/" in item.nodeid:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A running server with demo accounts and sample definitions."""
    settings = {"WAYPOST_HTTP_ALLOW": "127.0.0.1", "WAYPOST_POLL_INTERVAL_SECONDS": "1"}
    process = ServerProcess(tmp_path_factory.mktemp("browser"), settings=settings)
    process.prepare()
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, headless."""
    path = shutil.which("chromium")
    if path is None:
        message = "chromium is not installed: run make browser"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def windows(server: ServerProcess, browser: Browser) -> Iterator[Windows]:
    """The browser's contexts, each signed in once and lent to one visitor after the other."""
    found = Windows(browser, server.address)
    yield found
    found.close()


@pytest.fixture
def visitors(windows: Windows) -> Iterator[VisitorFactory]:
    """Opens browser windows signed in as an account; at the end no page may have had anything to complain about."""
    factory = VisitorFactory(windows)
    yield factory
    factory.close()


@pytest.fixture(scope="module")
def module_visitors(windows: Windows) -> Iterator[VisitorFactory]:
    """The same for windows that all tests of a module share."""
    factory = VisitorFactory(windows)
    yield factory
    factory.close()


class VisitorFactory:
    """Makes visitors; no two that are there at the same time share a browser context."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._visitors: list[Visitor] = []

    def __call__(
        self, account: str | None, *, width: int = 1440, height: int = 900, dark: bool = False, language: str = "en"
    ) -> Visitor:
        """Return a visitor signed in as the account (None: not signed in)."""
        visitor = self._windows.visitor(account, language)
        self._visitors.append(visitor)
        visitor.page.set_viewport_size({"width": width, "height": height})
        visitor.page.emulate_media(color_scheme="dark" if dark else "light")
        if account is not None:
            visitor.enter(account)
        return visitor

    def close(self) -> None:
        """Close all pages and fail when one had a console error or broke the content policy."""
        complaints = [line for visitor in self._visitors for line in visitor.complaints]
        for visitor in self._visitors:
            self._windows.give_back(visitor)
        assert not complaints, "\n".join(complaints)
