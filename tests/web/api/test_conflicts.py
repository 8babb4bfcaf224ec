"""Stale states over REST: 409 with how the instance stands, for programs as well as for people; nothing changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.flows import END, START, flow, node
from tests.support.web import Site
from webapp.accounts.permissions import ADMINISTRATOR, USER, WORKER

ENDED = [
    ("POST", "/suspend", None),
    ("POST", "/resume", None),
    ("POST", "/retry", None),
    ("POST", "/jump", {"toNodeId": "ask"}),
    ("PATCH", "/variables", {"set": {"a": 1}}),
    ("POST", "/withdraw", None),
]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(("method", "action", "body"), ENDED, ids=[action for _, action, _ in ENDED])
def test_what_has_ended_says_how_it_stands(site: Site, method: str, action: str, body: Any, lang: str) -> None:
    site.account("chief", ADMINISTRATOR)
    chief = site.caller("chief", **{"Accept-Language": lang})
    draft = chief.post("/definitions", flow("wait", [START, node("ask", "UserTask", {"Assignees": ["eva"]}), END]))
    chief.post(f"/definitions/{draft.expect(201)['id']}/publish").expect(200)
    instance_id = chief.post("/instances", {"name": "wait"}).expect(201)["id"]
    ended = chief.post(f"/instances/{instance_id}/cancel").expect(200)
    problem = chief.send(method, f"/instances/{instance_id}{action}", body, headers={}).refused(
        409, "WORKFLOW_CONFLICT_001"
    )
    assert problem["details"] == {"status": "Canceled"}
    assert chief.get(f"/instances/{instance_id}").expect(200) == ended


def test_a_suspended_instance_says_so_to_those_who_have_a_task(site: Site) -> None:
    site.account("chief", ADMINISTRATOR)
    site.account("eva", USER)
    chief, eva = site.caller("chief"), site.caller("eva")
    draft = chief.post("/definitions", flow("wait", [START, node("ask", "UserTask", {"Assignees": ["eva"]}), END]))
    chief.post(f"/definitions/{draft.expect(201)['id']}/publish").expect(200)
    instance_id = chief.post("/instances", {"name": "wait"}).expect(201)["id"]
    (task,) = eva.get("/tasks").expect(200)["items"]
    chief.post(f"/instances/{instance_id}/suspend").expect(200)
    problem = eva.post(f"/tasks/{task['id']}/complete", {"outcome": "approved"}).refused(409, "WORKFLOW_CONFLICT_003")
    assert problem["details"] == {"status": "Suspended"}


def test_a_worker_that_is_late_learns_how_the_instance_stands(site: Site) -> None:
    site.account("chief", ADMINISTRATOR)
    site.account("drone", WORKER)
    chief, drone = site.caller("chief"), site.caller("drone")
    draft = chief.post("/definitions", flow("print", [START, node("do", "ExternalTask", {"Topic": "print"}), END]))
    chief.post(f"/definitions/{draft.expect(201)['id']}/publish").expect(200)
    chief.post("/instances", {"name": "print"}).expect(201)
    asked = {"workerId": "w", "topics": [{"topic": "print", "lockSeconds": 60}], "maxTasks": 1}
    (task,) = drone.post("/external-tasks/fetch-and-lock", asked).expect(200)["items"]
    drone.post(f"/external-tasks/{task['id']}/complete", {"workerId": "w"}).expect(200)
    late = drone.post(f"/external-tasks/{task['id']}/complete", {"workerId": "w"})
    assert late.refused(409, "WORKFLOW_CONFLICT_003")["details"] == {"status": "Completed"}
