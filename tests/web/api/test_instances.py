"""Instances over REST: start, watch, cancel, retry."""

from __future__ import annotations

import pytest

from tests.support.web import Caller, Site
from tests.web.api.flows import APPROVAL, FAULTY, GREETING, only_task, publish, start


def test_the_seeds_greeting_runs_to_its_end_in_the_first_wave(designer: Caller, employee: Caller) -> None:
    published = publish(designer, GREETING)
    answer = employee.post("/instances", {"name": "demo.greeting", "variables": {"name": "Lin"}})
    instance = answer.expect(201)
    assert answer.headers["Location"] == f"/api/v1/instances/{instance['id']}"
    assert instance["status"] == "Completed"
    assert instance["variables"]["greeting"] == "hello LIN"
    assert instance["definitionId"] == published["id"]
    assert instance["definitionVersion"] == 1
    assert instance["starterId"] == "emma"
    assert instance["rootInstanceId"] == instance["id"]
    assert instance["endedAt"] == "2026-07-16T08:00:00.000Z"
    for member in ("fault", "faultNodeId", "cancellationReason", "parentInstanceId", "scheduledAt"):
        assert instance[member] is None


def test_what_ran_and_what_waits_can_be_read(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, APPROVAL)
    instance = start(employee, "approval", what="A chair")
    path = f"/instances/{instance['id']}"
    for caller in (employee, operator):
        nodes = caller.get(f"{path}/nodes").expect(200)
        assert [(node["nodeId"], node["status"]) for node in nodes["items"]] == [
            ("start", "Completed"),
            ("decide", "Suspended"),
        ]
        assert nodes["items"][1]["causedBy"] == [nodes["items"][0]["id"]]
        assert nodes["items"][1]["viaTransitionIds"] == ["t1"]
        waits = caller.get(f"{path}/bookmarks").expect(200)
        assert [(wait["kind"], wait["key"], wait["nodeId"]) for wait in waits["items"]] == [
            ("UserTask", "manager", "decide")
        ]
        assert "payload" not in waits["items"][0]
        history = caller.get(f"{path}/history").expect(200)
        assert [(entry["action"], entry["actorId"]) for entry in history["items"]] == [("start", "emma")]
        assert history["items"][0]["requestId"]
    assert operator.get(f"{path}/nodes?offset=1&limit=1").expect(200)["items"][0]["nodeId"] == "decide"
    assert operator.get(f"{path}/bookmarks?offset=1&limit=1").expect(200) == {"items": [], "total": 1}
    for part in ("nodes", "bookmarks", "history"):
        for window in ("limit=0", "limit=1001", "offset=-1", "sort=nodeId"):
            operator.get(f"{path}/{part}?{window}").refused(400, "WORKFLOW_VALIDATION_002")


def test_the_list_filters_and_counts(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, GREETING)
    publish(designer, APPROVAL)
    start(employee, "demo.greeting", name="Lin")
    body = {"name": "approval", "title": "Chair", "correlationId": "PO-1", "variables": {"what": "A chair"}}
    employee.post("/instances", body).expect(201)
    employee.post("/instances", {**body, "correlationId": "PO-2"}).expect(201)

    def total(query: str) -> int:
        return int(operator.get(f"/instances?{query}").expect(200)["total"])

    assert total("") == 3
    assert total("status=Running") == 2
    assert total("status=Running&status=Completed") == 3
    assert total("correlationId=PO-1") == 1
    assert total("correlationId=PO-1&correlationId=PO-2") == 2
    assert total("correlationId=") == 0
    assert total("definitionName=approval&keyword=chair&starterId=emma&topLevelOnly=true") == 2
    assert total("keyword=po-2") == 1
    assert total("parentId=none") == 0
    assert total("createdFrom=2026-07-16T08:00:00Z&createdTo=2026-07-17T00:00:00%2B02:00") == 3
    assert total("endedFrom=2026-07-16T10:00:00%2B02:00") == 1
    counts = operator.get("/instances/counts?definitionName=approval").expect(200)
    assert counts == {"Running": 2, "Suspended": 0, "Completed": 0, "Canceled": 0, "Faulted": 0, "Terminated": 0}
    assert "variables" not in operator.get("/instances").expect(200)["items"][0]


