"""What the expression scenarios share: the variables of the peer's suite, seen by an instance that was stored."""

from __future__ import annotations

from tests.support.engine import ADMIN, Installation, actor
from tests.support.flows import START, edge, flow, node
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.numbers import JsonDecimal, JsonObject

VARIABLES: JsonObject = {
    "amount": 20000,
    "name": "张三",
    "approved": True,
    "days": JsonDecimal("3.5"),
    "tags": ["a", "b", "c"],
    "order": {"total": 99, "customer": "李四"},
    "empty": None,
}


def route(house: Installation, condition: str, variables: JsonObject | None = None) -> WorkflowInstance:
    """Run an instance whose Decision asks *condition* after the variables have been stored and read again."""
    house.publish(
        flow(
            "condition",
            [
                START,
                node("wait", "UserTask", {"Assignees": ["u1"]}),
                node("asks", "Decision"),
                node("yes", "End", {"Outcome": "yes"}),
                node("no", "End", {"Outcome": "no"}),
            ],
            [
                edge("start", "wait"),
                edge("wait", "asks"),
                edge("asks", "yes", condition),
                edge("asks", "no", is_default=True),
            ],
        ),
        ADMIN,
    )
    house.start("condition", VARIABLES if variables is None else variables)
    house.services.inbox.complete(actor("u1"), house.task("u1").id, "approved")
    return house.services.instances.get(ADMIN, house.services.instances.query(ADMIN).items[0].id)


def holds(house: Installation, condition: str, variables: JsonObject | None = None) -> bool:
    """Whether a condition is true over the stored variables."""
    instance = route(house, condition, variables)
    assert instance.outcome in ("yes", "no"), instance.fault
    return instance.outcome == "yes"
