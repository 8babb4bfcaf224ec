"""Activities and expressions over REST."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.support.web import Caller, Site
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.builtin import BUILTIN


def test_activities_are_told_in_the_callers_language(employee: Caller) -> None:
    english = employee.get("/activities").expect(200)
    chinese = employee.get("/activities", Accept_Language="zh").expect(200)
    # In the order of the palette, which the engine's own tests list.
    types = [descriptor.type for descriptor in ActivityRegistry(BUILTIN).descriptors()]
    assert [one["type"] for one in english["items"]] == types
    assert english["total"] == len(types)
    task = next(one for one in english["items"] if one["type"] == "UserTask")
    assert (task["category"], task["outgoingMode"], task["waits"]) == ("people", "Matched", True)
    policy = next(one for one in task["properties"] if one["name"] == "CompletionPolicy")
    assert policy["editor"] == "choice"
    assert [option["value"] for option in policy["options"]] == ["Any", "All", "Sequential", "Ratio"]
    for left, right in zip(english["items"], chinese["items"], strict=True):
        assert left["title"] != right["title"]


def test_activities_are_a_list_with_a_window(employee: Caller) -> None:
    whole = employee.get("/activities").expect(200)
    window = employee.get("/activities?offset=1&limit=2").expect(200)
    assert window == {"items": whole["items"][1:3], "total": len(whole["items"])}
    employee.get("/activities?limit=0").refused(400, "WORKFLOW_VALIDATION_002")
    refused = employee.get("/me?limit=1").refused(400, "WORKFLOW_VALIDATION_002")
    assert [(one["path"], one["key"]) for one in refused["errors"]] == [("limit", "api.query.none")]


def test_an_expression_is_checked_at_its_column(employee: Caller) -> None:
    checked = employee.post("/expressions/check", {"text": "amount > ", "kind": "condition"}).expect(200)
    assert checked["valid"] is False
    assert checked["errors"][0]["line"] == 1
    assert checked["errors"][0]["key"] == "workflow.expression.syntax"
    assert checked["errors"][0]["message"]
    fine = employee.post("/expressions/check", {"text": "amount > 1", "kind": "condition"}).expect(200)
    assert fine == {"valid": True, "errors": []}


def test_an_unknown_name_is_an_error_when_the_names_are_given(employee: Caller) -> None:
    body = {"text": "amount > 1", "kind": "condition", "variables": ["price"]}
    checked = employee.post("/expressions/check", body).expect(200)
    assert [error["key"] for error in checked["errors"]] == ["workflow.expression.unknown_name"]


@pytest.mark.parametrize(
    ("text", "kind", "variables", "value"),
    [
        ("0.1 + 0.2", "expression", {}, Decimal("0.3")),
        ("name", "expression", {"name": None}, None),
        ("amount > 100", "condition", {"amount": 250}, True),
        ("Hello {{name}}", "template", {"name": "Lin"}, "Hello Lin"),
    ],
)
def test_an_expression_is_tried_out(employee: Caller, text: str, kind: str, variables: Any, value: Any) -> None:
    body = {"text": text, "kind": kind, "variables": variables}
    assert employee.post("/expressions/evaluate", body).expect(200) == {"value": value}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_failed_evaluation_says_where(employee: Caller, lang: str) -> None:
    answer = employee.post("/expressions/evaluate", {"text": "1 / 0", "kind": "expression"}, Accept_Language=lang)
    error = answer.refused(400, "WORKFLOW_VALIDATION_003")["errors"][0]
    assert error["path"] == "text"
    assert error["line"] == 1
    assert error["column"] >= 1
    assert error["message"] != error["key"]


def test_another_kind_is_refused(employee: Caller) -> None:
    problem = employee.post("/expressions/check", {"text": "1", "kind": "script"}).refused(
        400, "WORKFLOW_VALIDATION_002"
    )
    assert problem["errors"][0]["path"] == "kind"


def test_nobody_without_an_account_may_ask(site: Site) -> None:
    for path in ("/activities", "/me", "/tasks", "/tasks/counts", "/instances", "/definitions"):
        site.anybody().get(path).refused(401, "ACCESS_UNAUTHENTICATED_001")
    site.anybody().post("/expressions/check", {}).refused(401, "ACCESS_UNAUTHENTICATED_001")


def test_a_failed_evaluation_has_one_of_the_settled_keys(employee: Caller) -> None:
    body = {"text": "1 / 0", "kind": "expression", "variables": {}}
    problem = employee.post("/expressions/evaluate", body).refused(400, "WORKFLOW_VALIDATION_003")
    (error,) = problem["errors"]
    assert (error["path"], error["key"]) == ("text", "workflow.expression.range")
    assert error["message"] == "The right side of “/” is zero"
