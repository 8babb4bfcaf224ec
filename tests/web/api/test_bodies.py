"""What the JSON door and the shape check refuse, each with code, path and remedy, in both languages."""

from __future__ import annotations

import io

import pytest

from tests.support.web import CATALOG, Answer, Caller, Site
from tests.web.api.flows import GREETING, publish
from webapp.web.api import ENDPOINTS, document
from webapp.web.api.body import MAX_BODY_BYTES
from webapp.web.api.routing import Endpoint

BROKEN = [
    (b'{"name": ', "", "workflow.json.syntax"),
    (b'{"name": "a", "name": "b"}', "name", "workflow.json.duplicate"),
    (b'{"name": "a", "variables": {"x": 1e999999999}}', "variables.x", "workflow.json.number"),
    (b'{"name": "a", "variables": {"x": NaN}}', "variables.x", "workflow.json.number"),
    (b'{"name": "a", "variables": {"x": "\\ud800"}}', "variables.x", "workflow.json.character"),
    (b'{"name": "a\\u0000"}', "name", "workflow.json.character"),
    (b'{"name": "\xff"}', "", "workflow.json.encoding"),
]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(("body", "path", "key"), BROKEN, ids=[key for _, _, key in BROKEN[:3]] + list("defg"))
@pytest.mark.parametrize("call", ["/instances", "/definitions", "/definitions/import"])
def test_the_door_refuses_with_a_path(site: Site, call: str, body: bytes, path: str, key: str, lang: str) -> None:
    answer = site.caller("ada").send("POST", call, data=body, headers={"Accept-Language": lang})
    problem = answer.refused(400, "WORKFLOW_VALIDATION_002")
    assert (problem["errors"][0]["path"], problem["errors"][0]["key"]) == (path, key)
    assert problem["errors"][0]["message"] != key
    assert problem["detail"].endswith(
        "请改正后重新发送请求。" if lang == "zh" else ". Correct it and send the request again."
    )


def test_broken_json_is_refused_with_its_place(employee: Caller) -> None:
    answer = employee.send("POST", "/instances", data=b'{\n  "name": oops}', headers={})
    error = answer.refused(400, "WORKFLOW_VALIDATION_002")["errors"][0]
    assert (error["line"], error["column"]) == (2, 11)


def test_sixty_four_levels_pass_and_the_65th_does_not(site: Site) -> None:
    caller = site.caller("ada")

    def nested(levels: int) -> bytes:
        inside = b"[" * (levels - 2) + b"]" * (levels - 2)
        return b'{"name": "none", "variables": {"x": ' + inside + b"}}"

    caller.send("POST", "/instances", data=nested(64), headers={}).refused(404, "WORKFLOW_NOTFOUND_001")
    problem = caller.send("POST", "/instances", data=nested(65), headers={}).refused(400, "WORKFLOW_VALIDATION_002")
    assert problem["errors"][0]["key"] == "workflow.json.depth"
    assert problem["errors"][0]["path"].startswith("variables.x[0][0]")


def test_a_body_that_is_too_large_is_413(employee: Caller) -> None:
    body = b'{"name": "' + b"x" * MAX_BODY_BYTES + b'"}'
    assert (
        "64 KiB"
        in employee.send("POST", "/instances", data=body, headers={}).refused(413, "REQUEST_TOOLARGE_001")["detail"]
    )


def test_a_chunked_body_that_is_too_large_is_413_as_well(employee: Caller) -> None:
    body = b'{"name": "a"}' + b" " * MAX_BODY_BYTES
    response = employee.client.post(
        "/api/v1/instances",
        input_stream=io.BytesIO(body),
        headers={**employee.headers, "Content-Type": "application/json", "Transfer-Encoding": "chunked"},
        environ_overrides={"wsgi.input_terminated": True},
    )
    Answer(response).refused(413, "REQUEST_TOOLARGE_001")


def test_variables_over_a_mebibyte_are_413(designer: Caller, employee: Caller) -> None:
    publish(designer, GREETING)
    variables = {"name": "x" * (1024 * 1024)}
    problem = employee.post("/instances", {"name": "demo.greeting", "variables": variables}).refused(
        413, "REQUEST_TOOLARGE_001"
    )
    assert problem["errors"][0]["path"] == "variables"


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_media_type_is_415(employee: Caller, media_type: str) -> None:
    answer = employee.send("POST", "/instances", data=b"{}", headers={"Content-Type": media_type})
    answer.refused(415, "REQUEST_MEDIATYPE_001")


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"null", b"1"])
def test_a_body_must_be_an_object(employee: Caller, body: bytes) -> None:
    answer = employee.send("POST", "/instances", data=body, headers={})
    assert answer.refused(400, "WORKFLOW_VALIDATION_002")["errors"][0]["key"] == "api.body.type"


@pytest.mark.parametrize(
    ("body", "path", "key"),
    [
        ({"name": "a", "variables": None}, "variables", "api.body.type"),
        ({"name": 1}, "name", "api.body.type"),
        ({"name": "a", "version": True}, "version", "api.body.type"),
        ({"name": "a", "version": "1"}, "version", "api.body.type"),
        ({"name": "a", "reusePolicy": "Sometimes"}, "reusePolicy", "api.body.choice"),
        ({"name": "a", "reusePolicy": 1}, "reusePolicy", "api.body.type"),
        ({"name": "a", "colour": 1}, "colour", "api.body.unknown"),
        ({"name": "a", "odd name": 1}, '["odd name"]', "api.body.unknown"),
        ({}, "name", "services.start.no_definition"),
    ],
)
def test_a_start_of_the_wrong_form_is_named(employee: Caller, body: object, path: str, key: str) -> None:
    problem = employee.post("/instances", body).refused(400, "WORKFLOW_VALIDATION_002")
    assert [(error["path"], error["key"]) for error in problem["errors"]] == [(path, key)]


def test_every_wrong_member_is_named_at_once(manager: Caller) -> None:
    body = {"comment": 1, "variables": [], "extra": 1}
    problem = manager.post("/tasks/any/complete", body).refused(400, "WORKFLOW_VALIDATION_002")
    assert {(error["path"], error["key"]) for error in problem["errors"]} == {
        ("outcome", "api.body.missing"),
        ("comment", "api.body.type"),
        ("variables", "api.body.type"),
        ("extra", "api.body.unknown"),
    }


def test_an_item_of_a_list_is_named_by_its_index(manager: Caller) -> None:
    problem = manager.post("/tasks/any/add", {"assignees": ["a", 2]}).refused(400, "WORKFLOW_VALIDATION_002")
    assert problem["errors"][0]["path"] == "assignees[1]"


def test_a_call_without_a_body_refuses_one_that_says_something(designer: Caller) -> None:
    designer.post("/definitions/any/versions", {"name": "x"}).refused(400, "WORKFLOW_VALIDATION_002")
    designer.post("/definitions/any/versions", {}).refused(404, "WORKFLOW_NOTFOUND_001")
    text = designer.send("POST", "/definitions/any/versions", data=b"x", headers={"Content-Type": "text/plain"})
    text.refused(415, "REQUEST_MEDIATYPE_001")
    assert designer.send("GET", "/me", data=b"x", headers={"Content-Type": "text/plain"}).status == 200


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.name)
def test_what_bodies_can_be_refused_for_is_documented(endpoint: Endpoint) -> None:
    path = "/api/v1" + endpoint.path.replace("<", "{").replace(">", "}")
    answers = document(CATALOG, "en")["paths"][path][endpoint.method.lower()]["responses"]
    assert {"413", "415"} <= answers.keys() or endpoint.method == "GET"
