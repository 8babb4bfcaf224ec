"""Help: a page for each screen, and every activity with a text for each property."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import visit
from tests.support.web import CATALOG, Site, make_site
from webapp.web.help import TOPICS


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


def test_every_activity_is_described(site: Site) -> None:
    page = visit(site, "emma").get("/help/activities")
    for descriptor in site.services.catalog.descriptors():
        assert f'id="{descriptor.type}"' in page.html
        assert CATALOG.text(f"{descriptor.key}.title") in page.text
        for one in descriptor.properties:
            assert CATALOG.text(f"{descriptor.key}.{one.name}.title") in page.text


def test_every_function_is_described(site: Site) -> None:
    page = visit(site, "emma").get("/help/expressions").text
    assert "upper(text) The text in capital letters" in page
    assert "round(number, digits?)" in page and "{{ employee }}" in page


def test_an_unknown_page_is_not_found(site: Site) -> None:
    page = visit(site, "emma").get("/help/nothing")
    assert page.status == 404
    assert "Request " in page.text
