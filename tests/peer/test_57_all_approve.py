"""Scenario 57: under All the first approval keeps the instance running, the second completes it."""

from __future__ import annotations

from tests.peer.bill import begin
from tests.support.engine import Installation
from webapp.engine.instances.model import InstanceStatus


def test_all_approve(house: Installation) -> None:
    begin(house, ["u1", "u2"], "All")

    assert house.decide("u1", "approved").status is InstanceStatus.RUNNING
    assert (house.task("u2").signers_done, house.task("u2").signers_total) == (1, 2)

    instance = house.decide("u2", "approved")
    assert (instance.status, instance.outcome) == (InstanceStatus.COMPLETED, "accepted")
