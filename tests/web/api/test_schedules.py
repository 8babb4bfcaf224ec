"""Schedules over REST: next times, a definition's timer, its firings (spec 3.22)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.flows import END, flow, node
from tests.support.web import Caller, Site


def test_the_next_times_of_a_schedule(employee: Caller) -> None:
    asked = {"cron": "30 2 * * *", "timeZone": "Europe/Berlin", "count": 3, "after": "2026-03-27T12:00:00Z"}
    assert employee.post("/schedules/next", asked).expect(200) == {
        "timeZone": "Europe/Berlin",
        "occurrences": [
            {"at": "2026-03-28T01:30:00.000Z", "local": "2026-03-28T02:30:00+01:00"},
            {"at": "2026-03-29T01:00:00.000Z", "local": "2026-03-29T03:00:00+02:00"},
            {"at": "2026-03-30T00:30:00.000Z", "local": "2026-03-30T02:30:00+02:00"},
        ],
    }


def test_five_from_now_on_in_the_zone_of_the_installation(employee: Caller) -> None:
    answer = employee.post("/schedules/next", {"cron": "@hourly"}).expect(200)
    assert answer["timeZone"] == "UTC"
    assert len(answer["occurrences"]) == 5


@pytest.mark.parametrize(
    ("body", "path", "key"),
    [
        ({"cron": "0 0 15W * *"}, "cron", "workflow.cron.nearest"),
        ({"cron": "@daily", "timeZone": "Mars"}, "timeZone", "workflow.time_zone.unknown"),
        ({"cron": "@daily", "count": 0}, "count", "services.schedule.count"),
        ({"cron": "@daily", "count": 101}, "count", "services.schedule.count"),
        ({"cron": "@daily", "after": "soon"}, "after", "api.query.instant"),
        ({"cron": "@daily", "after": "0001-01-01T00:00:00Z"}, "after", "services.schedule.after"),
        ({}, "cron", "api.body.missing"),
    ],
)
def test_what_cannot_be_answered_is_told_why(employee: Caller, body: dict[str, Any], path: str, key: str) -> None:
    refused = employee.post("/schedules/next", body).refused(400, "WORKFLOW_VALIDATION_002")
    assert [(one["path"], one["key"]) for one in refused["errors"]] == [(path, key)]


def test_a_timer_and_its_firings(site: Site, designer: Caller) -> None:
    document = flow("report", [node("start", "Start", {"Cron": "* * * * *"}), END])
    made = designer.post("/definitions", document).expect(201)
    address = f"/definitions/{made['id']}"
    assert designer.get(f"{address}/timer").expect(200)["armed"] is False
    designer.post(f"{address}/publish", {}).expect(200)
    timer = designer.get(f"{address}/timer").expect(200)
    assert (timer["armed"], timer["cron"], timer["timeZone"], timer["catchUp"]) == (True, "* * * * *", "UTC", "One")
    site.clock.advance(60)
    site.services.housekeeping.poll_once()
    fired = designer.get(f"{address}/firings?limit=5").expect(200)
    (firing,) = fired["items"]
    assert (fired["total"], firing["status"], firing["scheduledAt"]) == (1, "started", timer["nextAt"])
    assert firing["instanceId"]
    assert firing["fault"] is None


def test_who_may_not_read_definitions_is_refused(site: Site, designer: Caller, employee: Caller) -> None:
    made = designer.post("/definitions", flow("report", [node("start", "Start"), END])).expect(201)
    employee.get(f"/definitions/{made['id']}/timer").refused(403, "ACCESS_DENIED_001")
    employee.get(f"/definitions/{made['id']}/firings").refused(403, "ACCESS_DENIED_001")
    designer.get("/definitions/none/timer").refused(404, "WORKFLOW_NOTFOUND_001")
