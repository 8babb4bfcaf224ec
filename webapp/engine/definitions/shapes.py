"""The shape of a definition document, member by member: what a decoder would stop at, told all at once (spec 1.17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any

from webapp.engine.definitions.model import MAX_NODES, READ_ONLY_MEMBERS, InstanceTimeoutAction
from webapp.engine.errors import Problem
from webapp.engine.json_input import item_path, member_path
from webapp.engine.numbers import JsonObject, JsonValue

UNKNOWN = "workflow.definition.member.unknown"
REQUIRED = "workflow.definition.member.required"
TYPE = "workflow.definition.member.type"
CHOICE = "workflow.definition.member.choice"
TOO_LONG = "workflow.definition.member.too_long"
TOO_MANY = "workflow.definition.member.too_many"
TWICE = "workflow.definition.member.twice"

KEYS = (UNKNOWN, REQUIRED, TYPE, CHOICE, TOO_LONG, TOO_MANY, TWICE)

MAX_NAME = 128
MAX_TITLE = 500
MAX_REMARK = 10_000
MAX_ITEMS = 10_000

Problems = list[Problem]
Check = Callable[[JsonValue, str, Problems], None]
"""Appends what is wrong with a value that stands at a path; null never gets here."""


def json_type(value: JsonValue) -> str:
    """Return the JSON name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | Decimal():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _wrong_type(value: JsonValue, path: str, expected: str) -> Problem:
    return Problem(path=path, key=TYPE, params={"expected": expected, "found": json_type(value)})


def _typed(expected: str) -> Check:
    def check(value: JsonValue, path: str, problems: Problems) -> None:
        if json_type(value) != expected:
            problems.append(_wrong_type(value, path, expected))

    return check


def _text(longest: int) -> Check:
    def check(value: JsonValue, path: str, problems: Problems) -> None:
        if not isinstance(value, str):
            problems.append(_wrong_type(value, path, "string"))
        elif len(value) > longest:
            problems.append(Problem(path=path, key=TOO_LONG, params={"length": len(value), "max": longest}))

    return check


def _whole(value: JsonValue, path: str, problems: Problems) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        problems.append(_wrong_type(value, path, "integer"))


def _choice(values: type[StrEnum]) -> Check:
    def check(value: JsonValue, path: str, problems: Problems) -> None:
        if not isinstance(value, str):
            problems.append(_wrong_type(value, path, "string"))
        elif value not in values.__members__.values():
            params = {"value": value[:MAX_NAME], "choices": [choice.value for choice in values]}
            problems.append(Problem(path=path, key=CHOICE, params=params))

    return check


def _list(item: Check, most: int = MAX_ITEMS) -> Check:
    def check(value: JsonValue, path: str, problems: Problems) -> None:
        if not isinstance(value, list):
            problems.append(_wrong_type(value, path, "array"))
            return
        if len(value) > most:
            problems.append(Problem(path=path, key=TOO_MANY, params={"count": len(value), "max": most}))
            return
        for index, member in enumerate(value):
            item(member, item_path(path, index), problems)

    return check


def _object(members: Mapping[str, Check], required: frozenset[str], ignored: frozenset[str] = frozenset()) -> Check:
    def check(value: JsonValue, path: str, problems: Problems) -> None:
        if not isinstance(value, dict):
            problems.append(_wrong_type(value, path, "object"))
            return
        for name, member in value.items():
            where = member_path(path, name)
            if name in ignored:
                continue
            if name not in members:
                problems.append(Problem(path=where, key=UNKNOWN, params={"name": name[:MAX_NAME]}))
            elif member is not None:
                members[name](member, where, problems)
        for name in sorted(required):
            if value.get(name) is None:
                problems.append(Problem(path=member_path(path, name), key=REQUIRED, params={"name": name}))

    return check


_NAME, _TITLE, _REMARK, _ANY_TEXT = _text(MAX_NAME), _text(MAX_TITLE), _text(MAX_REMARK), _typed("string")
_NUMBER, _BOOLEAN, _OBJECT = _typed("number"), _typed("boolean"), _typed("object")
_NAMES = _list(_NAME)


def _anything(value: JsonValue, path: str, problems: Problems) -> None:
    """Accept every JSON value: the door has seen to the rest."""


RETRY_POLICY: dict[str, Check] = {"maxAttempts": _whole, "firstDelaySeconds": _NUMBER, "backoffFactor": _NUMBER}
NODE: dict[str, Check] = {
    "id": _ANY_TEXT,
    "activityType": _NAME,
    "name": _TITLE,
    "properties": _OBJECT,
    "retryPolicy": _object(RETRY_POLICY, frozenset()),
    "timeoutSeconds": _NUMBER,
    "timeoutAction": _NAME,
    "timeoutTarget": _NAMES,
    "continueOnError": _BOOLEAN,
    "background": _BOOLEAN,
    "compensateWith": _NAME,
    "listeners": _list(_OBJECT),
    "note": _REMARK,
    "x": _NUMBER,
    "y": _NUMBER,
}
TRANSITION: dict[str, Check] = {
    "id": _ANY_TEXT,
    "name": _TITLE,
    "sourceNodeId": _ANY_TEXT,
    "targetNodeId": _ANY_TEXT,
    # Its length is a matter of publishing (spec 2.4, 20), so that a draft can be saved while it is being written.
    "condition": _ANY_TEXT,
    "priority": _whole,
    "isDefault": _BOOLEAN,
    "waypoints": _list(_list(_NUMBER)),
}
VARIABLE: dict[str, Check] = {
    "name": _NAME,
    "type": _NAME,
    "title": _TITLE,
    "required": _BOOLEAN,
    "defaultValue": _anything,
    "description": _REMARK,
}
DEFINITION: dict[str, Check] = {
    "name": _ANY_TEXT,
    "displayName": _TITLE,
    "description": _REMARK,
    "category": _NAME,
    "nodes": _list(_object(NODE, frozenset({"id", "activityType"})), MAX_NODES),
    "transitions": _list(_object(TRANSITION, frozenset({"id", "sourceNodeId", "targetNodeId"}))),
    "variables": _list(_object(VARIABLE, frozenset({"name"}))),
    "timeout": _NUMBER,
    "timeoutAction": _choice(InstanceTimeoutAction),
    "compensateOnCancel": _BOOLEAN,
    "compensateOnFault": _BOOLEAN,
    "owners": _NAMES,
    "startableBy": _NAMES,
    "allowWithdraw": _BOOLEAN,
    "searchableVariables": _NAMES,
    "priority": _NAME,
    "workCalendar": _NAME,
    "startForm": _OBJECT,
    "extraProperties": _OBJECT,
}

_check_definition = _object(DEFINITION, frozenset({"name"}), READ_ONLY_MEMBERS)


def shape_problems(document: JsonValue) -> Problems:
    """Return everything that keeps a document from being a definition, each with its path; empty when nothing does."""
    problems: Problems = []
    _check_definition(document, "", problems)
    return problems


def without_nulls(document: JsonObject, known: Mapping[str, Any]) -> JsonObject:
    """Return the known members that have a value: null says the same as leaving a member out."""
    return {name: value for name, value in document.items() if name in known and value is not None}
