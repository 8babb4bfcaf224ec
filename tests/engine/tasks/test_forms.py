"""Forms: what may be written with a decision, of which kind, and what must be there (spec 6.7)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.engine.runtime.test_handovers import refusal, task
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.tasks.forms import check_form, data_problems

FORM: dict[str, Any] = {
    "type": "object",
    "required": ["amount"],
    "properties": {
        "amount": {"type": "number", "minimum": 0, "maximum": 100},
        "count": {"type": "integer"},
        "note": {"type": "string", "minLength": 2, "maxLength": 5},
        "day": {"type": "string", "format": "date"},
        "moment": {"type": "string", "format": "date-time"},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "sure": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "extra": {"type": "object"},
        "total": {"type": "number", "readOnly": True},
    },
}
MISSING = ("variables.amount", "workflow.form.missing")


def found(data: dict[str, Any], present: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    return [(problem.path, problem.key) for problem in data_problems(FORM, data, present or {})]


@pytest.mark.parametrize(
    "data",
    [
        {"amount": 0},
        {"amount": Decimal("100.0"), "count": Decimal("3.0"), "note": "four", "kind": "b", "sure": False},
        {"amount": 1, "day": "2026-02-28", "moment": "2026-02-28T08:00:00Z", "tags": ["x", "y"], "extra": {"any": [1]}},
        {"amount": 1, "note": None},
    ],
)
def test_what_fits(data: dict[str, Any]) -> None:
    assert found(data) == []


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("amount", "1", "workflow.variable.type"),
        ("amount", True, "workflow.variable.type"),
        ("amount", -1, "workflow.form.least"),
        ("amount", Decimal("100.01"), "workflow.form.most"),
        ("count", Decimal("1.5"), "workflow.variable.type"),
        ("note", "x", "workflow.form.least"),
        ("note", "sixsix", "workflow.form.most"),
        ("day", "2026-02-30", "workflow.variable.type"),
        ("day", "20260228", "workflow.variable.type"),
        ("moment", "2026-02-28", "workflow.variable.type"),
        ("kind", "c", "workflow.form.choice"),
        ("sure", 1, "workflow.variable.type"),
        ("tags", "x", "workflow.variable.type"),
        ("extra", [], "workflow.variable.type"),
        ("total", 5, "workflow.task.variable_not_writable"),
        ("other", 5, "workflow.task.variable_not_writable"),
    ],
)
def test_what_does_not_fit_names_its_place(name: str, value: Any, key: str) -> None:
    assert found({"amount": 1, name: value}) == [(f"variables.{name}", key)]


def test_a_member_of_a_list_is_named() -> None:
    assert found({"amount": 1, "tags": ["x", 2]}) == [("variables.tags[1]", "workflow.variable.type")]


def test_what_is_required_is_written_or_there_already() -> None:
    assert found({}) == [MISSING]
    assert found({"amount": None}, {"amount": 3}) == [MISSING]
    assert found({}, {"amount": None}) == [MISSING]
    assert found({}, {"amount": 3}) == []


@pytest.mark.parametrize(
    ("form", "problems"),
    [
        (FORM, []),
        ({"properties": {}}, []),
        ({}, [("", "workflow.form.shape")]),
        ({"type": "array", "properties": {}}, [("", "workflow.form.shape")]),
        ({"properties": {"a": {"type": "text"}}}, [(".properties.a", "workflow.form.field")]),
        ({"properties": {"a": 5}}, [(".properties.a", "workflow.form.field")]),
        (
            {"properties": {"a": {"type": "string"}}, "required": ["a", "b"]},
            [(".required[1]", "workflow.form.required")],
        ),
    ],
)
def test_a_form_is_checked_at_publish(form: dict[str, Any], problems: list[tuple[str, str]]) -> None:
    assert [(problem.path, problem.key) for problem in check_form(form)] == problems


def test_a_decision_writes_the_fields_of_its_form_and_no_others() -> None:
    run = task("u1", Form=FORM, WritableVariables=["other"])
    error = refusal(lambda: run.decide(run.task("u1"), "u1", variables={"other": 1, "outcome": "x", "count": "many"}))
    assert [(problem.path, problem.key) for problem in error.problems] == [
        ("variables.outcome", "workflow.task.variable_reserved"),
        ("variables.other", "workflow.task.variable_not_writable"),
        ("variables.count", "workflow.variable.type"),
        MISSING,
    ]
    run.decide(run.task("u1"), "u1", variables={"amount": 7})
    assert (run.instance.status, run.instance.variables["amount"]) == (InstanceStatus.COMPLETED, 7)
