"""The help page of an activity: made from its descriptor, and from the example that a test runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.engine.descriptors import ActivityDescriptor, PropertyDescriptor
from webapp.engine.numbers import JsonNumber, JsonObject, encode
from webapp.web.activity_examples import Example, Step, example_of
from webapp.web.drawing import Drawing
from webapp.web.i18n import PageText, json_text

_BEHAVIOUR = ("waits", "ends", "faults")
_SPANS = (("_days", 86_400), ("_hours", 3_600), ("", 1))


def summary_of(descriptor: ActivityDescriptor) -> dict[str, Any]:
    """Return what the overview shows of an activity."""
    return {
        "type": descriptor.type,
        "key": descriptor.key,
        "icon": descriptor.icon,
        "category": descriptor.category.value,
        "waits": descriptor.waits,
        "outcomes": descriptor.outcomes,
    }


def page_of(descriptor: ActivityDescriptor, text: PageText) -> dict[str, Any]:
    """Return all that the page of an activity shows."""
    example = example_of(descriptor.type)
    return {
        **summary_of(descriptor),
        "behaviour": {name: _behaviour(descriptor, name, text) for name in _BEHAVIOUR},
        "properties": [_property(descriptor, one) for one in descriptor.properties],
        "example": None if example is None else _example(descriptor, example, text),
    }


def _behaviour(descriptor: ActivityDescriptor, name: str, text: PageText) -> str:
    """Return how the activity waits, ends or faults; of a host's own activity nothing is known but that it waits."""
    key = f"help.activity.{descriptor.type}.{name}"
    if text.has(key):
        return text.text(key)
    if name == "waits" and not descriptor.waits:
        return text.text("help.activities.never_waits")
    return text.text(f"help.activities.own_{name}")


def _property(descriptor: ActivityDescriptor, one: PropertyDescriptor) -> dict[str, Any]:
    return {
        "name": one.name,
        "key": f"{descriptor.key}.{one.name}",
        "kind": one.kind.value,
        "required": one.required,
        "default": "" if one.default is None else json_text(one.default),
        "options": one.options,
    }


def _example(descriptor: ActivityDescriptor, example: Example, text: PageText) -> dict[str, Any]:
    names = {node["id"]: _name(descriptor.type, node["id"], text) for node in example.definition["nodes"]}
    shown = next(node for node in example.definition["nodes"] if node["activityType"] == descriptor.type)
    return {
        "text": text.text(f"help.example.{descriptor.type}.text"),
        "drawing": _drawing(example, names),
        "node": names[shown["id"]],
        "set": [
            {"key": f"{descriptor.key}.{name}.title", "value": value if isinstance(value, str) else json_text(value)}
            for name, value in shown.get("properties", {}).items()
        ],
        "lines": list(_lines(descriptor.type, example, names, text)),
    }


def _name(activity_type: str, node_id: str, text: PageText) -> str:
    own = f"help.example.{activity_type}.node.{node_id}"
    return text.text(own if text.has(own) else f"help.example.node.{node_id}")


def _drawing(example: Example, names: dict[str, str]) -> Drawing:
    """Return the diagram as it stands at the end."""
    nodes = [{**node, "name": names[node["id"]]} for node in example.definition["nodes"]]
    states = dict.fromkeys(example.end.path, "completed") | dict.fromkeys(example.end.canceled, "canceled")
    if example.end.fault is not None:
        states[example.end.path[-1]] = "faulted"
    return Drawing(
        definition=encode({**example.definition, "nodes": nodes}).decode(),
        states={
            "nodes": {node_id: {"state": state, "count": 1, "label": ""} for node_id, state in states.items()},
            "transitions": example.end.taken,
        },
    )


def _lines(activity_type: str, example: Example, names: dict[str, str], text: PageText) -> Iterator[str]:
    if not example.is_started_by_signal:
        start = example.start
        yield (
            text.text("help.example.started_with", values=_values(start))
            if start
            else text.text("help.example.started")
        )
        if example.correlation_id is not None:
            yield text.text("help.example.started_for", id=example.correlation_id)
    for step in example.steps:
        yield _step(step, example.correlation_id, text)
    if example.answer is not None:
        yield text.text("help.example.answer", status=example.answer.status, body=json_text(example.answer.body))
    for other in example.others:
        path = " → ".join(_name(activity_type, node["id"], text) for node in other["nodes"])
        yield text.text("help.example.other", name=other["name"], path=path)
    for line in example.log:
        yield text.text("help.example.log", text=line)
    for event in example.events:
        yield text.text("help.example.event", name=event.event_name, values=_values(event.payload))
    yield text.text("help.example.way", path=" → ".join(names[node_id] for node_id in example.end.path))
    yield _end(example, text)


def _step(step: Step, correlation_id: str | None, text: PageText) -> str:
    if step.signal is not None:
        key = "signal_starts" if step.starts else "signal"
        values = _values(step.payload)
        return text.text(f"help.example.{key}", name=step.signal, values=values, id=correlation_id or "")
    if step.background:
        return text.text("help.example.background")
    if step.wait is not None:
        return _span(step.wait, text)
    if step.work is not None:
        return text.text("help.example.work", topic=step.work, values=_values(step.payload))
    return text.text("help.example.decide", who=step.by or "", outcome=text.outcome(step.decide or ""))


def _span(seconds: JsonNumber, text: PageText) -> str:
    ending, size = next((ending, size) for ending, size in _SPANS if seconds % size == 0)
    return text.text(f"help.example.wait{ending}", count=int(seconds / size))


def _end(example: Example, text: PageText) -> str:
    end = example.end
    status = text.text(f"workflow.status.{end.status}")
    why = end.reason if end.fault is None else end.fault
    if why is not None:
        first = text.text("help.example.ended_reason", status=status, reason=why)
    elif end.outcome is not None:
        first = text.text("help.example.ended_outcome", status=status, outcome=text.outcome(end.outcome))
    else:
        first = text.text("help.example.ended", status=status)
    if not end.variables:
        return first
    return f"{first} {text.text('help.example.variables', values=_values(end.variables))}"


def _values(values: JsonObject) -> str:
    return ", ".join(f"{name} = {json_text(value)}" for name, value in values.items())
