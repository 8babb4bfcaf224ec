"""Tasks over REST: list, read, decide, hand over, add signers."""

from __future__ import annotations

import threading

import pytest

from tests.support.web import Answer, Caller, Site
from tests.web.api.flows import APPROVAL, only_task, publish, start


@pytest.fixture
def waiting(designer: Caller, employee: Caller) -> str:
    publish(designer, APPROVAL)
    return str(start(employee, "approval", what="A chair")["id"])


@pytest.fixture
def task(waiting: str, manager: Caller) -> str:
    return str(only_task(manager)["id"])


def test_a_task_is_listed_to_its_assignee(waiting: str, manager: Caller, employee: Caller) -> None:
    row = only_task(manager)
    assert row["instanceId"] == waiting
    assert row["title"] == "A chair?"
    assert row["instanceTitle"] == "Approval"
    assert row["definitionName"] == "approval"
    assert row["assigneeId"] == "manager"
    assert row["priority"] == "normal"
    assert row["unread"] is True
    assert row["createdAt"] == "2026-07-16T08:00:00.000Z"
    assert manager.get("/tasks/counts").expect(200) == {"mine": 1, "claimable": 0}
    assert employee.get("/tasks").expect(200)["total"] == 0


def test_a_task_is_read_with_what_its_decider_needs(task: str, manager: Caller, employee: Caller) -> None:
    detail = manager.get(f"/tasks/{task}").expect(200)
    assert detail["status"] == "open"
    assert detail["allowedOutcomes"] == ["approved", "rejected"]
    assert detail["variables"] == {"what": "A chair"}
    assert detail["policy"] == "Any"
    assert [(signer["id"], signer["state"]) for signer in detail["signers"]] == [("manager", "pending")]
    assert detail["trail"]
    employee.get(f"/tasks/{task}").expect(200)


def test_filters_sorts_and_their_rights(task: str, manager: Caller, operator: Caller) -> None:
    assert operator.get("/tasks?scope=all").expect(200)["total"] == 1
    assert operator.get("/tasks?assignee=manager").expect(200)["total"] == 1
    assert manager.get("/tasks?assignee=manager").expect(200)["total"] == 1
    manager.get("/tasks?scope=all").refused(403, "ACCESS_DENIED_001")
    manager.get("/tasks?assignee=operator").refused(403, "ACCESS_DENIED_001")
    assert manager.get("/tasks?keyword=CHAIR&definitionName=approval").expect(200)["total"] == 1
    assert manager.get("/tasks?dueBefore=2030-01-01T00:00:00Z").expect(200)["total"] == 0
    assert manager.get("/tasks?scope=claimable").expect(200)["total"] == 0
    assert manager.get("/tasks?sort=-priority,dueAt,title").expect(200)["total"] == 1


@pytest.mark.parametrize("query", ["scope=everything", "dueBefore=later", "sort=form", "limit=0"])
def test_a_query_that_cannot_be_read_is_refused(manager: Caller, query: str) -> None:
    manager.get(f"/tasks?{query}").refused(400, "WORKFLOW_VALIDATION_002")


def test_deciding_ends_the_task_and_the_instance_goes_on(task: str, waiting: str, manager: Caller) -> None:
    result = manager.post(f"/tasks/{task}/complete", {"outcome": "approved", "comment": "fine"}).expect(200)
    assert result["instanceId"] == waiting
    assert result["instanceStatus"] == "Completed"
    ended = result["task"]
    assert (ended["status"], ended["completedBy"], ended["outcome"]) == ("ended", "manager", "approved")
    assert ended["endedAt"] == "2026-07-16T08:00:00.000Z"
    assert manager.get("/tasks").expect(200)["total"] == 0
    again = manager.get(f"/tasks/{task}").expect(200)
    assert (again["status"], again["completedBy"], again["outcome"]) == ("ended", "manager", "approved")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_outcome_that_is_not_allowed_is_refused(task: str, manager: Caller, lang: str) -> None:
    answer = manager.post(f"/tasks/{task}/complete", {"outcome": "maybe"}, Accept_Language=lang)
    problem = answer.refused(400, "WORKFLOW_VALIDATION_002")
    assert problem["errors"][0]["path"] == "outcome"
    assert "approved" in problem["errors"][0]["message"]
    assert manager.get("/tasks").expect(200)["total"] == 1


