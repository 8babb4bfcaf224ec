"""What may be done with tasks over REST: claimed, lent, undone, decided in bulk, for the absent (spec 11, 25)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.web import Caller, Site
from tests.web.api.flows import only_task, publish, start


def document(name: str, **properties: Any) -> dict[str, Any]:
    return {
        "name": name,
        "nodes": [
            {"id": "start", "activityType": "Start"},
            {"id": "ask", "activityType": "UserTask", "properties": properties},
            {"id": "end", "activityType": "End"},
        ],
        "transitions": [
            {"id": "t1", "sourceNodeId": "start", "targetNodeId": "ask"},
            {"id": "t2", "sourceNodeId": "ask", "targetNodeId": "end"},
        ],
    }


@pytest.fixture
def task(designer: Caller, employee: Caller, manager: Caller) -> str:
    publish(designer, document("ask", Assignees=["manager", "emma"], CompletionPolicy="Ratio", CompletionThreshold=1))
    start(employee, "ask")
    return str(only_task(manager)["id"])


def test_a_task_tells_its_rule_its_signers_and_what_one_may_do(task: str, manager: Caller, operator: Caller) -> None:
    detail = manager.get(f"/tasks/{task}").expect(200)
    assert (detail["policy"], detail["threshold"], detail["status"]) == ("Ratio", 1, "open")
    assert detail["rights"] == {
        "complete": True, "claim": False, "release": False, "transfer": True, "delegate": True, "add": True,
        "remove": False, "urge": True, "undo": False,
    }  # fmt: skip
    manager.post(f"/tasks/{task}/add", {"assignees": ["operator"], "position": "after"}).expect(200)
    signers = manager.get(f"/tasks/{task}").expect(200)["signers"]
    assert [(one["id"], one["state"], one["after"], one["addedBy"]) for one in signers] == [
        ("manager", "pending", None, None),
        ("operator", "waiting", "manager", "manager"),
        ("emma", "pending", None, None),
    ]
    removed = manager.post(f"/tasks/{task}/remove", {"assignees": ["operator"]}).expect(200)
    assert [one["state"] for one in removed["task"]["signers"]] == ["pending", "removed", "pending"]
    manager.post(f"/tasks/{task}/remove", {"assignees": ["emma"]}).refused(403, "WORKFLOW_DENIED_001")
    operator.post(f"/tasks/{task}/remove", {"assignees": ["emma"]}).expect(200)
    refused = operator.post(f"/tasks/{task}/remove", {"assignees": ["manager"]})
    assert refused.refused(400, "WORKFLOW_VALIDATION_002")["errors"][0]["path"] == "assignees"


def test_a_group_task_is_claimed_and_released(designer: Caller, employee: Caller, manager: Caller, site: Site) -> None:
    rules = [{"type": "User", "values": ["role:user"], "claimable": True}]
    publish(designer, document("shared", AssigneeRules=rules))
    start(employee, "shared")
    (row,) = manager.get("/tasks?scope=claimable").expect(200)["items"]
    assert row["assigneeId"] == "role:user"
    claimed = manager.post(f"/tasks/{row['id']}/claim").expect(200)
    assert (claimed["task"]["assigneeId"], claimed["task"]["claimedBy"]) == ("manager", "manager")
    assert claimed["instanceStatus"] == "Running"
    lost = employee.post(f"/tasks/{row['id']}/claim").refused(409, "WORKFLOW_CONFLICT_004")
    assert lost["details"] == {"claimedBy": "manager"}
    manager.post(f"/tasks/{row['id']}/claim").expect(200)
    employee.post(f"/tasks/{row['id']}/release").refused(403, "WORKFLOW_DENIED_001")
    manager.post(f"/tasks/{row['id']}/release").expect(200)
    assert employee.get("/tasks/counts").expect(200) == {"mine": 0, "claimable": 1}


def test_a_task_is_lent_comes_back_and_is_urged(task: str, manager: Caller, operator: Caller, employee: Caller) -> None:
    lent = manager.post(f"/tasks/{task}/delegate", {"to": "operator", "comment": "see"}).expect(200)
    assert (lent["task"]["assigneeId"], lent["task"]["delegatedBy"]) == ("operator", "manager")
    back = operator.post(f"/tasks/{task}/complete", {"outcome": "approved"}).expect(200)
    assert (back["task"]["assigneeId"], back["task"]["status"]) == ("manager", "open")
    urged = employee.post(f"/tasks/{task}/urge").expect(200)
    assert (urged["task"]["urgeCount"], urged["task"]["lastUrgedAt"]) == (1, "2026-07-16T08:00:00.000Z")
    employee.post(f"/tasks/{task}/urge", {"comment": "please"}).expect(200)


def test_a_decision_is_undone(task: str, manager: Caller, employee: Caller) -> None:
    body = {"outcome": "approved", "undoSeconds": 20}
    held = manager.post(f"/tasks/{task}/complete", body).expect(200)["task"]
    assert (held["status"], held["completedBy"], held["outcome"]) == ("decided", "manager", "approved")
    assert held["undoUntil"] == "2026-07-16T08:00:20.000Z"
    refused = manager.post(f"/tasks/{task}/complete", {"outcome": "rejected"}).refused(409, "WORKFLOW_CONFLICT_003")
    assert (refused["details"]["completedBy"], refused["details"]["outcome"]) == ("manager", "approved")
    assert manager.get("/tasks").expect(200)["total"] == 0
    employee.post(f"/tasks/{task}/undo").refused(403, "WORKFLOW_DENIED_001")
    assert manager.post(f"/tasks/{task}/undo").expect(200)["task"]["status"] == "open"
    manager.post(f"/tasks/{task}/undo").refused(409, "WORKFLOW_CONFLICT_003")
    too_long = manager.post(f"/tasks/{task}/complete", {"outcome": "approved", "undoSeconds": 31})
    assert too_long.refused(400, "WORKFLOW_VALIDATION_002")["errors"][0]["path"] == "undoSeconds"


def test_several_are_decided_together_with_one_result_each(task: str, manager: Caller, employee: Caller) -> None:
    start(employee, "ask")
    ids = [row["id"] for row in manager.get("/tasks").expect(200)["items"]]
    (theirs,) = [row["id"] for row in employee.get("/tasks").expect(200)["items"][:1]]
    found = manager.post("/tasks/batch", {"ids": [*ids, "gone", theirs, ids[0]], "outcome": "rejected"}).expect(200)
    assert found["total"] == 4
    assert [(item["ok"], item["instanceStatus"]) for item in found["items"][:2]] == [(True, "Completed")] * 2
    assert [item["problem"]["code"] for item in found["items"][2:]] == [
        "WORKFLOW_NOTFOUND_003", "WORKFLOW_CONFLICT_003",
    ]  # fmt: skip
    for ids in ([], [f"x{number}" for number in range(101)]):
        manager.post("/tasks/batch", {"ids": ids, "outcome": "approved"}).refused(400, "WORKFLOW_VALIDATION_002")


def test_a_form_is_checked_with_paths(designer: Caller, employee: Caller, manager: Caller) -> None:
    form = {"properties": {"amount": {"type": "number"}}, "required": ["amount"]}
    publish(designer, document("form", Assignees=["manager"], Form=form))
    start(employee, "form")
    task = only_task(manager)["id"]
    assert manager.get(f"/tasks/{task}").expect(200)["form"] == form
    body = {"outcome": "approved", "variables": {"amount": "ten", "other": 1}}
    refused = manager.post(f"/tasks/{task}/complete", body).refused(400, "WORKFLOW_VALIDATION_002")
    assert [error["path"] for error in refused["errors"]] == ["variables.amount", "variables.other"]
    manager.post(f"/tasks/{task}/complete", {"outcome": "approved", "variables": {"amount": 10}}).expect(200)


def test_an_absence_is_set_seen_and_ended(task: str, manager: Caller, employee: Caller, operator: Caller) -> None:
    body = {"substituteId": "operator", "from": "2026-07-16T08:00:00Z", "to": "2026-07-17T08:00:00Z"}
    answer = manager.post("/substitutions", body)
    made = answer.expect(201)
    assert (made["absentId"], made["substituteId"], made["definitions"]) == ("manager", "operator", [])
    assert (made["from"], made["to"]) == ("2026-07-16T08:00:00.000Z", "2026-07-17T08:00:00.000Z")
    assert only_task(operator)["assigneeId"] == "manager"
    assert operator.get("/substitutions").expect(200)["items"] == [made]
    assert employee.get("/substitutions").expect(200)["total"] == 0
    done = operator.post(f"/tasks/{task}/complete", {"outcome": "approved"}).expect(200)["task"]
    assert (done["completedBy"], done["onBehalfOf"]) == ("operator", "manager")
    employee.post("/substitutions", {**body, "absentId": "manager"}).refused(403, "ACCESS_DENIED_001")
    wrong = manager.post("/substitutions", {**body, "to": "tomorrow"}).refused(400, "WORKFLOW_VALIDATION_002")
    assert wrong["errors"][0]["path"] == "to"
    employee.delete(f"/substitutions/{made['id']}").refused(404, "REQUEST_NOTFOUND_001")
    manager.delete(f"/substitutions/{made['id']}").expect(204)
    assert operator.get("/substitutions").expect(200)["total"] == 0
