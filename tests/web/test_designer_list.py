"""The list of workflows and what can be done from it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.support.pages import actor_of, leave_request, make_office, start_leave, visit
from tests.support.web import Site
from webapp.services.queries import DefinitionQuery
from webapp.web.designer import slug


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def the_one(site: Site, name: str = "leave") -> str:
    return site.services.catalog.query(actor_of(site, "designer"), DefinitionQuery(name=name)).items[0].id


def test_the_list_shows_status_version_and_running_instances(site: Site) -> None:
    start_leave(site)
    page = visit(site, "designer").get("/designer")
    assert "Leave request leave People Published v1" in page.text
    assert "Daniel Okafor" in page.text
    operator = visit(site, "operator").get("/designer")
    assert "/monitor?definition=leave&amp;status=Running" in operator.html


def test_filters_and_sort_are_the_address(site: Site) -> None:
    visitor = visit(site, "designer")
    part = visitor.get("/designer?keyword=leave&category=People&status=Published", target="list")
    assert part.html.lstrip().startswith('<div class="stack" id="list"')
    assert "keyword=leave&amp;category=People&amp;status=Published&amp;sort=status" in part.html
    assert "Nothing matches" in visitor.get("/designer?status=Archived").text
    assert visitor.get("/designer?status=Lost").status == 400


def test_a_new_workflow_gets_a_name_from_its_title(site: Site) -> None:
    made = visit(site, "designer").post("/designer/new", title="Travel Request (EU)", name="", category="People")
    assert made.status == 303
    definition = site.services.catalog.get(actor_of(site, "designer"), made.location.removeprefix("/designer/"))
    assert (definition.name, definition.title, definition.category) == (
        "travel-request-eu",
        "Travel Request (EU)",
        "People",
    )
    assert [node.activity_type for node in definition.nodes] == ["Start", "End"]


@pytest.mark.parametrize(
    ("title", "name"), [("Leave request", "leave-request"), ("  A & B!", "a-b"), ("请假", ""), ("x" * 200, "x" * 128)]
)
def test_names_are_small_latin_letters(title: str, name: str) -> None:
    assert slug(title) == name


def test_a_title_without_latin_letters_needs_a_name(site: Site) -> None:
    refused = visit(site, "designer").post("/designer/new", title="请假", name="")
    assert refused.status == 422
    assert 'id="new" aria-labelledby="new-title" data-open' in refused.html
    assert 'id="f-name-error"' in refused.html and 'value="请假"' in refused.html


def test_a_document_can_be_pasted_or_uploaded(site: Site) -> None:
    visitor = visit(site, "designer")
    pasted = visitor.post("/designer/import", text=json.dumps({**leave_request(), "name": "pasted"}))
    assert pasted.status == 303
    upload = (io.BytesIO(json.dumps({**leave_request(), "name": "sent"}).encode()), "sent.json")
    assert visitor.post("/designer/import", file=upload, text="").status == 303
    names = {row.name for row in site.services.catalog.query(actor_of(site, "designer")).items}
    assert names == {"leave", "pasted", "sent"}


@pytest.mark.parametrize("text", ['{"name": ', '{"name": "a", "name": "b"}', '{"name": "a", "surprise": 1}', ""])
def test_a_document_that_cannot_be_read_says_why_and_stays(site: Site, text: str) -> None:
    refused = visit(site, "designer").post("/designer/import", text=text)
    assert refused.status == 422
    assert 'id="import" aria-labelledby="import-title" data-open' in refused.html
    assert "The document cannot be imported" in refused.text
    assert text in refused.text


def test_an_export_comes_back_through_import(site: Site) -> None:
    visitor = visit(site, "designer")
    export = visitor.get(f"/designer/{the_one(site)}/export")
    assert export.response.headers["Content-Disposition"] == 'attachment; filename="leave-v1.json"'
    assert visitor.post("/designer/import", text=export.html).status == 303
    rows = site.services.catalog.query(actor_of(site, "designer"), DefinitionQuery(name="leave")).items
    assert sorted(row.version for row in rows) == [1, 2]


def test_a_version_can_be_copied_disabled_and_archived(site: Site) -> None:
    visitor, one = visit(site, "designer"), the_one(site)
    assert visitor.post(f"/designer/{one}/duplicate").status == 303
    assert visitor.post(f"/designer/{one}/versions").status == 303
    assert "Disabled" in visitor.post(f"/designer/{one}/disable", follow=True).text
    assert "Archived" in visitor.post(f"/designer/{one}/archive", follow=True).text
    again = visitor.post(f"/designer/{one}/disable", follow=True)
    assert "Leave request was not disabled" in again.text and 'role="alert"' in again.html


def test_a_draft_can_be_deleted(site: Site) -> None:
    visitor = visit(site, "designer")
    made = visitor.post("/designer/new", title="Short lived").location.removeprefix("/designer/")
    assert "Draft deleted" in visitor.post(f"/designer/{made}/delete", follow=True).text
    assert "Short lived" not in visitor.get("/designer?versions=all", target="list").text


def test_who_may_only_read_gets_no_buttons_and_is_refused(site: Site) -> None:
    visitor = visit(site, "operator")
    page = visitor.get("/designer")
    assert "New workflow" not in page.text and 'action="/designer/import"' not in page.html
    assert visitor.post("/designer/new", title="Mine").status == 403
    assert visitor.post(f"/designer/{the_one(site)}/disable").status == 403
    assert visit(site, "manager").get("/designer").status == 403
    assert visit(site, "manager").post("/designer/import", text=json.dumps(leave_request())).status == 403


@pytest.mark.parametrize(("name", "reads_only"), [("designer", "false"), ("operator", "true")])
def test_a_draft_opens_for_writing_to_who_may_write(site: Site, name: str, reads_only: str) -> None:
    made = visit(site, "designer").post("/designer/new", title="Fresh").location
    page = visit(site, name).get(made)
    assert f'data-read-only="{reads_only}"' in page.html
    assert '<script type="application/json" id="designer-messages">' in page.html


def test_what_is_published_opens_for_reading(site: Site) -> None:
    page = visit(site, "designer").get(f"/designer/{the_one(site)}")
    assert 'data-read-only="true"' in page.html
    assert visit(site, "designer").get("/designer/no-such-workflow").status == 404


def test_a_name_that_cannot_be_is_told_at_its_field(site: Site) -> None:
    refused = visit(site, "designer").post("/designer/new", title="Leave", name="Not A Name!")
    assert refused.status == 422
    assert 'id="f-name-error"' in refused.html and 'value="Not A Name!"' in refused.html


def test_a_document_of_version_4_can_be_imported(site: Site) -> None:
    nodes = [{"id": "s", "activityType": "Start"}, {"id": "calc", "activityType": "Script"}]
    old = {"code": "old-flow", "name": "采购申请", "nodes": nodes, "transitions": []}
    visitor = visit(site, "designer")
    refused = visitor.post("/designer/import", text=json.dumps(old))
    assert refused.status == 422
    assert "The step “calc” is a Script, which does not exist any more" in refused.text
    assert visitor.post("/designer/import", text=json.dumps({**old, "nodes": nodes[:1]})).status == 303
    (row,) = site.services.catalog.query(actor_of(site, "designer"), DefinitionQuery(name="old-flow")).items
    assert row.display_name == "采购申请"
