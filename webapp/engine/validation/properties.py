"""Properties against their descriptors: known, there, of the right type, in bounds (spec 2.4: 14, 15, 24, 25; 29)."""

from __future__ import annotations

from decimal import Decimal

from webapp.engine.activities.compiled import JOIN, join_mode
from webapp.engine.definitions.model import Node
from webapp.engine.definitions.shapes import json_type
from webapp.engine.descriptors import TEXT_TYPES, ActivityDescriptor, Editor, Kind, PropertyDescriptor
from webapp.engine.json_input import item_path, member_path
from webapp.engine.numbers import JsonValue
from webapp.engine.validation import findings as keys
from webapp.engine.validation.findings import Findings
from webapp.engine.validation.subject import PropertyValue, Subject

# An unknown level never stops a Log, which then writes at Information (4.15); a service may know other methods (4.18).
_OPEN_CHOICES = frozenset((("Log", "Level"), ("Http", "Method")))
_SCALARS = ("string", "number", "boolean")


def check_properties(subject: Subject, findings: Findings) -> None:
    """Check every property of every node whose activity is known."""
    for path, node in subject.each_node():
        descriptor = subject.descriptor(node)
        if descriptor is None:
            continue
        _check_keys(node, descriptor, member_path(path, "properties"), findings)
        for found in subject.properties(node, path):
            _check_value(node, found, findings)


def _check_keys(node: Node, descriptor: ActivityDescriptor, path: str, findings: Findings) -> None:
    spelled: set[str] = set()
    for name in node.properties:
        described = descriptor.property(name)
        where = member_path(path, name)
        if described is None:
            findings.error(where, keys.PROPERTY_UNKNOWN, node.id, type=descriptor.type, name=name)
        elif described.name in spelled:
            findings.error(where, keys.PROPERTY_TWICE, node.id, name=described.name)
        else:
            spelled.add(described.name)
    given = [descriptor.property(name) for name, value in node.properties.items() if _given(value)]
    for described in descriptor.properties:
        if described.required and described not in given:
            findings.error(member_path(path, described.name), keys.PROPERTY_REQUIRED, node.id, name=described.name)


def _given(value: JsonValue) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value is not None and value != [] and value != {}


def _check_value(node: Node, found: PropertyValue, findings: Findings) -> None:
    described, value, path = found
    expected = _expected(described)
    if expected and json_type(value) not in expected:
        _report_type(node, found, expected, path, findings)
    elif isinstance(value, str):
        _check_choice(node, found, value, findings)
    elif isinstance(value, list) and described.editor is Editor.LIST:
        _check_items(node, found, value, findings)
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        _check_number(node, found, value, findings)


def _report_type(node: Node, found: PropertyValue, expected: tuple[str, ...], path: str, findings: Findings) -> None:
    name, is_now = found.described.name, json_type(found.value)
    findings.error(path, keys.PROPERTY_EXPECTED, node.id, name=name, expected=list(expected), found=is_now)


def _expected(described: PropertyDescriptor) -> tuple[str, ...]:
    """Return the JSON types a value may have; none at all means any."""
    if described.editor is Editor.KEY_VALUE:
        return ("object",)
    if described.kind is Kind.TEMPLATE:
        return () if described.type == "any" else _SCALARS
    if described.kind is Kind.EXPRESSION:
        return ("string",)
    literal = "string" if described.type in TEXT_TYPES else described.type
    if literal == "any":
        return ()
    return (literal,) if described.kind is Kind.LITERAL or literal == "string" else (literal, "string")


def _check_choice(node: Node, found: PropertyValue, value: str, findings: Findings) -> None:
    described, _, path = found
    if not described.options or (described.kind is not Kind.LITERAL and "{{" in value):
        return
    if node.activity_type == JOIN and described.name == "Mode":
        if join_mode(value) is None:
            findings.error(path, keys.JOIN_MODE, node.id, value=value)
        return
    options = [option.lower() for option in described.options] if described.ignore_case else described.options
    if (value.lower() if described.ignore_case else value) not in options:
        report = findings.warning if (node.activity_type, described.name) in _OPEN_CHOICES else findings.error
        report(path, keys.PROPERTY_CHOICE, node.id, value=value, choices=list(described.options))


def _check_items(node: Node, found: PropertyValue, items: list[JsonValue], findings: Findings) -> None:
    for index, item in enumerate(items):
        if not isinstance(item, str):
            path = item_path(found.path, index)
            _report_type(node, found._replace(value=item), ("string",), path, findings)


def _check_number(node: Node, found: PropertyValue, value: int | Decimal, findings: Findings) -> None:
    described, _, path = found
    if described.editor is Editor.DURATION and value <= 0:
        findings.error(path, keys.PROPERTY_POSITIVE, node.id, name=described.name)
    elif described.minimum is not None and value < described.minimum:
        findings.error(path, keys.PROPERTY_MINIMUM, node.id, name=described.name, minimum=described.minimum)
