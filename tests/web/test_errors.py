"""Every refusal has one form, a status, and a title and a remedy in both languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flask import abort
from jinja2 import DictLoader
from werkzeug.exceptions import ServiceUnavailable

from tests.support.web import CATALOG, Site, make_site
from webapp.engine import errors as engine
from webapp.engine.errors import Problem, WorkflowError
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonDecimal, encode
from webapp.web.errors import RETRY_AFTER, STATUS, problem_document

CODES_OF_THE_SPECIFICATION = {
    "WORKFLOW_VALIDATION_001": 400,
    "WORKFLOW_VALIDATION_002": 400,
    "WORKFLOW_VALIDATION_003": 400,
    "WORKFLOW_NOTFOUND_001": 404,
    "WORKFLOW_NOTFOUND_002": 404,
    "WORKFLOW_NOTFOUND_003": 404,
    "WORKFLOW_NOTFOUND_004": 404,
    "WORKFLOW_CONFLICT_001": 409,
    "WORKFLOW_CONFLICT_002": 409,
    "WORKFLOW_CONFLICT_003": 409,
    "WORKFLOW_CONFLICT_004": 409,
    "WORKFLOW_CONFLICT_005": 409,
    "WORKFLOW_DENIED_001": 403,
    "WORKFLOW_DENIED_002": 403,
    "WORKFLOW_TIMEOUT_001": 503,
    "WORKFLOW_UNAVAILABLE_001": 503,
    "WORKFLOW_UNAVAILABLE_002": 503,
    "WORKFLOW_UNEXPECTED_001": 500,
    "PERSISTENCE_UNEXPECTED_001": 503,
    "ACCESS_UNAUTHENTICATED_001": 401,
    "ACCESS_DENIED_001": 403,
    "ACCESS_DENIED_002": 403,
    "REQUEST_NOTFOUND_001": 404,
    "REQUEST_METHOD_001": 405,
    "REQUEST_STALE_001": 412,
    "REQUEST_TOOLARGE_001": 413,
    "REQUEST_MEDIATYPE_001": 415,
    "REQUEST_REUSED_001": 422,
    "REQUEST_PRECONDITION_001": 428,
    "REQUEST_RATE_001": 429,
}

CODES_OF_THE_ENGINE = {
    value for name, value in vars(engine).items() if name.isupper() and isinstance(value, str) and value[-4] == "_"
}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


def test_the_table_is_the_specifications() -> None:
    assert STATUS == CODES_OF_THE_SPECIFICATION
    assert STATUS.keys() >= CODES_OF_THE_ENGINE


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("code", sorted(CODES_OF_THE_SPECIFICATION))
def test_every_refusal_has_the_same_form(site: Site, code: str, lang: str) -> None:
    problem = Problem(path="variables.amount", key="api.body.missing", params={}, node_id="a", line=1, column=2)
    error = WorkflowError("errors.csrf", code=code, problems=[problem], details={"at": site.clock.now()})
    with site.app.test_request_context():
        document = problem_document(error, CATALOG, lang)  # type: ignore[arg-type]  # one of the two languages
    assert document["type"] == f"urn:waypost:error:{code}"
    assert document["status"] == CODES_OF_THE_SPECIFICATION[code]
    assert document["code"] == code
    assert len(document["title"]) > 3
    assert len(document["detail"]) > 10
    assert document["errors"] == [
        {
            "path": "variables.amount",
            "key": "api.body.missing",
            "params": {},
            "message": CATALOG.text("api.body.missing", {}, lang),  # type: ignore[arg-type]  # as above
            "nodeId": "a",
            "line": 1,
            "column": 2,
        }
    ]
    assert document["details"] == {"at": "2026-07-16T08:00:00.000Z"}
    assert set(document) <= {"type", "title", "status", "detail", "code", "errors", "details", "requestId"}


def test_facts_become_json_whatever_they_are(site: Site) -> None:
    facts = {
        "when": [site.clock.now()],
        "names": {"b", "a"},
        "price": JsonDecimal("1.50"),
        "kind": InstanceStatus.RUNNING,
        "nested": {1: (True, None)},
        "odd": ValueError("x"),
    }
    error = WorkflowError("errors.csrf", code="WORKFLOW_CONFLICT_001", details=facts)
    with site.app.test_request_context():
        document = problem_document(error, CATALOG, "en")
    assert json.loads(encode(document["details"]), parse_float=str) == {
        "when": ["2026-07-16T08:00:00.000Z"],
        "names": ["a", "b"],
        "price": "1.50",
        "kind": "Running",
        "nested": {"1": [True, None]},
        "odd": "x",
    }


def test_a_redirect_of_the_framework_stays_one(site: Site) -> None:
    @site.app.get("/somewhere/")
    def somewhere() -> str:
        return "here"

    response = site.app.test_client().get("/somewhere")
    assert response.status_code == 308
    assert response.headers["Location"].endswith("/somewhere/")


def test_without_its_template_an_error_page_is_plain_text(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site.app, "template_folder", "nowhere")
    monkeypatch.setattr(site.app.jinja_env, "loader", DictLoader({}))
    response = site.app.test_client().get("/nowhere")
    assert response.content_type == "text/plain; charset=utf-8"
    assert "There is no such address" in response.text
    assert response.headers["X-Request-Id"] in response.text


def test_a_stale_revision_says_what_to_do_in_the_readers_language(site: Site) -> None:
    error = WorkflowError("errors.csrf", code="REQUEST_STALE_001")
    with site.app.test_request_context():
        english, chinese = problem_document(error, CATALOG, "en"), problem_document(error, CATALOG, "zh")
    assert english["detail"].endswith("save on top of the new revision.")
    assert chinese["title"] == "读取之后已被修改"


def test_a_failure_inside_is_500_without_its_text(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    @site.app.get("/api/v1/broken")
    def broken() -> str:
        raise RuntimeError("secret of the house")

    answer = site.anybody().get("/broken")
    problem = answer.refused(500, "WORKFLOW_UNEXPECTED_001")
    assert "secret" not in answer.response.text
    assert problem["requestId"] == answer.headers["X-Request-Id"]
    assert "secret of the house" in caplog.text


def test_a_busy_instance_says_when_to_try_again(site: Site) -> None:
    @site.app.get("/api/v1/busy")
    def busy() -> str:
        raise engine.LockTimeout("errors.csrf")

    answer = site.anybody().get("/busy")
    answer.refused(503, "WORKFLOW_TIMEOUT_001")
    assert answer.headers["Retry-After"] == "1"
    assert RETRY_AFTER["WORKFLOW_TIMEOUT_001"] == 1


def test_what_the_framework_refuses_has_the_same_form(site: Site) -> None:
    @site.app.get("/api/v1/unavailable")
    def unavailable() -> str:
        raise ServiceUnavailable

    @site.app.get("/api/v1/odd")
    def odd() -> str:
        abort(400)

    site.anybody().get("/unavailable").refused(500, "WORKFLOW_UNEXPECTED_001")
    site.anybody().get("/odd").refused(400, "WORKFLOW_VALIDATION_002")


def test_a_page_that_is_not_there_is_a_page(site: Site) -> None:
    response = site.app.test_client().get("/nowhere", headers={"Accept-Language": "zh-CN"})
    assert response.status_code == 404
    assert response.content_type == "text/html; charset=utf-8"
    assert 'lang="zh-CN"' in response.text
    assert response.headers["X-Request-Id"] in response.text


def test_an_unknown_address_of_the_api_is_a_problem(site: Site) -> None:
    problem = site.anybody().get("/nowhere").refused(404, "REQUEST_NOTFOUND_001")
    assert "/api/v1/nowhere" in problem["detail"]


def test_another_method_names_those_that_are_allowed(site: Site) -> None:
    answer = site.anybody().delete("/tasks")
    answer.refused(405, "REQUEST_METHOD_001")
    assert "GET" in answer.headers["Allow"]
