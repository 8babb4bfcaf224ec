"""The events of an EventGateway: what each must say (spec 4.12)."""

from __future__ import annotations

from decimal import Decimal

from webapp.engine.activities.signals import (
    ACCEPTS_ANY,
    EVENTS,
    LABEL,
    MAX_EVENTS,
    NAME,
    SECONDS,
    UNTIL,
)
from webapp.engine.definitions.model import Node
from webapp.engine.definitions.shapes import json_type
from webapp.engine.instances.limits import MAX_OUTCOME
from webapp.engine.json_input import item_path, member_path
from webapp.engine.numbers import JsonObject, JsonValue
from webapp.engine.validation import findings as keys
from webapp.engine.validation.findings import Findings
from webapp.engine.validation.subject import Subject

_CHOICES = (NAME, SECONDS, UNTIL)
_OF_SIGNALS = {NAME: ("string",), ACCEPTS_ANY: ("boolean",)}
_OF_TIMERS = {SECONDS: ("number", "string"), UNTIL: ("string",), LABEL: ("string",)}


def check_gateway(subject: Subject, node: Node, path: str, findings: Findings) -> None:
    """Check each event of a gateway; that there is a list at all is a matter of the descriptor."""
    for found in subject.properties(node, path):
        if found.described.name == EVENTS and isinstance(found.value, list):
            _check_list(node, found.value, found.path, findings)


def _check_list(node: Node, events: list[JsonValue], path: str, findings: Findings) -> None:
    if len(events) > MAX_EVENTS:
        findings.error(path, keys.GATEWAY_MANY, node.id, max=MAX_EVENTS, count=len(events))
    names: set[str] = set()
    for index, event in enumerate(events[:MAX_EVENTS]):
        where = item_path(path, index)
        if not isinstance(event, dict):
            findings.error(
                where, keys.PROPERTY_EXPECTED, node.id, name=EVENTS, expected=["object"], found=json_type(event)
            )
            continue
        _check_event(node, event, where, findings)
        name = event.get(NAME)
        if isinstance(name, str) and name in names:
            findings.error(member_path(where, NAME), keys.GATEWAY_TWICE, node.id, name=name)
        elif isinstance(name, str):
            names.add(name)


def _check_event(node: Node, event: JsonObject, path: str, findings: Findings) -> None:
    given = [name for name in _CHOICES if event.get(name) is not None]
    if len(given) != 1:
        findings.error(path, keys.GATEWAY_EVENT, node.id, choices=list(_CHOICES))
        return
    known = _OF_SIGNALS if given == [NAME] else _OF_TIMERS
    for name, value in event.items():
        where = member_path(path, name)
        if value is None:
            continue
        if name not in known:
            findings.error(where, keys.GATEWAY_MEMBER, node.id, name=name, known=list(known))
        elif json_type(value) not in known[name]:
            expected, found = list(known[name]), json_type(value)
            findings.error(where, keys.PROPERTY_EXPECTED, node.id, name=name, expected=expected, found=found)
        else:
            _check_member(node, name, value, where, findings)


def _check_member(node: Node, name: str, value: JsonValue, path: str, findings: Findings) -> None:
    if isinstance(value, str) and not value.strip():
        findings.error(path, keys.PROPERTY_REQUIRED, node.id, name=name)
    elif isinstance(value, str) and name in (NAME, LABEL) and len(value) > MAX_OUTCOME and "{{" not in value:
        findings.error(path, keys.GATEWAY_LONG, node.id, name=name, max=MAX_OUTCOME)
    elif isinstance(value, int | Decimal) and not isinstance(value, bool) and value <= 0:
        findings.error(path, keys.PROPERTY_POSITIVE, node.id, name=name)
