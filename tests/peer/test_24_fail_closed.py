"""Scenario 24: what is no condition, names nothing or does not parse raises; it never counts as false."""

from __future__ import annotations

import pytest

from tests.peer.scenario import VARIABLES, route
from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.errors import VALIDATION_EXPRESSION, DefinitionInvalid, WorkflowError
from webapp.engine.instances.model import InstanceStatus


@pytest.mark.parametrize(
    ("text", "kind"),
    [("amount + 1", "condition"), ("unknownVar > 1", "condition"), ("amount >", "condition"), ("{{amount", "template")],
)
def test_evaluation_raises(house: Installation, text: str, kind: str) -> None:
    with pytest.raises(WorkflowError) as refused:
        house.services.catalog.evaluate_expression(text, kind, VARIABLES)
    assert refused.value.code == VALIDATION_EXPRESSION


def test_an_unknown_name_faults_the_instance(house: Installation) -> None:
    instance = route(house, "unknownVar > 1")
    assert instance.status is InstanceStatus.FAULTED
    assert instance.fault is not None
    assert instance.fault.code == VALIDATION_EXPRESSION
    assert instance.fault_node_id == "asks"


def test_a_condition_that_does_not_parse_is_not_published(house: Installation) -> None:
    nodes = [START, node("asks", "Decision"), END]
    draft = house.services.catalog.create(
        ADMIN, flow("broken", nodes, [edge("start", "asks"), edge("asks", "end", "amount >")])
    )
    with pytest.raises(DefinitionInvalid):
        house.services.catalog.publish(ADMIN, draft.id)
