"""Scenario 34: 20000 takes the branch whose condition holds."""

from __future__ import annotations

from tests.support.engine import Installation
from tests.support.flows import START, edge, flow, node
from webapp.engine.instances.model import InstanceStatus

DOCUMENT = flow(
    "routed",
    [
        START,
        node("decision", "Decision"),
        node("big", "End", {"Outcome": "big"}),
        node("small", "End", {"Outcome": "small"}),
    ],
    [
        edge("start", "decision"),
        edge("decision", "big", "amount > 10000"),
        edge("decision", "small", is_default=True),
    ],
)


def test_decision_by_condition(house: Installation) -> None:
    house.publish(DOCUMENT)
    instance = house.instance(house.start("routed", {"amount": 20000}).id)

    assert instance.status is InstanceStatus.COMPLETED
    assert instance.outcome == "big"
    assert house.path(instance.id) == ["start", "decision", "big"]
