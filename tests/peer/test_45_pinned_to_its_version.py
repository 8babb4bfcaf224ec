"""Scenario 45: an instance that runs stays on the version it started with; a new start takes the new one."""

from __future__ import annotations

from tests.support.engine import ADMIN, Installation
from tests.support.flows import START, flow, node
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonObject


def _document(outcome: str) -> JsonObject:
    return flow(
        "pinned", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), node("end", "End", {"Outcome": outcome})]
    )


def test_pinned_to_its_version(house: Installation) -> None:
    house.publish(_document("old path"))
    running = house.start("pinned")
    second = house.services.catalog.new_version(ADMIN, name="pinned")
    changed = house.services.catalog.update(ADMIN, second.id, _document("new path"), second.revision)
    house.services.catalog.publish(ADMIN, changed.id)

    after = house.decide("u1", "approved")
    assert (after.id, after.status) == (running.id, InstanceStatus.COMPLETED)
    assert (after.outcome, after.definition_version) == ("old path", 1)

    assert house.start("pinned").definition_version == 2
    assert house.decide("u1", "approved").outcome == "new path"
