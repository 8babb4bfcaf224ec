"""External tasks over REST: what a worker program sees (spec 11, External tasks and Amendments)."""

from __future__ import annotations

import pytest

from tests.support.flows import END, START, flow, node
from tests.support.web import Caller, Site
from tests.web.api.flows import publish, start

PAY = flow("pay", [START, node("pay", "ExternalTask", {"Topic": "pay", "VariableExpressions": {"n": "n"}}), END])
ASK = {"workerId": "w1", "topics": [{"topic": "pay", "lockSeconds": 60}], "maxTasks": 5}


@pytest.fixture
def worker(site: Site) -> Caller:
    return site.caller("wes")


@pytest.fixture
def instance_id(designer: Caller, employee: Caller) -> str:
    publish(designer, PAY)
    return str(start(employee, "pay", n=7)["id"])


def only(worker: Caller) -> str:
    (task,) = worker.post("/external-tasks/fetch-and-lock", ASK).expect(200)["items"]
    return str(task["id"])


def test_a_task_is_fetched_with_its_variables(instance_id: str, worker: Caller) -> None:
    answer = worker.post("/external-tasks/fetch-and-lock", ASK)
    (task,) = answer.expect(200)["items"]
    assert task == {
        "id": task["id"],
        "topic": "pay",
        "workerId": "w1",
        "variables": {"n": 7},
        "instanceId": instance_id,
        "definitionName": "pay",
        "correlationId": None,
        "retries": 3,
        "lockedUntil": "2026-07-16T08:01:00.000Z",
    }
    assert worker.post("/external-tasks/fetch-and-lock", ASK).expect(200) == {"items": []}
    assert "Retry-After" not in answer.headers


def test_a_task_is_completed(instance_id: str, worker: Caller, employee: Caller) -> None:
    task = only(worker)
    done = worker.post(f"/external-tasks/{task}/complete", {"workerId": "w1", "variables": {"ok": True}}).expect(200)
    assert (done["status"], done["instanceId"], done["instanceStatus"]) == ("ended", instance_id, "Completed")
    assert employee.get(f"/instances/{instance_id}").expect(200)["variables"] == {"n": 7, "ok": True}
    late = worker.post(f"/external-tasks/{task}/complete", {"workerId": "w1"})
    assert late.refused(409, "WORKFLOW_CONFLICT_003")["details"] == {"status": "Completed"}


def test_a_failure_and_a_longer_lock(instance_id: str, worker: Caller, employee: Caller) -> None:
    task = only(worker)
    longer = worker.post(f"/external-tasks/{task}/extend-lock", {"workerId": "w1", "lockSeconds": 90}).expect(200)
    assert longer["lockedUntil"] == "2026-07-16T08:01:30.000Z"
    failed = worker.post(
        f"/external-tasks/{task}/fail", {"workerId": "w1", "error": "no answer", "retryDelaySeconds": 5}
    ).expect(200)
    assert (failed["status"], failed["retries"], failed["lockedUntil"]) == ("open", 2, None)
    bookmark = employee.get(f"/instances/{instance_id}/bookmarks").expect(200)["items"][0]
    assert (bookmark["kind"], bookmark["key"], bookmark["availableAt"]) == (
        "ExternalTask",
        "pay",
        "2026-07-16T08:00:05.000Z",
    )


def test_who_may_not(instance_id: str, worker: Caller, employee: Caller, operator: Caller) -> None:
    task = only(worker)
    for caller in (employee, operator):
        caller.post("/external-tasks/fetch-and-lock", ASK).refused(403, "ACCESS_DENIED_001")
        caller.post(f"/external-tasks/{task}/complete", {"workerId": "w1"}).refused(403, "ACCESS_DENIED_001")
    worker.post(f"/external-tasks/{task}/complete", {"workerId": "w2"}).refused(403, "WORKFLOW_DENIED_002")
    worker.post("/external-tasks/none/complete", {"workerId": "w1"}).refused(404, "WORKFLOW_NOTFOUND_003")


def test_mistakes_are_named_by_their_paths(worker: Caller) -> None:
    wrong = {"workerId": "", "topics": [{"topic": "pay", "lockSeconds": 0}], "maxTasks": 0, "waitSeconds": 31}
    refused = worker.post("/external-tasks/fetch-and-lock", wrong).refused(400, "WORKFLOW_VALIDATION_002")
    assert {one["path"] for one in refused["errors"]} == {
        "workerId",
        "topics[0].lockSeconds",
        "maxTasks",
        "waitSeconds",
    }


def test_too_many_that_wait_are_told_when_to_come_again(site: Site, worker: Caller) -> None:
    # Sixteen threads have four seats; without seats nobody waits.
    assert site.installation.settings.threads == 16
    site.services.external_tasks.close()
    answer = worker.post("/external-tasks/fetch-and-lock", {**ASK, "waitSeconds": 30})
    assert answer.expect(200) == {"items": []}
    assert answer.headers["Retry-After"] == "1"
