"""Scenario 52: a task cannot be transferred to somebody who decides the same node already."""

from __future__ import annotations

import pytest

from tests.support.engine import Installation, actor
from tests.support.flows import END, START, flow, node
from webapp.engine.errors import CONFLICT_ASSIGNEE, Conflict

TASK = node("ask", "UserTask", {"Assignees": ["u1", "u2"], "CompletionPolicy": "Sequential"})


@pytest.mark.parametrize("target", ["u2", "u1"])
def test_transfer_to_an_assignee(house: Installation, target: str) -> None:
    house.publish(flow("sequence", [START, TASK, END]))
    house.start("sequence")
    task = house.task("u1")

    with pytest.raises(Conflict) as refused:
        house.services.inbox.transfer(actor("u1"), task.id, target)

    assert refused.value.code == CONFLICT_ASSIGNEE
    assert house.task("u1").id == task.id
