"""The catalogue and the start form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import actor_of, leave_request, make_office, visit
from tests.support.web import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def test_the_catalogue_shows_what_may_be_started(site: Site) -> None:
    page = visit(site, "employee").get("/start")
    assert "Leave request" in page.text and "People" in page.text
    assert 'href="/start/leave"' in page.html


def test_the_catalogue_can_be_searched(site: Site) -> None:
    visitor = visit(site, "employee")
    assert "Leave request" in visitor.get("/start?keyword=leave").text
    nothing = visitor.get("/start?keyword=submarine")
    assert "Leave request" not in nothing.text and "Nothing matches" in nothing.text


def test_htmx_gets_the_catalogue_alone(site: Site) -> None:
    part = visit(site, "employee").get("/start?keyword=leave", target="list")
    assert part.html.lstrip().startswith('<div class="page" id="list">')
    assert "<html" not in part.html
    assert "HX-Request" in part.response.headers["Vary"]


def test_the_form_is_made_from_the_variables(site: Site) -> None:
    form = visit(site, "employee").get("/start/leave")
    assert "How many days" in form.text and "Manager decides" in form.text
    assert 'name="v.days"' in form.html and 'inputmode="decimal"' in form.html


def test_a_request_starts_with_exact_values_and_opens(site: Site) -> None:
    visitor = visit(site, "employee")
    started = visitor.post("/start/leave", v__days="2.50", v__reason="Rest & <b>sun</b>", title="Two days and a half")
    assert started.status == 303
    instance_id = started.location.removeprefix("/requests/")
    instance = site.services.instances.get(actor_of(site, "employee"), instance_id)
    assert str(instance.variables["days"]) == "2.50"
    assert instance.variables["reason"] == "Rest & <b>sun</b>"
    assert instance.title == "Two days and a half"
    assert "Request started" in visitor.get(started.location).text


def test_what_cannot_be_read_stands_at_its_field_and_nothing_is_lost(site: Site) -> None:
    refused = visit(site, "employee").post("/start/leave", v__days="three", v__reason="Rest", title="Mine")
    assert refused.status == 422
    field = refused.html.split('id="f-v-days"')[1].split("</div>")[0]
    assert 'value="three"' in field and 'aria-invalid="true"' in field
    assert "Enter a number, for example 1250.50" in field
    assert "Rest</textarea>" in refused.html and 'value="Mine"' in refused.html


def test_a_missing_required_field_is_told(site: Site) -> None:
    refused = visit(site, "employee").post("/start/leave", v__days="", v__reason="Rest")
    assert refused.status == 422
    assert "Fill this in" in refused.html.split('id="f-v-days"')[1].split("</div>")[0]


def test_what_the_service_refuses_stands_on_the_form(site: Site) -> None:
    refused = visit(site, "employee").post("/start/leave", v__days="1", title="x" * 501)
    assert refused.status == 422
    assert "The request was not started" in refused.text


def test_a_workflow_that_is_not_published_is_not_found(site: Site) -> None:
    document = {**leave_request(), "name": "later"}
    site.services.catalog.create(actor_of(site, "designer"), document)
    assert visit(site, "employee").get("/start/later").status == 404


def test_refusals_come_in_the_readers_language(site: Site) -> None:
    visitor = visit(site, "employee")
    visitor.post("/language", language="zh", next="/start")
    assert "请填写此项" in visitor.post("/start/leave", v__days="").text
