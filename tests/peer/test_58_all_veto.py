"""Scenario 58: under All one rejection decides; the other task is gone."""

from __future__ import annotations

from tests.peer.bill import begin
from tests.support.engine import Installation
from webapp.engine.instances.model import InstanceStatus


def test_all_veto(house: Installation) -> None:
    begin(house, ["u1", "u2"], "All")

    instance = house.decide("u2", "rejected")

    assert (instance.status, instance.outcome) == (InstanceStatus.COMPLETED, "denied")
    assert house.tasks("u1") == []
