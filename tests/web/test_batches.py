"""Batches from the monitor's list: choosing, starting, progress, and each failure in words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages import Shown, Visitor, actor_of, make_office, start_leave, visit
from tests.support.web import Site
from webapp.engine.instances.model import InstanceStatus


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def send(visitor: Visitor, path: str, ids: list[str], **fields: str) -> Shown:
    """Send a form whose field ``id`` has many values."""
    fields_and_ids: dict[str, Any] = {**fields, "id": ids}
    return visitor.post(path, **fields_and_ids)


def status(site: Site, instance: str) -> InstanceStatus:
    return site.services.instances.get(actor_of(site, "operator"), instance).status


def started(answer: Shown) -> str:
    assert answer.status == 303, answer.text
    assert re.fullmatch(r"/monitor/batches/[0-9a-f-]+", answer.location)
    return answer.location


def test_the_list_offers_rows_and_all_that_is_found(site: Site) -> None:
    first, second = start_leave(site, title="Toner 1"), start_leave(site, title="Toner 2")
    visitor = visit(site, "operator")
    page = visitor.get("/monitor?keyword=toner&limit=1&sort=title")
    assert f'name="id" value="{first}"' in page.html and f'value="{second}"' not in page.html
    assert "Select Toner 1" in page.html
    assert "With all 2 found" in page.text
    assert 'name="filters" value="keyword=toner&amp;sort=title"' in page.html
    one_page = visitor.get("/monitor?keyword=toner")
    assert "found…" not in one_page.text


@pytest.mark.parametrize("name", ["employee", "designer"])
def test_who_may_not_operate_gets_no_boxes_and_no_batches(site: Site, name: str) -> None:
    start_leave(site)
    visitor = visit(site, name)
    assert 'name="id"' not in visitor.get("/monitor").html
    assert visitor.get("/monitor/batches").status == 403
    assert visitor.post("/monitor/batches/new", id="x").status == 403
    assert visitor.post("/monitor/batches", id="x", action="cancel").status == 403


def test_a_batch_over_what_was_selected(site: Site) -> None:
    chosen = [start_leave(site, title=f"Trip {number}") for number in range(3)]
    other = start_leave(site, title="Not chosen")
    visitor = visit(site, "operator")
    form = send(visitor, "/monitor/batches/new", chosen, filters="keyword=trip")
    assert "3 instances" in form.text and "Trip 0" in form.text and "Not chosen" not in form.text
    assert 'href="/monitor?keyword=trip"' in form.html
    where = started(send(visitor, "/monitor/batches", chosen, action="suspend", reason="Audit"))
    page = visitor.get(where)
    assert "0 of 3 done" in page.text and "Audit" in page.text and "Running" in page.text
    assert 'hx-trigger="every 2s"' in page.html
    site.services.batches.run_due()
    done = visitor.get(where, target="batch")
    assert "3 of 3 done" in done.text and "Completed" in done.text and "hx-trigger" not in done.html
    assert [status(site, one) for one in chosen] == [InstanceStatus.SUSPENDED] * 3
    assert status(site, other) is InstanceStatus.RUNNING
    assert "Suspend" in visitor.get("/monitor/batches").text
    assert "You suspended the request" in visitor.get(f"/monitor/{chosen[0]}").text


def test_a_batch_over_all_that_the_filters_find(site: Site) -> None:
    chosen = [start_leave(site, title=f"Trip {number}") for number in range(2)]
    other = start_leave(site, title="Toner")
    visitor = visit(site, "operator")
    form = visitor.post("/monitor/batches/new", all="true", filters="keyword=trip&limit=1&sort=title")
    assert "2 instances" in form.text
    where = started(visitor.post("/monitor/batches", all="true", filters="keyword=trip&sort=title", action="cancel"))
    site.services.batches.run_due()
    assert "2 of 2 done" in visitor.get(where).text
    assert [status(site, one) for one in (*chosen, other)] == [
        InstanceStatus.CANCELED,
        InstanceStatus.CANCELED,
        InstanceStatus.RUNNING,
    ]


def test_each_failure_is_told_in_words_in_the_reader_s_language(site: Site) -> None:
    good, bad = start_leave(site, title="Runs"), start_leave(site, title="Stands")
    site.services.operations.suspend(actor_of(site, "operator"), bad)
    visitor = visit(site, "operator")
    where = started(send(visitor, "/monitor/batches", [good, bad], action="suspend"))
    site.services.batches.run_due()
    failed = visitor.get(f"{where}?status=failed")
    assert "Stands Only a running instance can be suspended." in failed.text
    assert "Runs" not in failed.text
    assert f'href="/monitor/{bad}"' in failed.html
    visitor.client.set_cookie("language", "zh")
    assert "只有" in visitor.get(f"{where}?status=failed").text


def test_a_batch_can_be_paused_go_on_and_be_stopped(site: Site) -> None:
    chosen = [start_leave(site) for _ in range(2)]
    visitor = visit(site, "operator")
    where = started(send(visitor, "/monitor/batches", chosen, action="cancel"))
    assert "Paused" in visitor.post(f"{where}/pause", follow=True).text
    site.services.batches.run_due()
    assert status(site, chosen[0]) is InstanceStatus.RUNNING
    refused = visitor.post(f"{where}/pause")
    assert refused.status == 422 and "Nothing changed." in refused.text
    assert "Goes on" in visitor.post(f"{where}/resume", follow=True).text
    assert "what is done stays done" in visitor.post(f"{where}/cancel", follow=True).text
    page = visitor.get(where)
    assert "Stop for good" not in page.text and "Canceled" in page.text
    assert visitor.post("/monitor/batches/none/pause").status == 404


def test_nothing_selected_says_what_to_do(site: Site) -> None:
    start_leave(site)
    page = visit(site, "operator").post("/monitor/batches/new", filters="status=Running")
    assert page.status == 200 and "Nothing is selected" in page.text
    assert 'href="/monitor?status=Running"' in page.html


def test_a_refused_batch_keeps_what_was_typed(site: Site) -> None:
    instance = start_leave(site)
    visitor = visit(site, "operator")
    page = send(visitor, "/monitor/batches", [instance], action="migrate", version="two", reason="Long words")
    assert page.status == 422
    assert "Write the number of a version" in page.text and 'id="f-version-error"' in page.html
    assert "Long words" in page.html and 'value="two"' in page.html and f'value="{instance}"' in page.html
    assert '<option value="migrate" selected>' in page.html
    lost = send(visitor, "/monitor/batches", [instance], action="polish")
    assert lost.status == 422 and 'id="f-action-error"' in lost.html


def test_a_batch_that_migrates_names_what_failed(site: Site) -> None:
    instance = start_leave(site, title="Trip")
    visitor = visit(site, "operator")
    where = started(send(visitor, "/monitor/batches", [instance], action="migrate", version="7"))
    site.services.batches.run_due()
    page = visitor.get(where)
    assert "Version 7" in page.text or "v7" in page.text
    assert "1 of 1 done" in page.text and "Failed" in page.text
