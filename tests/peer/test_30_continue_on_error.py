"""Scenario 30: a failing node with continue-on-error leaves by the edge for ``error``; lastError tells why."""

from __future__ import annotations

from tests.support.engine import Installation
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.instances.model import InstanceStatus

DOCUMENT = flow(
    "continues",
    [
        START,
        node("flaky", "TestFlaky", {"SucceedOnAttempt": 99}, continue_on_error=True),
        node("handler", "SetVariable", {"Values": {"handled": True}}),
        END,
    ],
    [
        edge("start", "flaky"),
        edge("flaky", "handler", "outcome == 'error'"),
        edge("flaky", "end", is_default=True),
        edge("handler", "end"),
    ],
)


def test_continue_on_error(house: Installation) -> None:
    house.publish(DOCUMENT)
    instance = house.instance(house.start("continues").id)

    assert instance.status is InstanceStatus.COMPLETED
    assert instance.variables["handled"] is True
    assert instance.variables["lastError"]["args"] == {"text": "attempt 1 doomed"}
    assert house.path(instance.id) == ["start", "flaky", "handler", "end"]
