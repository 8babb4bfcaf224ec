"""What the scenarios of sub-workflows share: a child that doubles ``item``."""

from __future__ import annotations

from tests.support.engine import Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import WorkflowInstance

DOUBLING = flow("doubling", [START, node("double", "SetVariable", {"Expressions": {"doubled": "item * 2"}}), END])


def double_each(house: Installation, *, parallel: bool) -> WorkflowInstance:
    """Run the child over 1, 2, 3 and return the parent as it is stored afterwards."""
    house.publish(DOUBLING)
    properties = {
        "DefinitionName": "doubling",
        "ItemsExpression": "numbers",
        "Parallel": parallel,
        "ResultVariable": "results",
    }
    house.publish(flow("parent", [START, node("each", "ForEach", properties), END]))
    return house.instance(house.start("parent", {"numbers": [1, 2, 3]}).id)
