"""Operating instances over REST: suspend, resume, terminate."""

from __future__ import annotations

import pytest

from tests.support.flows import END, START, flow, node
from tests.support.web import Caller
from tests.web.api.flows import APPROVAL, only_task, publish, start


def test_suspend_and_resume(designer: Caller, employee: Caller, manager: Caller, operator: Caller) -> None:
    publish(designer, APPROVAL)
    instance = start(employee, "approval", what="A chair")
    task = only_task(manager)
    path = f"/instances/{instance['id']}"
    suspended = operator.post(f"{path}/suspend", {"reason": "Audit"}).expect(200)
    assert suspended["status"] == "Suspended"
    assert (suspended["suspendedBy"], suspended["suspensionReason"]) == ("operator", "Audit")
    assert suspended["suspendedAt"] == "2026-07-16T08:00:00.000Z"
    manager.post(f"/tasks/{task['id']}/complete", {"outcome": "approved"}).refused(409, "WORKFLOW_CONFLICT_003")
    operator.post(f"{path}/suspend").refused(409, "WORKFLOW_CONFLICT_001")
    resumed = operator.post(f"{path}/resume").expect(200)
    assert (resumed["status"], resumed["suspendedBy"]) == ("Running", None)
    operator.post(f"{path}/resume").refused(409, "WORKFLOW_CONFLICT_001")
    manager.post(f"/tasks/{task['id']}/complete", {"outcome": "approved"}).expect(200)


def test_terminate(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, APPROVAL)
    instance = start(employee, "approval", what="A chair")
    path = f"/instances/{instance['id']}"
    ended = operator.post(f"{path}/terminate", {"reason": "Duplicate"}).expect(200)
    assert (ended["status"], ended["cancellationReason"]) == ("Terminated", "Duplicate")
    assert operator.get(f"{path}/bookmarks").expect(200)["total"] == 0
    assert operator.post(f"{path}/terminate").expect(200)["revision"] == ended["revision"]


TWO = flow(
    "two",
    [START, node("a", "UserTask", {"Assignees": ["emma"]}), node("b", "UserTask", {"Assignees": ["manager"]}), END],
)


def test_jump(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, TWO)
    path = f"/instances/{start(employee, 'two')['id']}"
    operator.post(f"{path}/jump", {}).refused(400, "WORKFLOW_VALIDATION_002")
    operator.post(f"{path}/jump", {"toNodeId": "start"}).refused(400, "WORKFLOW_VALIDATION_002")
    employee.post(f"{path}/jump", {"toNodeId": "b"}).refused(403, "ACCESS_DENIED_001")
    plan = operator.post(f"{path}/jump?dryRun=true", {"toNodeId": "b"}).expect(200)
    assert plan == {
        "canceledNodeIds": ["a"],
        "taskIds": [only_task(employee)["id"]],
        "droppedTokenNodeIds": [],
        "droppedJoinIds": [],
    }
    moved = operator.post(f"{path}/jump", {"toNodeId": "b", "variables": {"x": 1}, "reason": "Absent"}).expect(200)
    assert (moved["status"], moved["variables"]["x"]) == ("Running", 1)
    assert employee.get("/tasks").expect(200)["total"] == 0
    operator.post(f"{path}/suspend").expect(200)
    operator.post(f"{path}/jump", {"toNodeId": "a"}).refused(409, "WORKFLOW_CONFLICT_001")


def test_migrate(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, TWO)
    path = f"/instances/{start(employee, 'two')['id']}/migrate"
    publish(designer, flow("two", [START, node("c", "UserTask", {"Assignees": ["emma"]}), END]))
    report = operator.post(f"{path}?dryRun=true", {"version": 2}).expect(200)
    assert [error["path"] for error in report["errors"]] == ["nodeMapping.a"]
    refused = operator.post(path, {"version": 2}).refused(400, "WORKFLOW_VALIDATION_002")
    assert [error["path"] for error in refused["errors"]] == ["nodeMapping.a"]
    operator.post(path, {"version": 7}).refused(404, "WORKFLOW_NOTFOUND_001")
    operator.post(path, {"version": 1}).refused(400, "WORKFLOW_VALIDATION_002")
    report = operator.post(f"{path}?dryRun=true", {"version": 2, "nodeMapping": {"a": "c"}}).expect(200)
    assert report == {"nodes": {"a": "c"}, "errors": []}
    migrated = operator.post(path, {"version": 2, "nodeMapping": {"a": "c"}}).expect(200)
    assert migrated["definitionVersion"] == 2
    assert only_task(employee)["nodeId"] == "c"


def test_variables(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, APPROVAL)
    path = f"/instances/{start(employee, 'approval', what='A chair')['id']}/variables"
    changed = operator.patch(path, {"set": {"note": "0.10"}, "remove": ["nothing"]}).expect(200)
    assert changed["variables"]["note"] == "0.10"
    refused = operator.patch(path, {"set": {"what": 1}}).refused(400, "WORKFLOW_VALIDATION_002")
    assert [error["path"] for error in refused["errors"]] == ["set.what"]
    employee.patch(path, {"set": {}}).refused(403, "ACCESS_DENIED_001")


@pytest.mark.parametrize("operation", ["suspend", "resume", "terminate"])
def test_who_has_no_right_operates_nothing(
    designer: Caller, employee: Caller, operator: Caller, operation: str
) -> None:
    publish(designer, APPROVAL)
    instance = start(employee, "approval", what="A chair")
    employee.post(f"/instances/{instance['id']}/{operation}").refused(403, "ACCESS_DENIED_001")
    operator.post(f"/instances/nothing/{operation}").refused(404, "WORKFLOW_NOTFOUND_002")
    operator.post(f"/instances/{instance['id']}/{operation}", {"why": "x"}).refused(400, "WORKFLOW_VALIDATION_002")


def test_purge(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, APPROVAL)
    instance = start(employee, "approval", what="A chair")
    operator.post(f"/instances/{instance['id']}/cancel").expect(200)
    until = {"endedBefore": "2026-07-16T08:00:00Z"}
    employee.post("/instances/purge", until).refused(403, "ACCESS_DENIED_001")
    for body in (
        {},
        {"endedBefore": "soon"},
        {**until, "limit": 0},
        {**until, "limit": 1001},
        {**until, "statuses": ["Running"]},
    ):
        operator.post("/instances/purge", body).refused(400, "WORKFLOW_VALIDATION_002")
    assert operator.post("/instances/purge", {**until, "definitionName": "other"}).expect(200) == {"purged": 0}
    assert operator.post("/instances/purge", {**until, "statuses": ["Canceled"]}).expect(200) == {"purged": 1}
    operator.get(f"/instances/{instance['id']}").refused(404, "WORKFLOW_NOTFOUND_002")
