"""Scenario 32: a WaitAny join runs once although both branches arrive, and leaves no state behind."""

from __future__ import annotations

from tests.support.engine import Installation
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.instances.model import InstanceStatus

DOCUMENT = flow(
    "any",
    [
        START,
        node("both", "Parallel"),
        node("left", "Log", {"Message": "left"}),
        node("right", "Log", {"Message": "right"}),
        node("join", "Join", {"Mode": "WaitAny"}),
        END,
    ],
    [
        edge("start", "both"),
        edge("both", "left"),
        edge("both", "right"),
        edge("left", "join"),
        edge("right", "join"),
        edge("join", "end"),
    ],
)


def test_join_wait_any(house: Installation) -> None:
    house.publish(DOCUMENT)
    instance = house.instance(house.start("any").id)

    assert instance.status is InstanceStatus.COMPLETED
    assert house.path(instance.id).count("join") == 1
    assert house.path(instance.id).count("end") == 1
    assert instance.join_states == {}
