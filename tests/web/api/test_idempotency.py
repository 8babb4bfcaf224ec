"""The header Idempotency-Key (spec 11, Conventions and Amendments)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from tests.support.web import Site, make_site
from webapp.web.api import ENDPOINTS

APPROVAL = flow("approval", [START, node("ask", "UserTask", {"Assignees": ["admin"]}), END])


@pytest.fixture
def site(tmp_path: Path, stores: StoreSet) -> Site:
    """An application on each set of stores, with an administrator and a published approval."""
    made = make_site(tmp_path, stores)
    made.account("admin", "administrator")
    caller = made.caller("admin")
    draft = caller.post("/definitions", APPROVAL).expect(201)
    caller.post(f"/definitions/{draft['id']}/publish").expect(200)
    return made


def test_the_first_answer_comes_back_byte_for_byte(site: Site) -> None:
    caller = site.caller("admin")
    first = caller.post("/instances", {"name": "approval"}, Idempotency_Key="k-1")
    instance = first.expect(201)
    caller.post(f"/instances/{instance['id']}/cancel").expect(200)
    again = caller.post("/instances", {"name": "approval"}, Idempotency_Key="k-1")

    assert again.expect(201) == instance
    assert again.response.data == first.response.data
    for name in ("Location", "ETag", "Content-Type"):
        assert again.headers[name] == first.headers[name]
    assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]
    assert caller.get("/instances").expect(200)["total"] == 1


def test_another_body_is_refused(site: Site) -> None:
    caller = site.caller("admin")
    caller.post("/instances", {"name": "approval"}, Idempotency_Key="k-1").expect(201)
    refused = caller.post("/instances", {"name": "approval", "title": "x"}, Idempotency_Key="k-1")
    problem = refused.refused(422, "REQUEST_REUSED_001")
    assert problem["detail"].startswith("This idempotency key came before in the last 24 hours, with another body.")


@pytest.mark.parametrize("key", ["", "two words", "ä", "x" * 201, "a\tb"])
def test_a_key_that_is_none_is_refused(site: Site, key: str) -> None:
    refused = site.caller("admin").post("/instances", {"name": "approval"}, Idempotency_Key=key)
    problem = refused.refused(400, "WORKFLOW_VALIDATION_002")
    assert [item["path"] for item in problem["errors"]] == ["Idempotency-Key"]
    assert site.caller("admin").get("/instances").expect(200)["total"] == 0


def test_a_refused_request_may_be_mended_under_its_key(site: Site) -> None:
    caller = site.caller("admin")
    caller.post("/instances", {"name": "nothing"}, Idempotency_Key="k").refused(404, "WORKFLOW_NOTFOUND_001")
    caller.post("/instances", {"nam": "approval"}, Idempotency_Key="k").refused(400, "WORKFLOW_VALIDATION_002")
    caller.post("/instances", {"name": "approval"}, Idempotency_Key="k").expect(201)


def test_a_task_is_decided_once_and_both_learn_the_same(site: Site) -> None:
    caller = site.caller("admin")
    caller.post("/instances", {"name": "approval"}).expect(201)
    task = caller.get("/tasks").expect(200)["items"][0]
    bodies = [
        caller.post(f"/tasks/{task['id']}/complete", {"outcome": "approved"}, Idempotency_Key="k").expect(200)
        for _ in range(2)
    ]
    assert bodies[0] == bodies[1]
    assert bodies[0]["instanceStatus"] == "Completed"
    caller.post(f"/tasks/{task['id']}/complete", {"outcome": "approved"}).refused(409, "WORKFLOW_CONFLICT_003")


def test_a_definition_is_created_and_published_once(site: Site) -> None:
    caller = site.caller("admin")
    made = [caller.post("/definitions", APPROVAL, Idempotency_Key="c").expect(201) for _ in range(2)]
    assert made[0] == made[1]
    assert caller.get("/definitions?name=approval").expect(200)["total"] == 2
    path = f"/definitions/{made[0]['id']}/publish"
    published = [caller.post(path, Idempotency_Key="p").expect(200) for _ in range(2)]
    assert published[0] == published[1]


def test_twenty_requests_at_once_are_one(site: Site) -> None:
    together = Barrier(20)
    site.caller("admin")

    def send(number: int) -> Any:
        together.wait()
        return site.caller("admin").post("/instances", {"name": "approval"}, Idempotency_Key="one").expect(201)

    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(send, range(20)))
    assert all(answer == answers[0] for answer in answers)
    assert site.caller("admin").get("/instances").expect(200)["total"] == 1


def test_a_call_that_only_asks_takes_no_key(site: Site) -> None:
    for text in ("1", "2"):
        answer = site.caller("admin").post(
            "/expressions/evaluate", {"text": text, "kind": "expression", "variables": {}}, Idempotency_Key="k"
        )
        assert answer.expect(200) == {"value": int(text)}


def test_the_document_names_the_header_where_it_is_taken(site: Site) -> None:
    paths = site.anybody().get("/api/v1/openapi.json").expect(200)["paths"]
    taking = set()
    for path, calls in paths.items():
        for method, call in calls.items():
            if any(parameter["name"] == "Idempotency-Key" for parameter in call["parameters"]):
                taking.add((method, path))
                assert "422" in call["responses"]
    asking = {
        "/api/v1/expressions/check",
        "/api/v1/expressions/evaluate",
        "/api/v1/definitions/{id}/validate",
        "/api/v1/notification-templates/preview",
        # Each call sends one more test message: that is what it is for.
        "/api/v1/endpoints/{id}/try",
    }
    acting = {(method, path) for path, calls in paths.items() for method in calls if method == "post"}
    assert acting - taking == {("post", path) for path in asking}
    assert {endpoint.answers_once for endpoint in ENDPOINTS} <= {"command", "after", "no"}
