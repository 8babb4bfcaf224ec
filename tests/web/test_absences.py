"""Absences on the account's page: set, refused without loss, shown, ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import actor_of, make_office, visit
from tests.support.web import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_office(tmp_path)


def test_an_absence_is_set_for_whole_days_and_shown_to_both(site: Site) -> None:
    manager = visit(site, "manager")
    days = {"from": "2026-07-17", "to": "2026-07-20"}
    set_ = manager.post("/account/absences", substitute="designer", definitions=["leave"], follow=True, **days)
    assert "Daniel Okafor acts for you 17 Jul 2026 to 20 Jul 2026 · only Leave request" in set_.text
    (one,) = site.services.substitutions.list(actor_of(site, "manager"))
    assert (one.starts_at.isoformat(), one.ends_at.isoformat()) == (
        "2026-07-17T00:00:00+00:00",
        "2026-07-21T00:00:00+00:00",
    )
    assert "You act for Marta Ruiz" in visit(site, "designer").get("/account").text
    assert "acts for" not in visit(site, "employee").get("/account").text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"substitute": "manager", "from": "2026-07-17", "to": "2026-07-20"}, "Nobody can stand in for themselves."),
        ({"substitute": "designer", "from": "2026-07-20", "to": "2026-07-17"}, "The end must lie after the start."),
        ({"substitute": "nobody", "from": "2026-07-17", "to": "2026-07-20"}, "nobody is no account that can act."),
        ({"substitute": "designer", "from": "soon", "to": "2026-07-20"}, "Enter a day as year-month-day"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_the_rest_stays(site: Site, fields: dict[str, str], said: str) -> None:
    refused = visit(site, "manager").post("/account/absences", definitions=["leave"], **fields)
    assert refused.status == 422
    assert said in refused.text and 'aria-invalid="true"' in refused.html
    assert 'value="2026-07-20"' in refused.html or 'value="2026-07-17"' in refused.html
    assert 'value="leave" checked' in refused.html
    assert not site.services.substitutions.list(actor_of(site, "manager"))


def test_only_the_absent_ends_an_absence(site: Site) -> None:
    manager = visit(site, "manager")
    manager.post("/account/absences", substitute="designer", to="2026-07-20", **{"from": "2026-07-16"})
    (one,) = site.services.substitutions.list(actor_of(site, "manager"))
    designer = visit(site, "designer")
    assert f"/account/absences/{one.id}/delete" not in designer.get("/account").html
    assert designer.post(f"/account/absences/{one.id}/delete").status == 404
    ended = manager.post(f"/account/absences/{one.id}/delete", follow=True)
    assert "The absence was ended" in ended.text and "No absence is set." in ended.text


def test_nobody_sets_an_absence_without_signing_in(site: Site) -> None:
    assert "/sign-in" in visit(site).post("/account/absences", substitute="designer").location
