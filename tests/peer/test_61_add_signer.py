"""Scenario 61: under All an added signer has to approve as well."""

from __future__ import annotations

from tests.peer.bill import begin
from tests.support.engine import Installation, actor
from webapp.engine.instances.model import InstanceStatus


def test_add_signer(house: Installation) -> None:
    begin(house, ["u1"], "All")
    house.services.inbox.add(actor("u1"), house.task("u1").id, ["u2"])

    assert house.decide("u1", "approved").status is InstanceStatus.RUNNING
    assert len(house.tasks("u2")) == 1

    instance = house.decide("u2", "approved")
    assert (instance.status, instance.outcome) == (InstanceStatus.COMPLETED, "accepted")
