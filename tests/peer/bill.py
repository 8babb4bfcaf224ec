"""The approval of scenarios 56 to 62: one task node, an accepted and a denied path."""

from __future__ import annotations

from typing import Any

from tests.support.engine import Installation
from tests.support.flows import START, edge, flow, node
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.numbers import JsonObject


def approval(assignees: list[str], policy: str = "Any", **settings: Any) -> JsonObject:
    """Return the definition of an approval by these people."""
    task = node(
        "approve",
        "UserTask",
        {"Assignees": assignees, "CompletionPolicy": policy, "Title": "单据 {{billNo}} 审批"},
        **settings,
    )
    return flow(
        "bill",
        [
            START,
            task,
            node("accepted", "End", {"Outcome": "accepted"}),
            node("denied", "End", {"Outcome": "denied"}),
            node("late", "End", {"Outcome": "late"}),
        ],
        [
            edge("start", "approve"),
            edge("approve", "accepted", "outcome == 'approved'"),
            edge("approve", "denied", "outcome == 'rejected'"),
            edge("approve", "late", "outcome == 'timeout'"),
        ],
    )


def begin(house: Installation, assignees: list[str], policy: str = "Any", **settings: Any) -> WorkflowInstance:
    """Publish the approval and start it for bill B001."""
    house.publish(approval(assignees, policy, **settings))
    return house.start("bill", {"billNo": "B001"})
