"""Help: a page for each screen, and every activity with a text for each property."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import visit
from tests.support.web import CATALOG, Site, make_site
from webapp.channels.signatures import signature
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.messages.catalog import Language
from webapp.web.activity_pages import page_of
from webapp.web.help import TOPICS
from webapp.web.shell import page_text


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = make_site(tmp_path)
    made.account("emma", "user")
    return made


@pytest.mark.parametrize("topic", ["", *(f"/{topic}" for topic in TOPICS)])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_screen_has_its_page_in_both_languages(site: Site, topic: str, language: str) -> None:
    visitor = visit(site, "emma")
    visitor.post("/language", language=language, next="/help")
    page = visitor.get(f"/help{topic}")
    assert page.status == 200
    assert page.html.count("<li>") >= 3 or topic == "/account"


def test_the_overview_leads_to_every_activity(site: Site) -> None:
    page = visit(site, "emma").get("/help/activities")
    for descriptor in site.services.catalog.descriptors():
        assert f'href="/help/activities/{descriptor.type}"' in page.html
        assert CATALOG.text(f"{descriptor.key}.title") in page.text
        assert CATALOG.text(f"{descriptor.key}.description") in page.text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_activity_has_its_page_with_all_its_properties_and_an_example(site: Site, language: Language) -> None:
    visitor = visit(site, "emma")
    visitor.post("/language", language=language, next="/help")
    for descriptor in site.services.catalog.descriptors():
        page = visitor.get(f"/help/activities/{descriptor.type}")
        assert page.status == 200
        for one in descriptor.properties:
            assert CATALOG.text(f"{descriptor.key}.{one.name}.title", {}, language) in page.text
            assert CATALOG.text(f"{descriptor.key}.{one.name}.help", {}, language) in page.text
        for outcome in descriptor.outcomes:
            assert f"<code>{outcome}</code>" in page.html
        for name in ("ends", "faults"):
            assert CATALOG.text(f"help.activity.{descriptor.type}.{name}", {}, language) in page.text
        assert descriptor.waits is CATALOG.has(f"help.activity.{descriptor.type}.waits") or descriptor.type in BUSY
        assert "data-diagram data-states=" in page.html


BUSY = ("Join", "Http")
"""Activities that take their time without suspending by themselves."""


def test_an_example_says_what_is_set_and_what_happens(site: Site) -> None:
    page = visit(site, "emma").get("/help/activities/UserTask")
    assert "What is set at Manager decides" in page.text
    assert "Title Leave of {{days}} days" in page.text
    assert "It is started with days = 3." in page.text
    assert "manager decides: Approved." in page.text
    assert "The way: Start → Manager decides → Granted." in page.text
    assert "The instance is Completed, with the outcome granted." in page.text


def test_an_example_tells_time_signals_workers_and_faults(site: Site) -> None:
    visitor = visit(site, "emma")
    assert "7 days pass." in visitor.get("/help/activities/Terminate").text
    assert "The instance is Terminated: No answer within a week." in visitor.get("/help/activities/Terminate").text
    signal = visitor.get("/help/activities/WaitSignal").text
    assert "It is started with the correlation id order-7." in signal
    assert "The signal payment.received comes for order-7 with paid = 120." in signal
    start = visitor.get("/help/activities/Start").text
    assert "The signal order.placed comes with orderId = 7 and starts an instance. 1 hour passes." in start
    worker = visitor.get("/help/activities/ExternalTask").text
    assert 'A worker that asked for invoice.print hands in invoice = "R-7".' in worker
    assert "The instance is Faulted: Only 2 left." in visitor.get("/help/activities/Fault").text


def test_an_activity_of_the_host_has_a_page_without_an_example(site: Site) -> None:
    descriptor = ActivityDescriptor(type="Own", category=Category.CUSTOM, icon="puzzle", waits=True, custom=True)
    with site.app.test_request_context():
        page = page_of(descriptor, page_text())
    assert page["example"] is None
    assert page["behaviour"]["waits"] == "Until its program goes on."
    assert page["properties"] == []


def test_an_unknown_activity_is_not_found(site: Site) -> None:
    assert visit(site, "emma").get("/help/activities/Nothing").status == 404


def test_every_function_is_described(site: Site) -> None:
    page = visit(site, "emma").get("/help/expressions").text
    assert "upper(text) The text in capital letters" in page
    assert "round(number, digits?)" in page and "{{ employee }}" in page


def test_an_unknown_page_is_not_found(site: Site) -> None:
    page = visit(site, "emma").get("/help/nothing")
    assert page.status == 404
    assert "Request " in page.text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_leaves_the_house_is_explained_in_both_languages(site: Site, language: Language) -> None:
    visitor = visit(site, "emma")
    visitor.post("/language", language=language, next="/help")
    page = visitor.get("/help/notices")
    for section in ("deliveries", "email", "webhook", "robots", "brokers", "texts"):
        assert CATALOG.text(f"help.notices.{section}.title", {}, language) in page.text
    assert "def is_genuine(secret, headers, body, now):" in page.html


def test_the_example_of_a_receiver_knows_what_the_webhook_sends(site: Site) -> None:
    shown = visit(site, "emma").get("/help/notices").html
    example = re.search(r"<pre[^>]*><code>(.*?)</code></pre>", shown, re.DOTALL)
    assert example is not None
    found: dict[str, Any] = {}
    exec(unescape(example.group(1)), found)  # noqa: S102 - the own example of the page, run as a reader would
    secret, body, now = "a secret of 16 letters", b'{"id": "1"}', 1_800_000_000
    headers = {"X-Waypost-Timestamp": str(now), "X-Waypost-Signature": signature(secret, now, body)}
    is_genuine = found["is_genuine"]
    assert is_genuine(secret, headers, body, now + 300)
    assert not is_genuine(secret, headers, body, now + 301)
    assert not is_genuine(secret, headers, body + b" ", now)
    assert not is_genuine("another secret, of 24", headers, body, now)
    assert not is_genuine(secret, {}, body, now)