@pytest.mark.parametrize("name", ["outcome", "lastError", "__timeout", "actorId", "comment"])
def test_reserved_variables_cannot_be_written(task: str, manager: Caller, name: str) -> None:
    body = {"outcome": "approved", "variables": {name: "x"}}
    problem = manager.post(f"/tasks/{task}/complete", body).refused(400, "WORKFLOW_VALIDATION_002")
    assert problem["errors"][0]["path"] == f"variables.{name}"


def test_somebody_elses_task_is_denied(task: str, employee: Caller, operator: Caller) -> None:
    employee.post(f"/tasks/{task}/complete", {"outcome": "approved"}).refused(403, "WORKFLOW_DENIED_001")
    operator.post(f"/tasks/{task}/complete", {"outcome": "approved"}).refused(403, "WORKFLOW_DENIED_001")


def test_a_task_that_never_was_is_404_and_one_that_is_done_409(task: str, manager: Caller, site: Site) -> None:
    manager.post("/tasks/nothing/complete", {"outcome": "approved"}).refused(404, "WORKFLOW_NOTFOUND_003")
    manager.get("/tasks/nothing").refused(404, "WORKFLOW_NOTFOUND_003")
    manager.post(f"/tasks/{task}/complete", {"outcome": "approved"}).expect(200)
    problem = manager.post(f"/tasks/{task}/complete", {"outcome": "rejected"}).refused(409, "WORKFLOW_CONFLICT_003")
    assert problem["details"] == {
        "endReason": "completed",
        "completedBy": "manager",
        "outcome": "approved",
        "at": "2026-07-16T08:00:00.000Z",
    }
    assert problem["detail"].startswith("manager decided this at 2026-07-16T08:00:00.000Z: ")
    site.account("eve", "user")
    site.caller("eve").post(f"/tasks/{task}/complete", {"outcome": "x"}).refused(403, "WORKFLOW_DENIED_001")


def test_twenty_at_once_make_one_decision(task: str, site: Site) -> None:
    site.caller("manager")
    barrier = threading.Barrier(20)
    answers: list[Answer] = []

    def decide() -> None:
        caller = site.caller("manager")
        barrier.wait()
        answers.append(caller.post(f"/tasks/{task}/complete", {"outcome": "approved"}))

    threads = [threading.Thread(target=decide) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status for answer in answers) == [200] + [409] * 19
    for answer in answers:
        if answer.status == 409:
            details = answer.refused(409, "WORKFLOW_CONFLICT_003")["details"]
            assert (details["completedBy"], details["outcome"]) == ("manager", "approved")
            assert details["at"]


def test_a_task_is_handed_over_in_place(task: str, manager: Caller, employee: Caller) -> None:
    result = manager.post(f"/tasks/{task}/transfer", {"to": "emma", "comment": "yours"}).expect(200)
    assert result["task"]["id"] == task
    assert result["task"]["assigneeId"] == "emma"
    assert result["instanceStatus"] == "Running"
    manager.post(f"/tasks/{task}/complete", {"outcome": "approved"}).refused(403, "WORKFLOW_DENIED_001")
    employee.post(f"/tasks/{task}/complete", {"outcome": "approved"}).expect(200)


def test_signers_are_added_beside(task: str, manager: Caller, employee: Caller) -> None:
    manager.post(f"/tasks/{task}/add", {"assignees": ["emma"]}).expect(200)
    assert only_task(employee)["title"] == "A chair?"
    manager.post(f"/tasks/{task}/add", {"assignees": ["emma"]}).refused(409, "WORKFLOW_CONFLICT_004")
    manager.post(f"/tasks/{task}/add", {"assignees": ["wes"], "position": "sideways"}).refused(
        400, "WORKFLOW_VALIDATION_002"
    )


def test_an_operator_hands_over_for_others(task: str, operator: Caller, employee: Caller) -> None:
    operator.post(f"/tasks/{task}/transfer", {"to": "emma"}).expect(200)
    assert only_task(employee)["assigneeId"] == "emma"