def test_who_has_no_right_sees_only_what_it_has_a_part_in(
    site: Site, designer: Caller, employee: Caller, manager: Caller
) -> None:
    publish(designer, APPROVAL)
    instance = start(employee, "approval", what="A chair")
    site.account("eve", "user")
    eve = site.caller("eve")
    for part in ("", "/nodes", "/bookmarks", "/history"):
        eve.get(f"/instances/{instance['id']}{part}").refused(403, "ACCESS_DENIED_001")
        manager.get(f"/instances/{instance['id']}{part}").expect(200)
    assert eve.get("/instances").expect(200)["total"] == 0
    assert manager.get("/instances").expect(200)["total"] == 1
    assert eve.get("/instances/counts").expect(200)["Running"] == 0


@pytest.mark.parametrize("part", ["", "/nodes", "/bookmarks", "/history"])
def test_an_instance_that_never_was_is_404(operator: Caller, part: str) -> None:
    operator.get(f"/instances/nothing{part}").refused(404, "WORKFLOW_NOTFOUND_002")


@pytest.mark.parametrize(
    "query", ["status=Sleeping", "topLevelOnly=1", "endedTo=soon", "sort=variables", "limit=0", "colour=red"]
)
def test_a_query_that_cannot_be_read_is_refused(operator: Caller, query: str) -> None:
    operator.get(f"/instances?{query}").refused(400, "WORKFLOW_VALIDATION_002")


def test_counts_know_no_status(operator: Caller) -> None:
    operator.get("/instances/counts?status=Running").refused(400, "WORKFLOW_VALIDATION_002")


def test_a_start_says_which_variable_is_wrong(designer: Caller, employee: Caller) -> None:
    publish(designer, APPROVAL)
    for variables, path in (({}, "variables.what"), ({"what": 1}, "variables.what")):
        problem = employee.post("/instances", {"name": "approval", "variables": variables}).refused(
            400, "WORKFLOW_VALIDATION_002"
        )
        assert [error["path"] for error in problem["errors"]] == [path]


def test_variables_may_be_left_out(designer: Caller, employee: Caller) -> None:
    publish(designer, FAULTY)
    assert employee.post("/instances", {"name": "faulty"}).expect(201)["status"] == "Faulted"


def test_a_name_without_a_published_version_and_a_draft_by_id(designer: Caller) -> None:
    draft = designer.post("/definitions", GREETING).expect(201)
    designer.post("/instances", {"name": "demo.greeting"}).refused(404, "WORKFLOW_NOTFOUND_001")
    designer.post("/instances", {"definitionId": draft["id"]}).refused(409, "WORKFLOW_CONFLICT_002")


def test_reuse_policies(designer: Caller, employee: Caller) -> None:
    publish(designer, APPROVAL)
    body = {"name": "approval", "correlationId": "PO-1", "variables": {"what": "A chair"}}
    first = employee.post("/instances", body).expect(201)
    again = employee.post("/instances", {**body, "reusePolicy": "UseExisting"})
    assert again.expect(200)["id"] == first["id"]
    problem = employee.post("/instances", {**body, "reusePolicy": "RejectDuplicate"}).refused(
        409, "WORKFLOW_CONFLICT_005"
    )
    assert problem["details"] == {"instanceId": first["id"]}


