"""Definitions with children, short to write, and what tests ask of the instances they make."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.journal import FollowUp
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.queries import InstanceSummary
from webapp.engine.runtime.commands import Wave

DOUBLE = flow("double", [START, node("twice", "SetVariable", {"Expressions": {"doubled": "item * 2"}}), END])
ASKING = flow("asking", [START, node("ask", "UserTask", {"Assignees": ["u1"], "Title": "About {{item}}"}), END])
FLAKY = flow("flaky", [START, node("try", "TestFlaky", {"SucceedOnAttempt": 2}), END])


def parent(activity: str = "SubWorkflow", name: str = "parent", **properties: Any) -> JsonObject:
    """Return a flow of Start, the node ``sub``, End."""
    return flow(name, [START, node("sub", activity, properties), END])


def children_of(house: Installation, instance_id: str) -> list[InstanceSummary]:
    """Return the children, oldest first."""
    with house.store_set.stores.reading(None) as work:
        return list(work.instances.children(None, instance_id))


def child_of(house: Installation, instance_id: str) -> WorkflowInstance:
    """Return the one child."""
    (found,) = children_of(house, instance_id)
    return house.instance(found.id)


def rows(house: Installation) -> list[FollowUp]:
    """Return every follow-up there is, whenever it is due; the claims run out at once."""
    far = house.store_set.clock.now() + timedelta(days=365)
    with house.store_set.stores.writing(None) as work:
        found = work.follow_ups.claim_due(far, 1_000, "look", far - timedelta(days=366))
    return list(found)


def crash(house: Installation) -> None:
    """Let commands leave their follow-ups behind, as a process that dies after its commit does."""

    def die(wave: Wave) -> None:
        raise RuntimeError("killed")

    commands_of(house).settle = die


def recover(house: Installation) -> None:
    """Let commands run their follow-ups again."""
    commands_of(house).settle = house.services.follow_ups.run_own


def commands_of(house: Installation) -> Any:
    """Return the object that runs commands."""
    return house.services.instances._commands  # there is no public way to a crash


def cancel(house: Installation, instance_id: str, reason: str | None = None) -> None:
    """Cancel an instance as an administrator."""
    house.services.instances.cancel(ADMIN, instance_id, reason)
