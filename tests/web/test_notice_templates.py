"""The texts of notices: versions, names, preview, and who may write them (spec 10, Templates)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import actor_of, make_office, visit
from tests.support.web import CATALOG, Site
from webapp.engine.notifications.model import EventType
from webapp.engine.notifications.templates import NAMES
from webapp.messages.catalog import Language

PATH = "/admin/notifications/templates"
CREATED = f"{PATH}/TaskCreated"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = make_office(tmp_path)
    made.account("ada", "administrator")
    return made


@pytest.mark.parametrize("name", ["employee", "designer", "operator"])
def test_texts_are_for_administrators(site: Site, name: str) -> None:
    visitor = visit(site, name)
    assert visitor.get(PATH).status == 403
    assert visitor.get(CREATED).status == 403
    assert visitor.post(CREATED, title="Mine now", body="", enabled="true", version="0").status == 403
    assert visitor.post(f"{CREATED}/preview", title="x", body="").status == 403
    assert 'href="/admin/deliveries"' not in visitor.get("/inbox").html
    assert 'href="/admin/deliveries"' in visit(site, "ada").get("/inbox").html


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_event_with_texts_is_listed_and_opens(site: Site, language: Language) -> None:
    visitor = visit(site, "ada")
    visitor.post("/language", language=language, next=PATH)
    page = visitor.get(PATH)
    for event in EventType:
        assert (f'href="{PATH}/{event}"' in page.html) is (event in NAMES)
    for event, names in NAMES.items():
        editor = visitor.get(f"{PATH}/{event}")
        assert editor.status == 200
        assert site.services.notice_templates.built_in(event, language).title in editor.text
        for name in names:
            assert f'data-insert="{{{name}}}"' in editor.html
            assert CATALOG.text(f"notifications.name.{name}", {}, language) in editor.text


def test_a_text_is_kept_as_a_version(site: Site) -> None:
    visitor = visit(site, "ada")
    first = visitor.post(
        f"{CREATED}?language=en", title="Decide: {title}", body="By {starter}", enabled="true", version="0"
    )
    assert (first.status, first.location) == (303, f"{CREATED}?language=en")
    visitor.post(f"{CREATED}?language=en", title="Second: {title}", body="", enabled="true", version="1")
    versions = site.services.notice_templates.versions(actor_of(site, "ada"), EventType.TASK_CREATED, None, "en")
    assert [(one.version, one.title) for one in versions] == [(2, "Second: {title}"), (1, "Decide: {title}")]
    page = visitor.get(f"{CREATED}?language=en")
    assert 'value="Second: {title}"' in page.html and 'name="version" value="2"' in page.html
    old = visitor.get(f"{CREATED}?language=en&version=1")
    assert 'value="Decide: {title}"' in old.html and ">By {starter}</textarea>" in old.html
    assert "v2" in visitor.get(PATH).text


def test_a_text_of_a_category_stands_beside_the_one_for_all(site: Site) -> None:
    visitor = visit(site, "ada")
    address = f"{CREATED}?language=zh&category=People"
    assert visitor.post(address, title="人事：{title}", body="", enabled="true", version="0").location == address
    assert 'value="人事：{title}"' in visitor.get(address).html
    assert "人事" not in visitor.get(f"{CREATED}?language=zh").html
    assert "中文 · People · v1" in visitor.get(PATH).text


def test_one_can_be_switched_off(site: Site) -> None:
    visitor = visit(site, "ada")
    visitor.post(f"{CREATED}?language=en", title="Off with it", body="", version="0")
    (version,) = site.services.notice_templates.versions(actor_of(site, "ada"), EventType.TASK_CREATED, None, "en")
    assert version.enabled is False
    assert "English · v1 · off" in visitor.get(PATH).text


def test_what_is_wrong_stands_at_its_field_and_the_rest_stays(site: Site) -> None:
    refused = visit(site, "ada").post(f"{CREATED}?language=en", title=" ", body="My words", enabled="true", version="0")
    assert refused.status == 422
    assert 'aria-invalid="true"' in refused.html and ">My words</textarea>" in refused.html
    assert not site.services.notice_templates.list(actor_of(site, "ada"))


def test_who_was_slower_is_told_and_keeps_the_words(site: Site) -> None:
    visitor = visit(site, "ada")
    visitor.post(f"{CREATED}?language=en", title="Faster", body="", enabled="true", version="0")
    stale = visitor.post(f"{CREATED}?language=en", title="Slower", body="Mine", enabled="true", version="0")
    assert stale.status == 412
    assert 'value="Slower"' in stale.html and ">Mine</textarea>" in stale.html
    assert 'name="version" value="1"' in stale.html and "Nothing was saved" in stale.text


def test_the_preview_fills_in_samples_and_warns_of_other_names(site: Site) -> None:
    visitor = visit(site, "ada")
    part = visitor.post(
        f"{CREATED}/preview?language=en", target="preview", title="Hello {starter}", body="{salary} stays"
    )
    assert part.status == 200 and "<nav" not in part.html
    sample = site.services.notice_templates.samples(EventType.TASK_CREATED, "en")["starter"]
    assert f"Hello {sample}" in part.text and "{salary} stays" in part.text
    assert "triangle-alert" in part.html
    assert not site.services.notice_templates.list(actor_of(site, "ada"))


def test_the_preview_works_without_a_script(site: Site) -> None:
    page = visit(site, "ada").post(
        f"{CREATED}?language=en", do="preview", title="Hello {starter}", body="", version="0"
    )
    sample = site.services.notice_templates.samples(EventType.TASK_CREATED, "en")["starter"]
    assert page.status == 200 and f"Hello {sample}" in page.text and 'value="Hello {starter}"' in page.html


def test_a_preview_is_text(site: Site) -> None:
    part = visit(site, "ada").post(
        f"{CREATED}/preview", target="preview", title="<script>x</script>", body="<img src=x>"
    )
    assert "<script>x" not in part.html and "<img" not in part.html


@pytest.mark.parametrize("event", ["Nothing", "NodeListener"])
def test_what_has_no_texts_is_not_there(site: Site, event: str) -> None:
    assert visit(site, "ada").get(f"{PATH}/{event}").status == 404
