"""Errors carry a stable code, a key, arguments and the place (spec 9.2)."""

from __future__ import annotations

from webapp.engine import errors


def test_each_class_has_its_own_code_unless_told_otherwise() -> None:
    assert errors.InputInvalid("k").code == "WORKFLOW_VALIDATION_002"
    assert errors.Conflict("k").code == "WORKFLOW_CONFLICT_001"
    assert errors.Conflict("k", code=errors.CONFLICT_BOOKMARK).code == "WORKFLOW_CONFLICT_003"


def test_a_path_makes_one_problem() -> None:
    error = errors.InputInvalid("workflow.variable.required", params={"name": "days"}, path="variables.days")
    assert error.problems == (
        errors.Problem(path="variables.days", key="workflow.variable.required", params={"name": "days"}),
    )


def test_problems_given_win_over_a_path() -> None:
    problem = errors.Problem(path="a", key="k")
    assert errors.InputInvalid("k", problems=[problem], path="b").problems == (problem,)


def test_the_text_for_logs_names_code_and_key() -> None:
    assert str(errors.NotFound("workflow.instance.unknown", params={"id": "x"})) == (
        "WORKFLOW_NOTFOUND_002 workflow.instance.unknown {'id': 'x'}"
    )
