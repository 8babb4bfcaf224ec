"""Scenario 2: a draft with three different mistakes is created; publishing names all three at once."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.errors import VALIDATION_DEFINITION, DefinitionInvalid

DOCUMENT = flow(
    "broken",
    [START, END, node("orphan", "Log")],
    [
        edge("start", "end", "amount >"),
        edge("start", "nowhere"),
    ],
)


def test_publish_rejects_invalid(house: Installation) -> None:
    draft = house.services.catalog.create(ADMIN, DOCUMENT)

    with pytest.raises(DefinitionInvalid) as refused:
        house.services.catalog.publish(ADMIN, draft.id)

    assert refused.value.code == VALIDATION_DEFINITION
    found = {problem.key: problem for problem in refused.value.problems}
    assert "nowhere" in str(found["workflow.definition.transition.target"].params)
    assert any(key.startswith("workflow.expression.syntax") for key in found)
    assert "orphan" in str(found["workflow.definition.unreachable"].params)
    assert found["workflow.definition.unreachable"].path == "nodes[2]"
    assert house.services.catalog.get(ADMIN, draft.id).revision == draft.revision
