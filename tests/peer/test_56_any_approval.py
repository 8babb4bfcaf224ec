"""Scenario 56: under Any both have a task; the first approval decides, the other task is gone."""

from __future__ import annotations

from tests.peer.bill import begin
from tests.support.engine import Installation
from webapp.engine.instances.model import InstanceStatus


def test_any_approval(house: Installation) -> None:
    begin(house, ["u1", "u2"])
    assert house.task("u1").title == "单据 B001 审批"
    assert house.task("u2").title == "单据 B001 审批"

    instance = house.decide("u1", "approved")

    assert (instance.status, instance.outcome) == (InstanceStatus.COMPLETED, "accepted")
    assert house.tasks("u2") == []
