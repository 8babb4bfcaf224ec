"""Expressions: checked while they are typed, and tried out (spec 11, Definitions; 25 REST)."""

from __future__ import annotations

from webapp.web.api.definition_shapes import (
    CheckBody,
    CheckResult,
    DiagnosticItem,
    EvaluateBody,
    EvaluateResult,
)
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.errors import wire_key

section = Section("Expressions")


@section.call(
    "POST",
    "/expressions/check",
    body=CheckBody,
    answers={200: CheckResult},
    answers_once="no",
)
def check_expression(call: Call[CheckBody, None]) -> Reply:
    """Say whether a text can be read, and where it cannot."""
    found = call.services.catalog.check_expression(call.body.text, call.body.kind, call.body.variables)
    errors = [
        DiagnosticItem(
            line=mistake.line,
            column=mistake.column,
            key=wire_key(mistake.key),
            params=mistake.params,
            message=call.catalog.text(mistake.key, mistake.params, call.lang),
        )
        for mistake in found
    ]
    return Reply(value=CheckResult(valid=not errors, errors=errors))


@section.call(
    "POST", "/expressions/evaluate", body=EvaluateBody, answers={200: EvaluateResult}, answers_once="no",
    )  # fmt: skip
def evaluate_expression(call: Call[EvaluateBody, None]) -> Reply:
    """Return what a text comes to over the given variables; nothing is stored."""
    value = call.services.catalog.evaluate_expression(call.body.text, call.body.kind, call.body.variables)
    return Reply(value=EvaluateResult(value=value))
