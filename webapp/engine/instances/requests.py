"""The start request, and the variables a new instance begins with (spec 1.14, 1.16, 1.17, 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

import msgspec

from webapp.engine.definitions.model import VariableDefinition, WorkflowDefinition
from webapp.engine.errors import TOO_LARGE, InputInvalid, Problem
from webapp.engine.instances.limits import (
    MAX_ACCOUNT,
    MAX_CORRELATION,
    MAX_TITLE,
    MAX_VARIABLES_BYTES,
    holds_nul,
    length_problems,
)
from webapp.engine.numbers import JsonObject, JsonValue, copy_json, encode
from webapp.engine.schedules import is_date, is_instant


class StartRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a new instance starts with. Ids, lineage and depth are filled by the engine's own callers."""

    variables: JsonObject = {}
    title: str | None = None
    correlation_id: str | None = None
    starter_id: str | None = None
    requested_by: str | None = None
    instance_id: str | None = None
    parent_instance_id: str | None = None
    parent_node_instance_id: str | None = None
    root_instance_id: str | None = None
    depth: int = 0
    scheduled_at: datetime | None = None


_IS: dict[str, Callable[[JsonValue], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | Decimal) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "date": lambda value: isinstance(value, str) and is_date(value),
    "dateTime": lambda value: isinstance(value, str) and is_instant(value),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}

VARIABLE_TYPES = tuple(_IS)
"""The types a variable may be declared with."""


def is_of_type(value: JsonValue, type_name: str) -> bool:
    """Tell whether a value matches a variable's declared type (spec 1.17); an unknown type matches everything."""
    return _IS.get(type_name, lambda _: True)(value)


def initial_variables(definition: WorkflowDefinition, request: StartRequest) -> JsonObject:
    """Return a copy of the request's variables with the declared defaults.

    :raises InputInvalid: a required one is missing, one is of the wrong type, or a text is too long: all at once.
    """
    problems = _text_problems(request)
    variables: JsonObject = copy_json(request.variables)
    for declared in definition.variables:
        if declared.name in variables:
            problems += type_problems(declared, variables[declared.name])
        elif declared.required:
            problems.append(
                Problem(
                    path=f"variables.{declared.name}", key="workflow.variable.required", params={"name": declared.name}
                )
            )
        elif declared.default_value is not None:
            variables[declared.name] = copy_json(declared.default_value)
    if problems:
        raise InputInvalid("workflow.start.invalid", problems=problems)
    check_document(variables, "variables")
    return variables


def check_document(variables: JsonObject, path: str) -> int:
    """Return the size of a variables document in bytes.

    :raises InputInvalid: it is over the limit of spec 13, or a text in it holds U+0000 (spec 25), which a page's form
        may send and the JSON door never lets in.
    """
    data = encode(variables)
    size = len(data)
    if b"\\u0000" in data:
        problems = [
            Problem(path=path if "\x00" in name else f"{path}.{name}", key="workflow.input.nul")
            for name, value in variables.items()
            if holds_nul({name: value})
        ]
        if problems:
            raise InputInvalid("workflow.input.nul", problems=problems)
    if size > MAX_VARIABLES_BYTES:
        raise InputInvalid(
            "workflow.variables.too_large", code=TOO_LARGE, params={"max": MAX_VARIABLES_BYTES}, path=path
        )
    return size


def type_problems(declared: VariableDefinition, value: JsonValue) -> list[Problem]:
    """Return the problem of a value that its variable's declaration does not allow (spec 1.17)."""
    if declared.type is None or (value is None and not declared.required):
        return []
    if value is not None and is_of_type(value, declared.type):
        return []
    params = {"name": declared.name, "type": declared.type}
    return [Problem(path=f"variables.{declared.name}", key="workflow.variable.type", params=params)]


def _text_problems(request: StartRequest) -> list[Problem]:
    return [
        *length_problems("title", request.title, MAX_TITLE),
        *length_problems("correlationId", request.correlation_id, MAX_CORRELATION),
        *length_problems("starterId", request.starter_id, MAX_ACCOUNT),
    ]
