"""PublishEvent: what is told, and that the flow goes on (spec 4.10, 9.1)."""

from __future__ import annotations

import pytest

from tests.engine.builtin.single import fault_of, single
from tests.engine.harness import World
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus


def test_the_event_carries_name_instance_correlation_and_payload() -> None:
    properties = {
        "EventName": "order.{{ kind }}",
        # Only texts of the top level are templates.
        "Payload": {"text": "{{ kind }} of {{ n }}", "deep": {"text": "{{ kind }}"}, "list": ["{{ n }}"], "n": 5},
    }
    it = node("node", "PublishEvent", properties)
    run = World().start(flow("single", [START, it, END]), {"kind": "paid", "n": 2}, correlation_id="C-1")
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.topics == [
        "instance.started",
        "node.executing(start)",
        "node.executed(start)",
        "node.executing(node)",
        "custom",
        "node.executed(node)",
        "node.executing(end)",
        "node.executed(end)",
        "instance.completed",
    ]
    (event,) = [event for event in run.events if event.topic == "workflow.custom"]
    assert event.data == {
        "eventName": "order.paid",
        "instanceId": run.instance.id,
        "correlationId": "C-1",
        "payload": {"text": "paid of 2", "deep": {"text": "{{ kind }}"}, "list": ["{{ n }}"], "n": 5},
    }
    # It tells; it changes nothing.
    assert run.instance.variables == {"kind": "paid", "n": 2}


def test_an_event_without_payload_and_correlation() -> None:
    run = single("PublishEvent", {"EventName": "ping"})
    (event,) = [event for event in run.events if event.topic == "workflow.custom"]
    assert (event.data["payload"], event.data["correlationId"]) == ({}, None)


@pytest.mark.parametrize("name", [None, "", "   ", "{{ missing ?? '' }}"])
def test_a_blank_name_is_a_fault(name: object) -> None:
    assert fault_of(single("PublishEvent", {"EventName": name}, {"missing": None})).key in (
        "workflow.property.missing",
        "workflow.property.failed",
    )


def test_a_name_that_is_too_long_is_a_fault() -> None:
    assert fault_of(single("PublishEvent", {"EventName": "x" * 201})).key == "workflow.event.name_too_long"


def test_a_payload_that_is_no_object_is_a_fault() -> None:
    assert fault_of(single("PublishEvent", {"EventName": "ping", "Payload": [1]})).key == "workflow.property.type"
