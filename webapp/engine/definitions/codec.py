"""Definition documents in and out: the strict codec of the API, the lenient one of the import, the portable export."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from webapp.engine.definitions import upgrades
from webapp.engine.definitions.model import READ_ONLY_MEMBERS, WorkflowDefinition
from webapp.engine.definitions.shapes import (
    DEFINITION,
    NODE,
    RETRY_POLICY,
    TRANSITION,
    TWICE,
    VARIABLE,
    Problems,
    shape_problems,
    without_nulls,
)
from webapp.engine.errors import InputInvalid, Problem
from webapp.engine.json_input import item_path, member_path
from webapp.engine.numbers import JsonObject, JsonValue, copy_json, decode, encode

SHAPE = "workflow.definition.shape"

_PARTS: dict[str, Mapping[str, Any]] = {"nodes": NODE, "transitions": TRANSITION, "variables": VARIABLE}
_SINGULAR = {"retryPolicy": RETRY_POLICY}


def read_definition(document: JsonValue) -> WorkflowDefinition:
    """Return the definition a document describes; what only the catalog writes is ignored.

    :raises InputInvalid: with every shape problem and its path.
    """
    problems = shape_problems(document)
    if problems:
        raise InputInvalid(SHAPE, params={"count": len(problems)}, problems=problems)
    members = without_nulls(document, DEFINITION)
    for part, known in _PARTS.items():
        if part in members:
            members[part] = [_cleaned(item, known) for item in members[part]]
    for node in members.get("nodes", ()):
        # A node's name defaults to its id (spec 1.2).
        node.setdefault("name", node["id"])
    members.setdefault("displayName", members["name"])
    return msgspec.convert(copy_json(members), WorkflowDefinition)


def import_definition(document: JsonValue) -> WorkflowDefinition:
    """Return the definition of a portable document: names in any case; one of version 4 is upgraded.

    :raises InputInvalid: with every shape problem and its path, or a member that is there in two spellings.
    """
    if not isinstance(document, dict):
        return read_definition(document)
    problems: Problems = []
    members = _renamed(document, "", {*DEFINITION, *READ_ONLY_MEMBERS}, problems, upgrades.member_names(document))
    for part, known in _PARTS.items():
        if isinstance(members.get(part), list):
            members[part] = [
                _renamed_part(item, item_path(part, index), known, problems) for index, item in enumerate(members[part])
            ]
    if upgrades.is_version_4(document):
        upgrades.upgrade(members, problems)
    _name_transitions(members.get("transitions"))
    if problems:
        raise InputInvalid(SHAPE, params={"count": len(problems)}, problems=problems)
    return read_definition(members)


def write_definition(definition: WorkflowDefinition) -> JsonObject:
    """Return a definition as a JSON document with all its members."""
    document: JsonObject = decode(encode(definition), dict)
    return document


def export_definition(definition: WorkflowDefinition) -> JsonObject:
    """Return the portable document: the content without what belongs to this installation, and without defaults."""
    document = write_definition(definition)
    exported = _without_defaults(document, write_definition(WorkflowDefinition(name="")))
    for part, example in _examples().items():
        if part in exported:
            exported[part] = [_without_defaults(item, example) for item in exported[part]]
    for node in exported.get("nodes", ()):
        if node.get("name") == node["id"]:
            del node["name"]
    return {name: value for name, value in exported.items() if name not in READ_ONLY_MEMBERS}


def _cleaned(item: JsonObject, known: Mapping[str, Any]) -> JsonObject:
    cleaned = without_nulls(item, known)
    for part, inside in _SINGULAR.items():
        if part in cleaned:
            cleaned[part] = without_nulls(cleaned[part], inside)
    return cleaned


def _no_name(folded: str) -> str | None:
    return None


def _renamed(
    item: JsonObject,
    path: str,
    known: Iterable[str],
    problems: Problems,
    special: Callable[[str], str | None] = _no_name,
) -> JsonObject:
    """Return an object with its members under their proper names; two spellings of one name are a problem."""
    proper = {name.lower(): name for name in known}
    renamed: JsonObject = {}
    for name, value in item.items():
        folded = name.lower()
        target = special(folded) or proper.get(folded, name)
        if target in renamed:
            problems.append(Problem(path=member_path(path, name), key=TWICE, params={"name": target}))
        renamed[target] = value
    return renamed


def _renamed_part(item: JsonValue, path: str, known: Mapping[str, Any], problems: Problems) -> JsonValue:
    if not isinstance(item, dict):
        return item
    renamed = _renamed(item, path, known, problems)
    for part, inside in _SINGULAR.items():
        if part in known and isinstance(renamed.get(part), dict):
            renamed[part] = _renamed(renamed[part], member_path(path, part), inside, problems)
    properties = renamed.get("properties")
    if known is NODE and isinstance(properties, dict):
        renamed["properties"] = _renamed_properties(properties, member_path(path, "properties"), problems)
    return renamed


def _renamed_properties(properties: JsonObject, path: str, problems: Problems) -> JsonObject:
    renamed: JsonObject = {}
    for name, value in properties.items():
        target = upgrades.property_name(name)
        if target in renamed:
            problems.append(Problem(path=member_path(path, name), key=TWICE, params={"name": target}))
        renamed[target] = value
    return renamed


def _name_transitions(transitions: JsonValue) -> None:
    """Give ids to transitions that came without one, as version 4's builder did."""
    if not isinstance(transitions, list):
        return
    objects = [item for item in transitions if isinstance(item, dict)]
    taken = {item.get("id") for item in objects if isinstance(item.get("id"), str)}
    number = 0
    for item in objects:
        if item.get("id") is None:
            number += 1
            while f"t{number}" in taken:
                number += 1
            item["id"] = f"t{number}"


def _examples() -> dict[str, JsonObject]:
    """Return a node, a transition and a variable that have nothing but what they must have."""
    least = read_definition(
        {
            "name": "example",
            "nodes": [{"id": "", "activityType": ""}],
            "transitions": [{"id": "", "sourceNodeId": "", "targetNodeId": ""}],
            "variables": [{"name": ""}],
        }
    )
    document = write_definition(least)
    required = {"nodes": ("id", "activityType"), "transitions": ("id", "sourceNodeId", "targetNodeId")}
    return {
        part: {name: value for name, value in document[part][0].items() if name not in required.get(part, ("name",))}
        for part in _PARTS
    }


def _without_defaults(item: JsonObject, example: JsonObject) -> JsonObject:
    return {name: value for name, value in item.items() if name not in example or not _same(value, example[name])}


def _same(value: JsonValue, default: JsonValue) -> bool:
    # 10.0 equals 10 and is not the same: an export keeps numbers as they were written.
    return type(value) is type(default) and bool(value == default)
