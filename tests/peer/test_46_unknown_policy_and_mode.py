"""Scenario 46: an unknown completion policy and an unknown join mode are each an error at publish."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.errors import DefinitionInvalid

DOCUMENT = flow(
    "unknown",
    [
        START,
        node("ask", "UserTask", {"Assignees": ["u1"], "CompletionPolicy": "Countersign"}),
        node("join", "Join", {"Mode": "WaitFirst"}),
        END,
    ],
)


def test_unknown_policy_and_mode(house: Installation) -> None:
    draft = house.services.catalog.create(ADMIN, DOCUMENT)

    with pytest.raises(DefinitionInvalid) as refused:
        house.services.catalog.publish(ADMIN, draft.id)

    paths = {problem.path for problem in refused.value.problems}
    assert paths == {"nodes[1].properties.CompletionPolicy", "nodes[2].properties.Mode"}
