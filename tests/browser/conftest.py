"""Fixtures of the browser journeys: one server and one Chromium a worker; each page watches what goes wrong on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.visitor import Visitor
from tests.support.server import ServerProcess

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
    """Mark every test of this folder, and keep those that share a server in one worker."""
    for item in items:
        if "tests/browser/" in item.nodeid:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A running server with demo accounts and sample definitions."""
    process = ServerProcess(tmp_path_factory.mktemp("browser"))
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


@pytest.fixture
def visitors(server: ServerProcess, browser: Browser, tmp_path: Path) -> Iterator[VisitorFactory]:
    """Opens browser windows signed in as an account; at the end no page may have had anything to complain about."""
    factory = VisitorFactory(server.address, browser)
    yield factory
    factory.close()


class VisitorFactory:
    """Makes visitors, each in a browser context of its own."""

    def __init__(self, address: str, browser: Browser) -> None:
        self._address = address
        self._browser = browser
        self._visitors: list[Visitor] = []

    def __call__(
        self, account: str | None, *, width: int = 1440, height: int = 900, dark: bool = False, language: str = "en"
    ) -> Visitor:
        """Return a visitor signed in as the account (None: not signed in)."""
        context = self._browser.new_context(
            base_url=self._address,
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            locale="zh-CN" if language == "zh" else "en-GB",
        )
        visitor = Visitor(context)
        self._visitors.append(visitor)
        if account is not None:
            visitor.sign_in(account)
        return visitor

    def close(self) -> None:
        """Close all windows and fail when a page had a console error or broke the content policy."""
        complaints = [line for visitor in self._visitors for line in visitor.complaints]
        for visitor in self._visitors:
            visitor.context.close()
        assert not complaints, "\n".join(complaints)
