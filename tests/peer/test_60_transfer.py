"""Scenario 60: a transferred task keeps its id, belongs to the new person, and is refused to the old one."""

from __future__ import annotations

import pytest

from tests.peer.bill import begin
from tests.support.engine import Installation, actor
from webapp.engine.errors import DENIED_ACTOR, Denied
from webapp.engine.instances.model import InstanceStatus


def test_transfer(house: Installation) -> None:
    begin(house, ["u1"])
    task = house.task("u1")

    house.services.inbox.transfer(actor("u1"), task.id, "u9", "on leave")

    assert house.tasks("u1") == []
    assert house.task("u9").id == task.id
    with pytest.raises(Denied) as refused:
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert refused.value.code == DENIED_ACTOR

    instance = house.decide("u9", "approved")
    assert (instance.status, instance.outcome) == (InstanceStatus.COMPLETED, "accepted")
