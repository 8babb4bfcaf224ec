"""Definitions over REST: life cycle, revisions, import and export, and what is refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.support.web import Caller, Site
from tests.web.api.flows import APPROVAL, GREETING, publish


def test_a_draft_is_created_read_and_published(designer: Caller) -> None:
    created = designer.post("/definitions", GREETING)
    draft = created.expect(201)
    assert created.headers["Location"] == f"/api/v1/definitions/{draft['id']}"
    assert created.headers["ETag"] == f'"{draft["revision"]}"'
    assert draft["status"] == "Draft"
    assert draft["version"] == 1
    assert draft["displayName"] == "demo.greeting"
    assert draft["createdAt"] == "2026-07-16T08:00:00.000Z"
    assert draft["createdBy"] == "dan"
    assert designer.get(created.headers["Location"]).expect(200) == draft
    published = designer.post(f"/definitions/{draft['id']}/publish", {"note": "first"}).expect(200)
    assert published["status"] == "Published"
    assert published["publishNote"] == "first"
    assert published["revision"] > draft["revision"]
    assert "tenantId" not in published


def test_read_only_members_of_a_body_are_ignored(designer: Caller) -> None:
    document = {**GREETING, "id": "mine", "version": 7, "status": "Published", "createdAt": "2020-01-01T00:00:00Z"}
    draft = designer.post("/definitions", document).expect(201)
    assert (draft["version"], draft["status"]) == (1, "Draft")
    assert draft["id"] != "mine"


def test_numbers_come_back_as_they_were_written(designer: Caller) -> None:
    text = b"""{"name": "numbers", "nodes": [{"id": "a", "activityType": "SetVariable", "x": 1.50,
      "properties": {"Values": {"price": 0.1, "big": 12345678901234567.89, "whole": 7}}}], "transitions": []}"""
    created = designer.send("POST", "/definitions", data=text, headers={})
    draft = created.expect(201)
    body = designer.get(f"/definitions/{draft['id']}").response.text
    for number in ('"price":0.1,', '"big":12345678901234567.89', '"whole":7', '"x":1.50'):
        assert number in body


def test_a_draft_is_replaced_by_who_read_its_last_revision(designer: Caller) -> None:
    draft = designer.post("/definitions", GREETING).expect(201)
    path, etag = f"/definitions/{draft['id']}", f'"{draft["revision"]}"'
    changed = designer.put(path, {**GREETING, "displayName": "Hello"}, If_Match=etag)
    assert changed.expect(200)["displayName"] == "Hello"
    stale = designer.put(path, {**GREETING, "displayName": "Late"}, If_Match=etag)
    problem = stale.refused(412, "REQUEST_STALE_001")
    assert problem["details"] == {
        "revision": changed.json["revision"],
        "updatedBy": "dan",
        "updatedAt": changed.json["updatedAt"],
    }
    assert designer.get(path).expect(200)["displayName"] == "Hello"


@pytest.mark.parametrize("etag", ["", "*"])
def test_replacing_without_a_revision_is_428(designer: Caller, etag: str) -> None:
    draft = designer.post("/definitions", GREETING).expect(201)
    answer = designer.put(f"/definitions/{draft['id']}", GREETING, **({"If_Match": etag} if etag else {}))
    assert "If-Match" in answer.refused(428, "REQUEST_PRECONDITION_001")["detail"]


@pytest.mark.parametrize("etag", ['"abc"', "1", 'W/"1"', '"-1"', '"99999999999999999999"'])
def test_an_if_match_that_is_no_revision_of_ours_matches_none(designer: Caller, etag: str) -> None:
    draft = designer.post("/definitions", GREETING).expect(201)
    designer.put(f"/definitions/{draft['id']}", GREETING, If_Match=etag).refused(412, "REQUEST_STALE_001")


def test_publish_disable_archive_and_delete_take_a_revision(designer: Caller) -> None:
    draft = designer.post("/definitions", GREETING).expect(201)
    path = f"/definitions/{draft['id']}"
    for action in ("publish", "archive"):
        designer.post(f"{path}/{action}", If_Match='"0"').refused(412, "REQUEST_STALE_001")
    designer.delete(path, If_Match='"0"').refused(412, "REQUEST_STALE_001")
    assert designer.delete(path, If_Match=f'"{draft["revision"]}"').expect(204) is None
    designer.get(path).refused(404, "WORKFLOW_NOTFOUND_001")


def test_a_published_definition_is_changed_by_a_new_version_only(designer: Caller) -> None:
    published = publish(designer, GREETING)
    path, etag = f"/definitions/{published['id']}", f'"{published["revision"]}"'
    designer.put(path, GREETING, If_Match=etag).refused(409, "WORKFLOW_CONFLICT_002")
    designer.delete(path).refused(409, "WORKFLOW_CONFLICT_002")
    designer.post(f"{path}/publish").refused(409, "WORKFLOW_CONFLICT_002")
    second = designer.post(f"{path}/versions").expect(201)
    assert (second["version"], second["status"]) == (2, "Draft")
    assert designer.post(f"{path}/disable").expect(200)["status"] == "Disabled"
    assert designer.post(f"{path}/archive").expect(200)["status"] == "Archived"


def test_the_list_filters_sorts_and_counts(designer: Caller) -> None:
    publish(designer, GREETING)
    publish(designer, {**APPROVAL, "category": "People"})
    designer.post("/definitions", APPROVAL).expect(201)
    every = designer.get("/definitions").expect(200)
    assert [(row["name"], row["version"]) for row in every["items"]] == [
        ("approval", 2),
        ("approval", 1),
        ("demo.greeting", 1),
    ]
    assert every["total"] == 3
    assert "nodes" not in every["items"][0]
    assert designer.get("/definitions?status=Draft").expect(200)["total"] == 1
    assert designer.get("/definitions?category=People").expect(200)["total"] == 1
    assert designer.get("/definitions?keyword=GREET").expect(200)["total"] == 1
    assert designer.get("/definitions?keyword=").expect(200)["total"] == 3
    assert designer.get("/definitions?limit=1&offset=1&sort=-name,version").expect(200)["items"][0]["version"] == 1
    latest = designer.get("/definitions?latest=true&name=approval").expect(200)["items"]
    assert [(row["version"], row["draftVersion"], row["runningInstances"]) for row in latest] == [(1, 2, 0)]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=x", "limit"),
        ("limit=1e3", "limit"),
        ("limit=99999999999999999999", "limit"),
        ("limit=1&limit=2", "limit"),
        ("offset=-1", "offset"),
        ("sort=colour", "sort"),
        ("sort=name,name,name,name,name,name,name", "sort"),
        ("status=Drafty", "status"),
        ("status=", "status"),
        ("latest=yes", "latest"),
        ("createdFrom=yesterday", "createdFrom"),
        ("createdTo=2026-11-30", "createdTo"),
        ("createdTo=2026-11-30T09:15:00", "createdTo"),
        ("createdTo=2026-02-30T09:15:00Z", "createdTo"),
        ("createdTo=0001-01-01T00:00:00%2B14:00", "createdTo"),
        ("name=", "name"),
        ("name=%00", "name"),
        ("colour=red", "colour"),
    ],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_query_that_cannot_be_read_is_named(designer: Caller, query: str, path: str, lang: str) -> None:
    answer = designer.get(f"/definitions?{query}", Accept_Language=lang)
    problem = answer.refused(400, "WORKFLOW_VALIDATION_002")
    assert [error["path"] for error in problem["errors"]] == [path]
    message = problem["errors"][0]["message"]
    assert message and message != problem["errors"][0]["key"]
    assert (lang == "zh") == any("\u4e00" <= character <= "\u9fff" for character in message)


def test_every_mistake_of_a_query_is_named_at_once(designer: Caller) -> None:
    problem = designer.get("/definitions?limit=x&status=y&createdTo=z").refused(400, "WORKFLOW_VALIDATION_002")
    assert {error["path"] for error in problem["errors"]} == {"limit", "status", "createdTo"}


def test_validation_changes_nothing_and_names_everything(designer: Caller) -> None:
    draft = designer.post("/definitions", {"name": "empty"}).expect(201)
    path = f"/definitions/{draft['id']}"
    report = designer.post(f"{path}/validate").expect(200)
    assert [error["key"] for error in report["errors"]] == ["workflow.definition.no_nodes"]
    assert report["errors"][0]["message"]
    assert designer.post(f"{path}/validate", GREETING).expect(200)["errors"] == []
    assert designer.get(path).expect(200) == draft


def test_five_different_mistakes_come_back_at_once(designer: Caller) -> None:
    document = {
        "name": "five",
        "nodes": [
            {"id": "start", "activityType": "Start"},
            {"id": "twin", "activityType": "Log"},
            {"id": "twin", "activityType": "Log"},
            {"id": "alien", "activityType": "Teleport"},
            {"id": "alone", "activityType": "Log"},
        ],
        "transitions": [
            {"id": "t1", "sourceNodeId": "start", "targetNodeId": "twin"},
            {"id": "t2", "sourceNodeId": "twin", "targetNodeId": "alien", "condition": "1 +"},
            {"id": "t3", "sourceNodeId": "alien", "targetNodeId": "nowhere"},
        ],
    }
    draft = designer.post("/definitions", document).expect(201)
    answer = designer.post(f"/definitions/{draft['id']}/publish")
    problem = answer.refused(400, "WORKFLOW_VALIDATION_001")
    keys = {error["key"] for error in problem["errors"]}
    assert {
        "workflow.definition.node.duplicate",
        "workflow.definition.activity.unknown",
        "workflow.definition.unreachable",
        "workflow.definition.transition.target",
    } <= keys
    assert "workflow.expression.syntax" in keys
    assert all(error["path"] and error["message"] for error in problem["errors"])
    assert designer.get(f"/definitions/{draft['id']}").expect(200)["status"] == "Draft"


@pytest.mark.parametrize(
    ("condition", "key"),
    [("a" * 4_001, "workflow.expression.too_long"), ("(" * 65 + "true" + ")" * 65, "workflow.expression.too_deep")],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_expression_over_its_bounds_is_refused_at_publish(
    designer: Caller, condition: str, key: str, lang: str
) -> None:
    document = {
        **GREETING,
        "transitions": [{**GREETING["transitions"][0], "condition": condition}, GREETING["transitions"][1]],
    }
    draft = designer.post("/definitions", document).expect(201)
    answer = designer.post(f"/definitions/{draft['id']}/publish", Accept_Language=lang)
    error = answer.refused(400, "WORKFLOW_VALIDATION_001")["errors"][0]
    assert error["key"] == key
    assert error["path"] == "transitions[0].condition"
    assert error["message"] and error["message"] != key


def test_an_expression_of_3999_characters_is_fine(designer: Caller) -> None:
    document = {**GREETING, "name": "long"}
    document["nodes"] = [
        {**node, "properties": {"Expressions": {"sum": "1" + "+1" * 1_999}}} if node["id"] == "greet" else node
        for node in GREETING["nodes"]
    ]
    publish(designer, document)
    instance = designer.post("/instances", {"name": "long", "variables": {"name": "x"}}).expect(201)
    assert instance["variables"]["sum"] == 2_000


def test_a_portable_document_goes_out_and_comes_in_again(designer: Caller) -> None:
    published = publish(designer, APPROVAL)
    exported = designer.get(f"/definitions/{published['id']}/export").expect(200)
    assert exported["name"] == "approval"
    for member in ("id", "tenantId", "version", "revision", "status", "createdAt", "publishedAt"):
        assert member not in exported
    answer = designer.post("/definitions/import", exported)
    imported = answer.expect(201)
    assert (imported["version"], imported["status"]) == (2, "Draft")
    assert imported["nodes"] == published["nodes"]
    assert answer.headers["Location"] == f"/api/v1/definitions/{imported['id']}"


def test_two_versions_are_compared(designer: Caller) -> None:
    first = publish(designer, APPROVAL)
    second = designer.post(f"/definitions/{first['id']}/versions").expect(201)
    changed = {
        **APPROVAL,
        "timeout": Decimal("1.50"),
        "nodes": [*APPROVAL["nodes"], {"id": "more", "activityType": "Log"}],
    }
    designer.put(f"/definitions/{second['id']}", changed, If_Match=f'"{second["revision"]}"').expect(200)
    diff = designer.get(f"/definitions/{first['id']}/diff/{second['id']}").expect(200)
    assert [node["id"] for node in diff["nodes"]["added"]] == ["more"]
    assert diff["nodes"]["removed"] == []
    assert diff["settings"] == [{"path": "timeout", "before": None, "after": Decimal("1.50")}]
    back = designer.get(f"/definitions/{second['id']}/diff/{first['id']}").expect(200)
    assert [node["id"] for node in back["nodes"]["removed"]] == ["more"]


def test_shape_problems_of_a_document_are_all_named(designer: Caller) -> None:
    document = {"name": "shape", "nodes": [{"id": 1, "activityType": "Log", "colour": "red"}], "variables": "none"}
    problem = designer.post("/definitions", document).refused(400, "WORKFLOW_VALIDATION_002")
    assert {error["path"] for error in problem["errors"]} >= {"nodes[0].id", "nodes[0].colour", "variables"}


def test_who_may_do_what(site: Site, designer: Caller, employee: Caller, operator: Caller) -> None:
    published = publish(designer, GREETING)
    path = f"/definitions/{published['id']}"
    for caller in (employee, operator, site.caller("wes")):
        caller.post("/definitions", GREETING).refused(403, "ACCESS_DENIED_001")
        caller.post("/definitions/import", GREETING).refused(403, "ACCESS_DENIED_001")
        caller.put(path, GREETING, If_Match='"1"').refused(403, "ACCESS_DENIED_001")
        caller.delete(path).refused(403, "ACCESS_DENIED_001")
        for action in ("publish", "disable", "archive", "versions"):
            caller.post(f"{path}/{action}").refused(403, "ACCESS_DENIED_001")
    operator.get(path).expect(200)
    employee.get(path).refused(403, "ACCESS_DENIED_001")
    assert employee.get("/definitions").expect(200)["total"] == 1
    designer.post("/definitions", APPROVAL).expect(201)
    assert employee.get("/definitions").expect(200)["total"] == 1
    site.caller("wes").get("/definitions").refused(403, "ACCESS_DENIED_001")


def test_another_tenants_definition_is_not_there(site: Site, designer: Caller) -> None:
    published = publish(designer, GREETING)
    site.account("olga", "administrator", tenant_id="north")
    olga = site.caller("olga")
    other = olga.get(f"/definitions/{published['id']}").refused(404, "WORKFLOW_NOTFOUND_001")
    never = olga.get("/definitions/01a22c6c-0000-7000-8000-000000000000").refused(404, "WORKFLOW_NOTFOUND_001")
    assert other["title"] == never["title"]
    assert olga.get("/definitions").expect(200)["total"] == 0
    olga.post("/instances", {"name": "demo.greeting", "variables": {"name": "x"}}).refused(404, "WORKFLOW_NOTFOUND_001")


@pytest.mark.parametrize("path", ["/definitions/%00", "/definitions/" + "x" * 201, "/instances/%00", "/tasks/a%00b"])
def test_an_id_that_no_store_can_hold_is_no_address(designer: Caller, path: str) -> None:
    designer.get(path).refused(404, "REQUEST_NOTFOUND_001")


def test_a_draft_may_be_put_without_its_name(designer: Caller) -> None:
    draft = designer.post("/definitions", {"name": "put.nameless", "nodes": []}).expect(201)
    body = {"displayName": "Named otherwise", "nodes": []}
    saved = designer.put(f"/definitions/{draft['id']}", body, **{"If-Match": '"1"'}).expect(200)
    assert (saved["name"], saved["displayName"]) == ("put.nameless", "Named otherwise")


def test_a_document_of_version_4_becomes_a_draft(designer: Caller) -> None:
    start, end = {"id": "s", "activityType": "Start"}, {"id": "e", "activityType": "End"}
    edge = {"id": "s->e#1", "sourceNodeId": "s", "targetNodeId": "e", "priority": 2147483647, "isDefault": True}
    old = {"id": "17", "code": "old-flow", "name": "Old flow", "status": "Published", "nodes": [start, end]}
    imported = designer.post("/definitions/import", {**old, "transitions": [edge]}).expect(201)
    assert (imported["name"], imported["displayName"], imported["status"]) == ("old-flow", "Old flow", "Draft")
    assert (imported["transitions"][0]["id"], imported["transitions"][0]["priority"]) == ("t1", 0)
    assert designer.post(f"/definitions/{imported['id']}/publish", If_Match=f'"{imported["revision"]}"').expect(200)


def test_what_version_4_could_and_nobody_can_any_more_is_refused_with_its_place(designer: Caller) -> None:
    old = {"code": "Old Flow", "name": "x", "nodes": [{"id": "calc", "activityType": "Script"}]}
    refused = designer.post("/definitions/import", old).refused(400, "WORKFLOW_VALIDATION_002")
    assert [one["path"] for one in refused["errors"]] == ["code", "nodes[0].activityType"]
    assert "“calc” is a Script" in refused["errors"][1]["message"]
