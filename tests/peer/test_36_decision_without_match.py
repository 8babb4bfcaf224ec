"""Scenario 36: a Decision without a match and without a default faults the instance and says so."""

from __future__ import annotations

from tests.support.engine import Installation
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.instances.model import InstanceStatus

DOCUMENT = flow(
    "unmatched",
    [START, node("decision", "Decision"), END],
    [edge("start", "decision"), edge("decision", "end", "amount > 10000")],
)


def test_decision_without_match(house: Installation) -> None:
    house.publish(DOCUMENT)
    instance = house.instance(house.start("unmatched", {"amount": 5}).id)

    assert instance.status is InstanceStatus.FAULTED
    assert instance.fault is not None
    assert instance.fault.key == "workflow.edge.no_match"
    assert instance.fault_node_id == "decision"
    assert instance.fault_node_instance_id is not None
