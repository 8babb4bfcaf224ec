"""Scenario 59: under Sequential one after the other gets the task."""

from __future__ import annotations

from tests.peer.bill import begin
from tests.support.engine import Installation
from webapp.engine.instances.model import InstanceStatus


def test_sequential(house: Installation) -> None:
    begin(house, ["u1", "u2"], "Sequential")
    assert len(house.tasks("u1")) == 1
    assert house.tasks("u2") == []

    assert house.decide("u1", "approved").status is InstanceStatus.RUNNING
    assert house.tasks("u1") == []

    instance = house.decide("u2", "approved")
    assert (instance.status, instance.outcome) == (InstanceStatus.COMPLETED, "accepted")
