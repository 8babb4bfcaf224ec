"""Batches over REST."""

from __future__ import annotations

from tests.support.web import Caller, Site
from tests.web.api.flows import APPROVAL, publish, start


def test_a_batch_from_its_start_to_its_end(site: Site, designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, APPROVAL)
    ids = [start(employee, "approval", what=f"Chair {number}")["id"] for number in range(3)]
    body = {"action": "cancel", "ids": [*ids, "nothing"], "reason": "Tidy up"}
    employee.post("/instances/batch", body).refused(403, "ACCESS_DENIED_001")
    for wrong in ({}, {"action": "explode", "ids": ids}, {"action": "cancel"}, {"action": "cancel", "ids": []}):
        operator.post("/instances/batch", wrong).refused(400, "WORKFLOW_VALIDATION_002")
    answer = operator.post("/instances/batch", body)
    batch = answer.expect(201)
    assert answer.headers["Location"] == f"/api/v1/batches/{batch['id']}"
    assert (batch["status"], batch["total"], batch["done"], batch["failed"]) == ("Running", 4, 0, 0)
    path = f"/batches/{batch['id']}"
    assert operator.post(f"{path}/pause").expect(200)["status"] == "Paused"
    operator.post(f"{path}/pause").refused(409, "WORKFLOW_CONFLICT_001")
    assert operator.post(f"{path}/resume").expect(200)["status"] == "Running"
    site.services.housekeeping.run_batches(lambda: False)
    batch = operator.get(path).expect(200)
    assert (batch["status"], batch["done"], batch["failed"]) == ("Completed", 3, 1)
    failed = operator.get(f"{path}/items?status=failed").expect(200)
    assert [(item["instanceId"], item["problem"]["code"]) for item in failed["items"]] == [
        ("nothing", "WORKFLOW_NOTFOUND_002")
    ]
    assert failed["items"][0]["problem"]["message"]
    assert operator.get(f"{path}/items?limit=2").expect(200)["total"] == 4
    assert operator.get("/batches").expect(200)["items"] == [batch]
    operator.post(f"{path}/cancel").refused(409, "WORKFLOW_CONFLICT_001")
    operator.get("/batches/nothing").refused(404, "WORKFLOW_NOTFOUND_002")
    employee.get(path).refused(404, "WORKFLOW_NOTFOUND_002")


def test_a_batch_by_query(site: Site, designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, APPROVAL)
    for number in range(3):
        start(employee, "approval", what=f"Chair {number}")
    query = {"status": ["Running"], "definitionName": "approval", "createdFrom": "2026-07-16T08:00:00Z"}
    batch = operator.post("/instances/batch", {"action": "suspend", "query": query}).expect(201)
    assert batch["total"] == 3
    site.services.housekeeping.run_batches(lambda: False)
    assert operator.get("/instances/counts").expect(200)["Suspended"] == 3
    wrong = {"action": "suspend", "query": {"createdTo": "soon"}}
    refused = operator.post("/instances/batch", wrong).refused(400, "WORKFLOW_VALIDATION_002")
    assert [error["path"] for error in refused["errors"]] == ["query.createdTo"]
