"""Scenario 39: a child doubles ``item`` and its variables come back under the result variable."""

from __future__ import annotations

from tests.peer.doubling import DOUBLING
from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus
from webapp.services.queries import InstanceQuery


def test_sub_workflow_returns_variables(house: Installation) -> None:
    house.publish(DOUBLING)
    child = {"DefinitionName": "doubling", "VariableExpressions": {"item": "seed"}, "ResultVariable": "childResult"}
    house.publish(flow("parent", [START, node("child", "SubWorkflow", child), END]))

    started = house.start("parent", {"seed": 21})

    instance = house.instance(started.id)
    assert instance.status is InstanceStatus.COMPLETED
    assert instance.variables["childResult"]["doubled"] == 42
    (found,) = house.services.instances.query(ADMIN, InstanceQuery(parent_instance_id=started.id)).items
    assert (found.parent_instance_id, found.status) == (started.id, InstanceStatus.COMPLETED)
