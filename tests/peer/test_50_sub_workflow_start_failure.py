"""Scenario 50: a child definition that nobody knows faults the parent, and the fault names it."""

from __future__ import annotations

from tests.support.engine import Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus


def test_sub_workflow_start_failure(house: Installation) -> None:
    house.publish(flow("parent", [START, node("child", "SubWorkflow", {"DefinitionName": "not.there"}), END]))

    started = house.start("parent")

    instance = house.instance(started.id)
    assert instance.status is InstanceStatus.FAULTED
    assert instance.fault_node_id == "child"
    fault = instance.fault
    assert fault is not None
    assert fault.inner is not None
    assert (fault.key, fault.args["definition"]) == ("workflow.child.faulted", "not.there")
    assert (fault.inner.code, fault.inner.args) == ("WORKFLOW_NOTFOUND_001", {"definition": "not.there"})
