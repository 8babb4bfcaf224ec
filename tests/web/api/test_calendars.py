"""Work calendars over REST (spec D33, 11)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.web import Caller, Site

OFFICE: dict[str, Any] = {
    "name": "office",
    "displayName": "Office",
    "timeZone": "Europe/Berlin",
    "weeklyHours": {"monday": [{"from": "09:00", "to": "12:00"}, {"from": "13:00", "to": "17:00"}]},
    "holidays": [{"date": "2026-12-25", "name": "Christmas"}],
}


@pytest.fixture
def admin(site: Site) -> Caller:
    return site.caller("ada")


def test_a_calendar_from_its_making_to_its_end(admin: Caller, employee: Caller) -> None:
    made = admin.post("/calendars", OFFICE)
    calendar = made.expect(201)
    assert made.headers["ETag"] == '"1"'
    assert made.headers["Location"] == "/api/v1/calendars/office"
    assert calendar["weeklyHours"]["monday"] == OFFICE["weeklyHours"]["monday"]
    assert calendar["weeklyHours"]["sunday"] == []
    assert calendar["holidays"] == [{"date": "2026-12-25", "name": "Christmas", "hours": []}]
    assert (calendar["revision"], calendar["updatedBy"]) == (1, "ada")
    assert employee.get("/calendars").expect(200) == {"items": [calendar], "total": 1}
    assert employee.get("/calendars/office").expect(200) == calendar
    content = {name: value for name, value in OFFICE.items() if name != "name"}
    changed = admin.put("/calendars/office", {**content, "timeZone": None}, If_Match='"1"').expect(200)
    assert (changed["revision"], changed["timeZone"]) == (2, None)
    admin.put("/calendars/office", content, If_Match='"1"').refused(412, "REQUEST_STALE_001")
    admin.put("/calendars/office", content).refused(428, "REQUEST_PRECONDITION_001")
    admin.delete("/calendars/office", If_Match='"1"').refused(412, "REQUEST_STALE_001")
    admin.delete("/calendars/office", If_Match='"2"').expect(204)
    admin.get("/calendars/office").refused(404, "WORKFLOW_NOTFOUND_001")


def test_a_name_is_taken_once(admin: Caller) -> None:
    admin.post("/calendars", OFFICE).expect(201)
    admin.post("/calendars", OFFICE).refused(409, "WORKFLOW_CONFLICT_002")


def test_only_administrators_change_calendars(designer: Caller) -> None:
    designer.post("/calendars", OFFICE).refused(403, "ACCESS_DENIED_001")


def test_what_is_wrong_is_named_with_its_place(admin: Caller) -> None:
    bad = {**OFFICE, "timeZone": "Mars", "weeklyHours": {"monday": [{"from": "22:00", "to": "06:00"}]}}
    refused = admin.post("/calendars", bad).refused(400, "WORKFLOW_VALIDATION_002")
    assert [(one["path"], one["key"]) for one in refused["errors"]] == [
        ("timeZone", "workflow.time_zone.unknown"),
        ("weeklyHours.monday[0]", "workflow.calendar.past_midnight"),
    ]
    unknown = admin.post("/calendars", {**OFFICE, "weeklyHours": {"lundi": []}}).refused(400, "WORKFLOW_VALIDATION_002")
    assert [one["path"] for one in unknown["errors"]] == ["weeklyHours.lundi"]
