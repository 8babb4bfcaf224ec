"""The events of a gateway, and the signal of a Start (spec 4.12, 4.20, 4.1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.validation import told, validate, with_node
from webapp.engine.definitions.builder import DefinitionBuilder

EVENTS = "nodes[1].properties.Events"


def events(*given: Any) -> list[tuple[str, str, str]]:
    return told(validate(with_node("EventGateway", {"Events": list(given)})))


@pytest.mark.parametrize(
    "event",
    [
        {"signalName": "paid"},
        {"signalName": "paid-{{ 1 + 1 }}", "acceptAnyCorrelation": True},
        {"signalName": "paid", "acceptAnyCorrelation": False},
        {"timerSeconds": 5},
        {"timerSeconds": "5 * 60", "outcome": "late"},
        {"until": "2026-11-30T09:00:00Z"},
        {"until": "now()"},
        {"signalName": "paid", "timerSeconds": None},
    ],
)
def test_what_an_event_may_be(event: dict[str, Any]) -> None:
    assert events(event) == []


@pytest.mark.parametrize(
    ("event", "key", "path"),
    [
        ({}, "gateway.event", ""),
        ({"outcome": "late"}, "gateway.event", ""),
        ({"signalName": "a", "until": "now()"}, "gateway.event", ""),
        ({"timerSeconds": 5, "until": "now()"}, "gateway.event", ""),
        ("paid", "property.expected", ""),
        ({"signalName": 5}, "property.expected", ".signalName"),
        ({"signalName": "a", "acceptAnyCorrelation": "yes"}, "property.expected", ".acceptAnyCorrelation"),
        ({"signalName": " "}, "property.required", ".signalName"),
        ({"signalName": "x" * 129}, "gateway.long", ".signalName"),
        ({"signalName": "a", "outcome": "b"}, "gateway.member", ".outcome"),
        ({"signalName": "a", "SignalName": "b"}, "gateway.member", ".SignalName"),
        ({"timerSeconds": 0}, "property.positive", ".timerSeconds"),
        ({"timerSeconds": True}, "property.expected", ".timerSeconds"),
        ({"timerSeconds": 5, "outcome": ""}, "property.required", ".outcome"),
        ({"timerSeconds": 5, "outcome": "x" * 129}, "gateway.long", ".outcome"),
        ({"until": 5}, "property.expected", ".until"),
        ({"timerSeconds": "5 +"}, "expression.syntax", ".timerSeconds"),
        ({"until": "tomorrow("}, "expression.syntax", ".until"),
        ({"signalName": "{{ 1 + }}"}, "expression.syntax", ".signalName"),
    ],
)
def test_what_is_wrong_with_an_event_is_told_with_its_path(event: Any, key: str, path: str) -> None:
    ((severity, found, where),) = events({"signalName": "first"}, event)
    assert (severity, where) == ("error", f"{EVENTS}[1]{path}")
    assert found.startswith(key)


def test_a_signal_is_named_once() -> None:
    assert events({"signalName": "a"}, {"timerSeconds": 1}, {"signalName": "a"}) == [
        ("error", "gateway.twice", f"{EVENTS}[2].signalName")
    ]


def test_a_gateway_has_an_end_to_its_events() -> None:
    assert events(*({"signalName": f"s{number}"} for number in range(50))) == []
    assert events(*({"signalName": f"s{number}"} for number in range(51))) == [("error", "gateway.many", EVENTS)]


@pytest.mark.parametrize("given", [None, [], {}])
def test_a_gateway_needs_events(given: Any) -> None:
    found = told(validate(with_node("EventGateway", {"Events": given})))
    assert ("error", "property.required", EVENTS) in found


def test_a_start_s_signal_is_a_fixed_name() -> None:
    def start(name: str) -> list[tuple[str, str, str]]:
        builder = DefinitionBuilder("flow").add_node("start", "Start", properties={"SignalName": name})
        return told(validate(builder.add_end().add_transition("start", "end").build()))

    assert start("order") == []
    path = "nodes[0].properties.SignalName"
    assert start("order-{{ kind }}") == [("error", "start.signal_template", path)]


@pytest.mark.parametrize(
    ("activity", "properties"),
    [
        ("WaitSignal", {}),
        ("PublishEvent", {}),
        ("ExternalTask", {}),
        ("ExternalTask", {"Topic": " "}),
    ],
)
def test_a_name_must_be_there(activity: str, properties: dict[str, Any]) -> None:
    (problem,) = validate(with_node(activity, properties))
    assert problem.key == "workflow.property.required"


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        ({"Topic": "pay", "Retries": 0}, "property.minimum"),
        ({"Topic": "pay", "Retries": "3"}, "property.expected"),
        ({"Topic": "pay", "Variables": []}, "property.expected"),
        ({"Topic": "pay", "VariableExpressions": {"n": "1 +"}}, "expression.syntax"),
        ({"Topic": "pay {{"}, "expression.syntax"),
    ],
)
def test_the_properties_of_an_external_task(properties: dict[str, Any], key: str) -> None:
    ((_, found, _),) = told(validate(with_node("ExternalTask", properties)))
    assert found.startswith(key)
