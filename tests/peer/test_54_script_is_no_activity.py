"""Scenario 54: the activity type Script does not exist; a definition that uses it is not published."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.errors import DefinitionInvalid


def test_script_is_no_activity(house: Installation) -> None:
    draft = house.services.catalog.create(
        ADMIN, flow("scripted", [START, node("script", "Script", {"Code": "return 1"}), END])
    )

    with pytest.raises(DefinitionInvalid) as refused:
        house.services.catalog.publish(ADMIN, draft.id)

    (problem,) = refused.value.problems
    assert problem.key == "workflow.definition.activity.unknown"
    assert problem.path == "nodes[1].activityType"
    assert "Script" in str(problem.params)
