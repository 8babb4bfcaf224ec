"""Scenario 43: with at most 20 node executions a wave, a loop without a wait faults the instance."""

from __future__ import annotations

from tests.support.engine import install
from tests.support.flows import START, edge, flow, node
from tests.support.stores import StoreSet
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.runtime.commands import EngineOptions

DOCUMENT = flow(
    "runaway",
    [START, node("a", "Log", {"Message": "a"}), node("b", "Log", {"Message": "b"})],
    [edge("start", "a"), edge("a", "b"), edge("b", "a")],
)


def test_runaway_loop(stores: StoreSet) -> None:
    house = install(stores, options=EngineOptions(max_node_executions_per_burst=20))
    house.publish(DOCUMENT)
    instance = house.instance(house.start("runaway").id)

    assert instance.status is InstanceStatus.FAULTED
    assert instance.fault is not None
    assert instance.fault.key == "workflow.burst.exceeded"
    assert instance.fault.args["max"] == 20
    assert instance.fault_node_instance_id is None
    assert len(house.nodes(instance.id)) == 20