@pytest.mark.parametrize(("lang", "word"), [("en", "no paper"), ("zh-CN", "no paper")])
def test_a_fault_is_told_in_the_readers_language_and_can_be_retried(
    designer: Caller, employee: Caller, operator: Caller, lang: str, word: str
) -> None:
    publish(designer, FAULTY)
    instance = start(employee, "faulty")
    path = f"/instances/{instance['id']}"
    fault = operator.get(path, Accept_Language=lang).expect(200)["fault"]
    assert fault["key"].startswith("workflow.")
    assert word in fault["message"]
    assert fault["inner"] is None
    retried = operator.post(f"{path}/retry", {"reason": "paper came"}).expect(200)
    assert retried["status"] == "Faulted"
    nodes = operator.get(f"{path}/nodes").expect(200)["items"]
    assert [(node["nodeId"], node["tryCount"]) for node in nodes] == [("start", 1), ("fail", 2)]
    employee.post(f"{path}/retry").refused(403, "ACCESS_DENIED_001")


def test_a_retry_of_what_was_undone_needs_force(designer: Caller, employee: Caller, operator: Caller) -> None:
    steps = [("start", "Start", {}), ("pay", "Log", {}), ("fail", "Fault", {}), ("refund", "Log", {})]
    nodes: list[dict[str, object]] = [
        {"id": id_, "activityType": type_, "properties": properties} for id_, type_, properties in steps
    ]
    nodes[1]["compensateWith"] = "refund"
    arrows = [{"id": f"{a}-{b}", "sourceNodeId": a, "targetNodeId": b} for a, b in (("start", "pay"), ("pay", "fail"))]
    publish(designer, {"name": "undone", "nodes": nodes, "transitions": arrows, "compensateOnFault": True})
    path = f"/instances/{start(employee, 'undone')['id']}"
    operator.post(f"{path}/retry").refused(409, "WORKFLOW_CONFLICT_001")
    assert operator.post(f"{path}/retry", {"force": True}).expect(200)["status"] == "Faulted"
    nodes = operator.get(f"{path}/nodes").expect(200)["items"]
    assert (nodes[1]["nodeId"], nodes[1]["status"]) == ("pay", "Compensated")
    assert [node["nodeId"] for node in nodes].count("refund") == 1


def test_cancelling_ends_what_runs_and_leaves_the_rest(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, APPROVAL)
    instance = start(employee, "approval", what="A chair")
    path = f"/instances/{instance['id']}"
    employee.post(f"{path}/cancel").refused(403, "ACCESS_DENIED_001")
    canceled = operator.post(f"{path}/cancel", {"reason": "not needed"}).expect(200)
    assert (canceled["status"], canceled["cancellationReason"]) == ("Canceled", "not needed")
    assert operator.get(f"{path}/bookmarks").expect(200) == {"items": [], "total": 0}
    assert operator.post(f"{path}/cancel", {"reason": "again"}).expect(200)["cancellationReason"] == "not needed"
    operator.post(f"{path}/retry").refused(409, "WORKFLOW_CONFLICT_001")


def test_what_later_versions_bring_is_not_there(designer: Caller, employee: Caller, operator: Caller) -> None:
    publish(designer, APPROVAL)
    instance = start(employee, "approval", what="A chair")
    for action in ("comments", "attachments"):
        operator.post(f"/instances/{instance['id']}/{action}", {}).refused(404, "REQUEST_NOTFOUND_001")


def test_a_title_with_markup_is_kept_as_text(designer: Caller, employee: Caller, manager: Caller) -> None:
    publish(designer, APPROVAL)
    title = "<script>alert(1)</script> {{x}}"
    body = {"name": "approval", "title": title, "variables": {"what": "<b>A chair</b>"}}
    assert employee.post("/instances", body).expect(201)["title"] == title
    assert only_task(manager)["title"] == "<b>A chair</b>?"
    assert only_task(manager)["instanceTitle"] == title


def test_a_text_that_is_too_long_is_refused_never_cut(designer: Caller, employee: Caller) -> None:
    publish(designer, APPROVAL)
    body = {"name": "approval", "title": "x" * 501, "variables": {"what": "A chair"}}
    problem = employee.post("/instances", body).refused(400, "WORKFLOW_VALIDATION_002")
    assert problem["errors"][0]["path"] == "title"
