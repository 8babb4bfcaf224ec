"""Tasks that go back, over REST."""

from __future__ import annotations

from tests.support.flows import END, START, flow, node
from tests.support.web import Caller
from tests.web.api.flows import only_task, publish, start

TWO = flow(
    "two",
    [
        START,
        node("first", "UserTask", {"Assignees": ["emma"]}),
        node("second", "UserTask", {"Assignees": ["manager"]}),
        END,
    ],
)


def test_return(designer: Caller, employee: Caller, manager: Caller) -> None:
    publish(designer, TWO)
    start(employee, "two")
    employee.post(f"/tasks/{only_task(employee)['id']}/complete", {"outcome": "approved"}).expect(200)
    path = f"/tasks/{only_task(manager)['id']}/return"
    manager.post(path, {}).refused(400, "WORKFLOW_VALIDATION_002")
    manager.post(path, {"comment": "x", "toNodeId": "end"}).refused(400, "WORKFLOW_VALIDATION_002")
    manager.post(path, {"comment": "x", "resubmit": "soon"}).refused(400, "WORKFLOW_VALIDATION_002")
    employee.post(path, {"comment": "x"}).refused(403, "WORKFLOW_DENIED_001")
    answer = manager.post(path, {"comment": "No sum", "toNodeId": "first", "resubmit": "direct"}).expect(200)
    assert answer["task"]["endReason"] == answer["task"]["outcome"] == "returned"
    assert answer["instanceStatus"] == "Running"
    manager.post(path, {"comment": "x"}).refused(409, "WORKFLOW_CONFLICT_003")
    employee.post(f"/tasks/{only_task(employee)['id']}/complete", {"outcome": "approved"}).expect(200)
    assert only_task(manager)["nodeId"] == "second"


def test_recall_and_withdraw(designer: Caller, employee: Caller, manager: Caller) -> None:
    publish(designer, TWO)
    instance = start(employee, "two")
    task = only_task(employee)
    employee.post(f"/tasks/{task['id']}/recall").refused(409, "WORKFLOW_CONFLICT_003")
    employee.post(f"/tasks/{task['id']}/complete", {"outcome": "approved"}).expect(200)
    manager.post(f"/tasks/{task['id']}/recall").refused(403, "WORKFLOW_DENIED_001")
    answer = employee.post(f"/tasks/{task['id']}/recall").expect(200)
    assert (answer["task"]["id"], answer["task"]["status"]) == (task["id"], "open")
    manager.post(f"/instances/{instance['id']}/withdraw").refused(403, "WORKFLOW_DENIED_001")
    ended = employee.post(f"/instances/{instance['id']}/withdraw", {"reason": "Not needed"}).expect(200)
    assert (ended["status"], ended["cancellationReason"]) == ("Canceled", "Not needed")
    employee.post(f"/instances/{instance['id']}/withdraw").refused(409, "WORKFLOW_CONFLICT_001")


def test_return_targets(designer: Caller, employee: Caller, manager: Caller) -> None:
    publish(designer, TWO)
    start(employee, "two")
    path = f"/tasks/{only_task(employee)['id']}/return-targets"
    assert employee.get(path).expect(200) == {"items": [], "total": 0}
    employee.post(f"/tasks/{only_task(employee)['id']}/complete", {"outcome": "approved"}).expect(200)
    path = f"/tasks/{only_task(manager)['id']}/return-targets"
    assert manager.get(path).expect(200) == {"items": [{"nodeId": "first", "nodeName": "first"}], "total": 1}
    assert employee.get(path).expect(200)["items"] == [], "who cannot decide the task cannot send it back"
    manager.get("/tasks/nothing/return-targets").refused(404, "WORKFLOW_NOTFOUND_003")


def test_a_step_that_is_sent_back_to_nobody(designer: Caller, employee: Caller, manager: Caller) -> None:
    first, second = TWO["nodes"][1], TWO["nodes"][2]
    closed = {**second, "properties": {**second["properties"], "AllowReturn": False, "AllowTransfer": False}}
    publish(designer, {**TWO, "nodes": [START, first, closed, END]})
    start(employee, "two")
    employee.post(f"/tasks/{only_task(employee)['id']}/complete", {"outcome": "approved"}).expect(200)
    path = f"/tasks/{only_task(manager)['id']}"
    assert manager.get(f"{path}/return-targets").expect(200)["items"] == []
    manager.post(f"{path}/return", {"comment": "x"}).refused(403, "ACCESS_DENIED_001")
    manager.post(f"{path}/transfer", {"to": "employee"}).refused(403, "ACCESS_DENIED_001")


def test_what_the_caller_has_decided(designer: Caller, employee: Caller, manager: Caller) -> None:
    publish(designer, TWO)
    instance = start(employee, "two")
    assert employee.get("/tasks/done").expect(200) == {"items": [], "total": 0}
    task = only_task(employee)
    employee.post(f"/tasks/{task['id']}/complete", {"outcome": "approved", "comment": "fine"}).expect(200)
    second = only_task(manager)
    manager.post(f"/tasks/{second['id']}/return", {"comment": "No sum"}).expect(200)
    employee.post(f"/tasks/{only_task(employee)['id']}/complete", {"outcome": "rejected"}).expect(200)
    answer = employee.get("/tasks/done?limit=1").expect(200)
    assert answer["total"] == 2
    assert [(one["outcome"], one["endReason"]) for one in answer["items"]] == [("rejected", "completed")]
    (first,) = employee.get("/tasks/done?offset=1").expect(200)["items"]
    assert first["id"] == task["id"]
    assert (first["instanceId"], first["nodeId"], first["outcome"]) == (instance["id"], "first", "approved")
    assert (first["comment"], first["assigneeId"], first["actorId"]) == ("fine", "emma", "emma")
    assert manager.get("/tasks/done").expect(200)["items"] == [], "what went back was not decided"
    assert employee.get("/tasks/done?keyword=FIRST").expect(200)["total"] == 2
    assert employee.get("/tasks/done?keyword=tables").expect(200)["total"] == 0
    employee.get("/tasks/done?scope=all").refused(400, "WORKFLOW_VALIDATION_002")
